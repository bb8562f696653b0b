"""Mutants of gold decks run by the KLayout application, and the list of its language's methods."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pytest_iclayout.checking.rule_gate import check_rejects
from pytest_iclayout.drc.decks.pool import DeckPool
from pytest_iclayout.rules.coverage import drc_language
from pytest_iclayout.rules.deck_edits import MutantKind
from pytest_iclayout.rules.mutants import mutants_of
from pytest_iclayout.rules.rule import Rule
from pytest_iclayout.rules.toml_file import load_rule_file
from pytest_iclayout.technology import toml

pytestmark = pytest.mark.eda

LISTING = Path(__file__).with_name("drc_methods.rb")


def test_list_of_methods_is_what_the_application_says(klayout: str) -> None:
    process = subprocess.run(
        [klayout, "-b", "-r", str(LISTING)], capture_output=True, text=True, timeout=120, check=False
    )
    assert process.returncode == 0, process.stderr
    listed = toml.loads(process.stdout)
    if listed["version"] != drc_language().version:
        pytest.skip(f"the list is of KLayout {drc_language().version}, not of {listed['version']}")
    assert listed["methods"] == {name: list(objects) for name, objects in drc_language().methods.items()}


WIDTH = """
[[rule]]
id = "m1"
text = "met1 is at least 0.14 µm wide, measured between corners too."
layers = {{ met1 = "68/20", met2 = "69/20" }}
gold = 'met1.width(0.14).output("m1")'
pass = [{passing}]
fail = [{failing}]
"""
CLEAR = ("met1 0 0 1 1", "met1 0 0 1 0.05")
AT_THE_VALUE = ("met1 0 0 1 0.14; met2 0 0 1 0.01", "met1 0 0 1 0.139")
TWO_CLOSE = "met1 0 0 1 1; met1 0 1.05 1 2"
NECKS = "met1 poly 0,0 1,0 1,1 2,1 2,2 0.9,2 0.9,1.1 0,1.1", "met1 poly 0,0 1,0 1,1 2,1 2,2 0.91,2 0.91,1.09 0,1.09"
"""0.141 and 0.127 µm between the corners: by squares both are too narrow, and by projections neither."""


def rule(folder: Path, passing: tuple[str, ...], failing: tuple[str, ...]) -> Rule:
    path = folder / "rules.toml"
    path.write_text(WIDTH.format(passing=str(list(passing))[1:-1], failing=str(list(failing))[1:-1]), encoding="utf-8")
    return load_rule_file(path)[0]


def test_layouts_far_from_the_value_leave_the_mutants_of_the_value(pool: DeckPool, tmp_path: Path) -> None:
    report = check_rejects(rule(tmp_path, CLEAR[:1], CLEAR[1:]), pool)
    assert [one.kind for one in report.survivors].count(MutantKind.NUMBER) == 2


def test_layouts_at_the_value_kill_all_mutants_of_a_width(pool: DeckPool, tmp_path: Path) -> None:
    passing = (AT_THE_VALUE[0], TWO_CLOSE, NECKS[0])
    report = check_rejects(rule(tmp_path, passing, (AT_THE_VALUE[1], NECKS[1])), pool)
    assert [(one.key, one.description) for one in report.survivors] == []
    assert report.killed >= 10


DECLARED = """
[[rule]]
id = "m1"
text = "met1 is at least 0.14 µm wide."
layers = { met1 = "68/20" }
structure = { kind = "width", layer = "met1", value = 0.14 }
gold = 'met1.width(0.14).output("m1")'

[[rule]]
id = "m6"
text = "The area of met1 is at least 0.083 µm²."
layers = { met1 = "68/20" }
structure = { kind = "area", layer = "met1", value = 0.083 }
gold = 'met1.merged.with_area(nil, 0.083).output("m6")'
"""


def test_layouts_made_from_a_structure_kill_all_mutants(pool: DeckPool, tmp_path: Path) -> None:
    path = tmp_path / "declared.toml"
    path.write_text(DECLARED, encoding="utf-8")
    for one in load_rule_file(path):
        assert [(mutant.key, mutant.description) for mutant in check_rejects(one, pool).survivors] == []


COMPILES = """
JSON.parse(File.read($decks)).each_with_index do |text, number|
  begin
    RubyVM::InstructionSequence.compile(text)
  rescue SyntaxError => error
    puts "#{number}: #{error.message}"
  end
end
"""


def test_ruby_can_read_every_mutant(klayout: str, tmp_path: Path) -> None:
    decks = [
        text
        for path in sorted(Path(__file__).parents[1].rglob("*.drc"))
        if "hostile" not in path.parts
        for text in (one.text for one in mutants_of(path.read_text(encoding="utf-8")))
    ]
    assert len(decks) > 50
    (tmp_path / "decks.json").write_text(json.dumps(decks), encoding="utf-8")
    (tmp_path / "compiles.rb").write_text(f"require 'json'\n{COMPILES}", encoding="utf-8")
    process = subprocess.run(
        [klayout, "-b", "-r", str(tmp_path / "compiles.rb"), "-rd", f"decks={tmp_path / 'decks.json'}"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (0, "")
