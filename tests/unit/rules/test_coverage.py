"""Which methods of the DRC language a deck uses, told from its text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_iclayout.cli import main
from pytest_iclayout.rules import deck_vocabulary
from pytest_iclayout.rules.coverage import drc_language, language_coverage, methods_of


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("met1.width(0.14)", {"width"}),
        ("met1.width 0.14, projection", {"width", "projection"}),
        ('source($input)\nreport("x", $output)', {"source", "report"}),
        ("x.drc(if_any(width(projection) < 0.1))", {"drc", "if_any", "width", "projection"}),
        ("x.drc(! interacting(y))", {"drc", "!", "interacting"}),
        ("deep\nx = y & z", {"deep", "&"}),
        ("x = y.and(z).not(w)", {"and", "not"}),
        ("x = y - z - w", {"-"}),
        ("space = 0.3\nx.sep(y, space)", {"sep"}),
        ("w = 0.1 + 0.2 - v * 3", set()),
        ('t = "a" + name', set()),
        ("[x, y].each { |area| area.extents }", {"extents"}),
        ("(1 .. 3).each { |n| x.sized(n) }", {"sized"}),
        ('%w[a b].join(",")', set()),
        ("def width(x, length)\n  x.hulls\nend\nwidth(y, 3)", {"hulls"}),
        ("def far(x, length)\n  length\nend", set()),
        ('# x.width(1)\ny = "x.space(1)"\nz.no_such_method', set()),
        ("x and y", set()),
        ("x if !y", set()),
    ],
)
def test_names_of_the_language_are_told_from_variables_texts_and_values(text, used):
    assert methods_of(text) == used


def test_methods_are_counted_once_a_deck():
    found = language_coverage(["a.width(1)\na.width(2)", "a.width(1).edges"])
    assert found.used == {"edges": 1, "width": 2}
    assert found.decks == 2
    assert "width" not in found.missing
    assert "layer" in found.missing["space"]
    assert len(found.missing) + 2 == len(drc_language().methods)


@pytest.mark.parametrize(
    "names",
    [
        deck_vocabulary.DISTANCE_CHECKS,
        deck_vocabulary.METRICS,
        deck_vocabulary.CORNER_MODES,
        deck_vocabulary.OPTIONS,
        deck_vocabulary.OTHER_CHECKS.keys(),
        [other for several in deck_vocabulary.OTHER_CHECKS.values() for other in several],
        deck_vocabulary.DROPPABLE,
        deck_vocabulary.SWAPPABLE,
    ],
)
def test_mutants_use_no_name_that_the_language_lacks(names):
    assert sorted(set(names) - drc_language().methods.keys()) == []


RULES = """
[[rule]]
id = "m1"
text = "met1 is at least 0.14 µm wide."
layers = { met1 = "68/20" }
pass = ["met1 0 0 1 0.14"]
fail = ["met1 0 0 1 0.139"]
gold = 'met1.width(0.14).output("m1")'
"""


def test_coverage_of_rule_files_folders_and_decks(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "rules.toml").write_text(RULES, encoding="utf-8")
    (tmp_path / "space.drc").write_text("x.space(1)", encoding="utf-8")
    assert main(["rules", "coverage", "--json", str(tmp_path), str(tmp_path / "space.drc")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["used"] == dict.fromkeys(["input", "output", "report", "source", "space", "width"], 1)
    assert found["decks"] == 2
    assert found["klayout"] == drc_language().version
    assert main(["rules", "coverage", str(tmp_path / "space.drc")]) == 0
    text = capsys.readouterr().out
    total = len(drc_language().methods)
    assert text.startswith(f"1 of {total} methods of the DRC language of KLayout {drc_language().version} are used")
    listed = [name for line in text.splitlines()[1:] for name in line.rpartition(": ")[2].split()]
    assert sorted(listed) == sorted(drc_language().methods.keys() - {"space"})


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("none.drc", "none.drc: cannot be read: No such file"), ("", ": no file of rules below this folder")],
)
def test_a_path_without_a_gold_deck_is_one_line(tmp_path: Path, capsys, name: str, complaint: str):
    assert main(["rules", "coverage", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("iclayout: ")
    assert complaint in error
    assert error.count("\n") == 1
