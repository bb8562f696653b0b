"""Rules as pytest items: agents' decks judged by labelled layouts, and the gate of each rule."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import iclayout_tasks
import klayout.db as db
import klayout.lay as lay
import pytest

from pytest_iclayout.drc.decks.engines import find_engines
from pytest_iclayout.rules.toml_file import load_rule_file

pytestmark = pytest.mark.usefixtures("contained_klayout")

ICLAYOUT = Path(sys.executable).with_name("iclayout")
RULES = """
group = "metals"
technology = "sky130"

[[rule]]
id = "m1_width"
text = "met1 is at least 0.14 µm wide."
layers = ["met1"]
structure = { kind = "width", layer = "met1", value = 0.14 }
gold = 'met1.width(0.14.um).output("m1_width")'

[[rule]]
id = "vias_covered"
text = "Each via lies on met1 and on met2."
layers = ["via", "met1", "met2"]
categories = [{ name = "NO_M1", text = "via on met1" }, { name = "NO_M2", text = "via on met2" }]
pass = ["via 0 0 0.15 0.15; met1 0 0 1 1; met2 0 0 1 1", "met1 0 0 1 1"]
fail.NO_M1 = ["via 0 0 0.15 0.15; met2 0 0 1 1", "via 0 0 0.15 0.15; met1 0 0 0.149 1; met2 0 0 1 1"]
fail.NO_M2 = ["via 0 0 0.15 0.15; met1 0 0 1 1", "via 0 0 0.15 0.15; met1 0 0 1 1; met2 0 0 1 0.149"]
gold = '''
via.not(met1).output("NO_M1")
via.not(met2).output("NO_M2")
'''
"""

AGENTS = r'''
import os, signal
from pytest_iclayout.agents.protocol import AgentUnavailable, DeckProposal

HEAD = 'source($input)\nreport("mine", $output)\n'
WIDTH = HEAD + 'input(68, 20).width(0.14).output("m1_width")\n'
DECKS = {
    "right": [WIDTH],
    "wrong": [WIDTH.replace("0.14", "0.15")],
    "crashes_on_wide": [WIDTH + 'raise "wide" if input(68, 20).bbox.width > 10.0\n'],
    "typing_error_first": [WIDTH.replace("width", "widht"), WIDTH],
    "gives_up": [None],
    "says_nothing": [HEAD],
    "never_runs": [WIDTH.replace("width", "widht")],
    "crashes_and_misses": [
        HEAD + 'm1 = input(68, 20)\nraise "pass" if m1.width(0.14).is_empty?\nm1.width(0.15).output("other")\n'
    ],
    "endless": [WIDTH + "loop {}\n"],
}
CHECKER = """
import sys
import klayout.db as db
import klayout.rdb as rdb
"""

class Writer:
    backend = "test"
    def __init__(self, name):
        self.name = name
    def start(self, context):
        raise AgentUnavailable("writes decks only")
    def start_rule(self, context):
        return self
    def propose(self, turn):
        if self.name == "raises":
            raise ConnectionError("the model's server is down")
        if self.name == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.name == "told":
            print("TOLD", turn.iteration, turn.error)
        if self.name == "ruby":
            return DeckProposal.model_construct(text=WIDTH, language="ruby")
        decks = DECKS.get(self.name, DECKS["typing_error_first"])
        return DeckProposal(text=decks[min(turn.iteration, len(decks)) - 1])

class Draws:
    name = backend = "draws"
    def start(self, context):
        return self

def pytest_iclayout_agents():
    names = [*DECKS, "raises", "killed", "told", "ruby"]
    return {name: (lambda argument, name=name: Writer(name)) for name in names} | {"draws": lambda argument: Draws()}
'''


@pytest.fixture
def rules(pytester: pytest.Pytester) -> Path:
    pytester.makeconftest(AGENTS)
    folder = pytester.mkdir("suite")
    (folder / "metals.toml").write_text(RULES, encoding="utf-8")
    return folder / "metals.toml"


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """In a process of its own: a pool belongs to a whole run."""
    return pytester.runpytest_subprocess("suite", "-p", "no:cacheprovider", *options, timeout=300)


def records(pytester: pytest.Pytester) -> dict[str, dict[str, Any]]:
    folder = pytester.path / ".iclayout" / "results"
    return {
        str(path.relative_to(folder / "suite").with_suffix("")): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.json"))
    }


def test_built_in_agents_pass_and_fail_as_they_must(pytester: pytest.Pytester, rules: Path) -> None:
    result = run(pytester, *(f"--agent={name}" for name in ("mock", "oracle", "nop", "random")), "-m", "solve")
    result.assert_outcomes(passed=3, failed=5)
    outcomes = {name: (one["outcome"], one["error"]) for name, one in records(pytester).items()}
    assert outcomes == {
        "m1_width/mock": ("passed", False),
        "m1_width/oracle": ("passed", False),
        "m1_width/nop": ("failed", True),
        "m1_width/random": ("failed", False),
        "vias_covered/mock": ("failed", False),
        "vias_covered/oracle": ("passed", False),
        "vias_covered/nop": ("failed", True),
        "vias_covered/random": ("failed", False),
    }
    result.stdout.re_match_lines([r"^mock +metals +1 +1 +0 +0 +50\.0% +\d+-\d+ % +0\.0%"])


def test_gate_of_sound_rules_passes_and_counts_mutants(pytester: pytest.Pytester, rules: Path) -> None:
    result = run(pytester, "-m", "gate", "--gate-examples=5")
    result.assert_outcomes(passed=4)
    result.stdout.re_match_lines(
        [r"^gate: 4 passed; \d+ layouts tried", r"^rules: the layouts tell (\d+) of \1 mutated gold decks \(100\.0%\)$"]
    )


def test_summary_says_how_to_see_the_mutants_that_no_layout_tells(pytester: pytest.Pytester, rules: Path) -> None:
    rules.write_text(CRASH, encoding="utf-8")
    summary = r"^rules: the layouts tell \d+ of \d+ mutated gold decks \(\d+\.\d%\); -rA shows the others$"
    shown = r"^-+ Captured mutated gold decks that no layout tells call -+$"
    plain, whole = (run(pytester, "-k", "rejects", *options).stdout for options in ((), ("-rA",)))
    plain.re_match_lines([summary])
    plain.no_re_match_line(shown)
    whole.re_match_lines([shown, r"^\w+:\d+:\d+:\d+: ", summary])


def test_gold_deck_that_misses_a_label_fails_its_gate_and_judges_nobody(pytester: pytest.Pytester, rules: Path) -> None:
    text = RULES.replace("met1.width(0.14.um)", "met1.width(0.13.um)")
    rules.write_text(text, encoding="utf-8")
    result = run(pytester, "--agent=right", "-k", "m1_width")
    result.assert_outcomes(failed=2, errors=1)
    (record,) = records(pytester).values()
    assert record["outcome"] == "error"
    assert "may not judge" in record["reason"]
    assert "gold deck missed violations" in record["reason"]
    picture = re.search(r"picture: (\S+\.png)", result.stdout.str())
    assert picture is not None
    assert Path(picture[1]).read_bytes().startswith(b"\x89PNG")


def test_layouts_that_tell_no_mutant_are_a_failure_of_the_rule(pytester: pytest.Pytester, rules: Path) -> None:
    rules.write_text(
        """
[[rule]]
id = "anything"
text = "met1 is at least 0.14 µm wide."
layers = { met1 = "68/20" }
pass = ["met1 0 0 9 9"]
fail = ["met1 0 0 0.1 9"]
gold = '''
unused = met1.width(0.14.um)
eval("met1.width(0.14.um).output('anything')")
'''
""",
        encoding="utf-8",
    )
    result = run(pytester, "-k", "rejects")
    result.assert_outcomes(failed=1)
    assert re.search(r"none of \d+ mutated gold decks is told", result.stdout.str())


def test_rule_whose_layouts_violate_nothing_judges_nobody_as_an_empty_deck_would_pass(
    pytester: pytest.Pytester, rules: Path
) -> None:
    rules.write_text(
        """
[[rule]]
id = "nothing"
text = "met1 is at least 0.14 µm wide."
layers = { met1 = "68/20" }
pass = ["met1 0 0 9 9"]
gold = 'met1.width(0.14.um).output("nothing")'
""",
        encoding="utf-8",
    )
    gds = pytester.mkdir("problems") / "r1" / "data" / "gds"
    (gds / "pass").mkdir(parents=True)
    (gds / "pass" / "a.gds").write_bytes(bar(140))
    (gds / "labels.csv").write_text("filename,W\npass/a.gds,0\n")
    (gds.parents[1] / "spec.yaml").write_text("id: r1\ncategories: [W]\ndata_dir: data/gds\n")
    result = pytester.runpytest_subprocess("suite", "problems", "--agent=says_nothing", timeout=300)
    result.assert_outcomes(failed=2, errors=2)
    results = pytester.path / ".iclayout" / "results"
    for name in ("suite/nothing", "problems/r1"):
        record = json.loads((results / f"{name}/says_nothing.json").read_text())
        assert (record["outcome"], record["success"]) == ("error", False)
        assert record["reason"].endswith("no layout violates anything: a deck that reports nothing is right")
    result.stdout.re_match_lines([r"^  2 x category \S+: no layout violates it"])


def test_wrong_deck_fails_with_the_layouts_and_a_picture(pytester: pytest.Pytester, rules: Path) -> None:
    result = run(pytester, "--agent=wrong", "-m", "solve", "-k", "m1_width")
    result.assert_outcomes(failed=1)
    (record,) = records(pytester).values()
    assert (record["outcome"], record["success"], record["error"]) == ("failed", False, False)
    assert 0 < record["f1"] < 1
    assert {name for one in record["wrong"] for name in one["false"]} == {"m1_width"}
    folder = pytester.path / ".iclayout" / "results" / "suite" / "m1_width"
    assert (folder / record["deck"]).read_text().count("0.15") == 1
    picture = (folder / record["picture"]).read_bytes()
    assert reds(picture) > 0, "what the deck reported is framed"
    assert "false: m1_width" in result.stdout.str()


def test_picture_is_of_a_missed_violation_rather_than_of_an_error(pytester: pytest.Pytester, rules: Path) -> None:
    rules.write_text(CRASH, encoding="utf-8")
    run(pytester, "--agent=crashes_and_misses", "--agent=never_runs", "-m", "solve").assert_outcomes(failed=2)
    pictures = {}
    for name, record in records(pytester).items():
        assert {one["status"] for one in record["wrong"]} >= {"error"}
        picture = pytester.path / ".iclayout" / "results" / "suite" / "m1_width" / record["picture"]
        pictures[name.partition("/")[2]] = reds(picture.read_bytes())
    # The category that is no one of the rule's is marked where the label is missed; a crash has nothing to mark.
    assert pictures["crashes_and_misses"] > 0
    assert pictures["never_runs"] == 0


CRASH = """
[[rule]]
id = "m1_width"
text = "met1 is at least 0.14 µm wide."
layers = { met1 = "68/20" }
pass = ["met1 0 0 20 20", "met1 0 0 0.14 5"]
fail = ["met1 0 0 0.139 5"]
gold = 'met1.width(0.14.um).output("m1_width")'
"""


@pytest.mark.parametrize(("options", "outcome"), [((), "failed"), (("--lenient-crash",), "passed")])
def test_deck_that_crashes_on_a_clean_layout_is_in_error_unless_read_leniently(
    pytester: pytest.Pytester, rules: Path, options: tuple[str, ...], outcome: str
) -> None:
    rules.write_text(CRASH, encoding="utf-8")
    result = run(pytester, "--agent=crashes_on_wide", "-m", "solve", *options)
    (record,) = records(pytester).values()
    assert (record["outcome"], record["error"]) == (outcome, True)
    assert record["reading"] == ("lenient" if options else "strict")
    counts = record["categories"]["m1_width"]
    told = pytester.run(ICLAYOUT, "results", "--task", "m1_width").stdout
    line = "read leniently (--lenient-crash): where a deck is in error it counts as reporting nothing"
    if options:
        assert (counts["true_negative"], counts["error"]) == (2, 0)
        told.fnmatch_lines(
            ["m1_width: F1 1.000; 1 found, 0 missed, 0 false, 2 rightly clean", "read leniently: on 1 of 3 layouts *"]
        )
        result.stdout.fnmatch_lines(["crashes_on_wide*100.0%*100.0%*1.000", f"all {line}"])
    else:
        assert (counts["true_negative"], counts["error"]) == (1, 1)
        told.fnmatch_lines(["m1_width: F1 0.000; 1 found, 0 missed, 0 false, 1 rightly clean, 1 in error"])
        told.no_fnmatch_line("read leniently*")
        result.stdout.no_fnmatch_line(f"*{line}")


def test_agent_hears_nothing_by_default_and_with_compile_only_whether_its_deck_runs(
    pytester: pytest.Pytester, rules: Path
) -> None:
    result = run(pytester, "--agent=typing_error_first", "-m", "solve", "-k", "m1_width")
    result.assert_outcomes(failed=1)
    (record,) = records(pytester).values()
    assert (record["iterations"], record["error"]) == (1, True)
    assert {one["reason"] for one in record["wrong"]} == {record["reason"].partition("layouts: ")[2]}
    # The same reason for each layout is read once.
    assert re.findall(r"^  \S+: error.*$", result.stdout.str(), re.MULTILINE) == [
        f"  {one['layout']}: error" for one in record["wrong"][:5]
    ]
    result = run(
        pytester, "--agent=typing_error_first", "--agent=told", "-m", "solve", "-k", "m1_width", "-s",
        "--rule-feedback=compile",
    )  # fmt: skip
    result.assert_outcomes(passed=2)
    assert {one["iterations"] for one in records(pytester).values()} == {2}
    result.stdout.re_match_lines([r".*TOLD 1 None", r".*TOLD 2 ERROR: .*undefined method [`']widht'"])
    assert "pass/" not in result.stdout.str().partition("TOLD 2")[2].splitlines()[0]


def test_a_deck_without_an_end_is_not_run_on_each_layout(pytester: pytest.Pytester, rules: Path) -> None:
    run(pytester, "--agent=endless", "-m", "solve", "-k", "m1_width", "--rule-timeout=1")
    (record,) = records(pytester).values()
    assert (record["outcome"], record["error"]) == ("failed", True)
    reasons = [one["reason"] for one in record["wrong"]]
    ran = [reason for reason in reasons if not reason.startswith("not run, as on another layout the deck ")]
    assert len(reasons) == record["layouts"] > len(ran)
    assert 1 <= len(ran) <= len(os.sched_getaffinity(0))
    # The clock and the processor's time run out together.
    assert set(ran) <= {"did not end within 1 s", "used 1 s of processor time"}


def test_agents_that_crash_give_up_or_only_draw_are_told_apart(pytester: pytest.Pytester, rules: Path) -> None:
    names = ("raises", "gives_up", "draws", "ruby")
    result = run(pytester, *(f"--agent={name}" for name in names), "-m", "solve", "-k", "m1_width")
    result.assert_outcomes(errors=2, failed=1, skipped=1)
    found = {name.partition("/")[2]: (one["outcome"], one["reason"]) for name, one in records(pytester).items()}
    assert found["raises"] == ("error", "ConnectionError: the model's server is down")
    assert found["gives_up"] == ("failed", "the agent handed in no deck")
    assert found["draws"][0] == "not_run"
    assert found["ruby"][0] == "error"
    assert "language\n  Input should be 'drc' or 'python'" in found["ruby"][1]


def test_without_an_application_nothing_is_judged_and_the_run_says_so(
    pytester: pytest.Pytester, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(pytester.mkdir("empty")))
    result = run(pytester, "--agent=right", "-k", "m1_width", "-rs")
    result.assert_outcomes(skipped=3)
    assert result.ret == 10
    (record,) = records(pytester).values()
    assert record["outcome"] == "not_run"
    assert "apt-get install klayout" in record["reason"]
    result.stdout.re_match_lines(["gate: 2 skipped; 0 layouts tried", "gate not run 2: .*apt-get install klayout.*"])


def test_application_that_serves_no_decks_is_an_error_of_the_gate_and_of_trials_and_of_no_other_agent(
    pytester: pytest.Pytester, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = pytester.mkdir("bin") / "klayout"
    program.write_text('#!/bin/sh\n[ "$2" = -v ] && echo KLayout 0.28.5 && exit\necho no licence\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    result = run(pytester, "--agent=right", "-k", "m1_width")
    result.assert_outcomes(errors=3)
    assert result.ret == 10
    why = rf"{re.escape(str(program))} does not work: .* ended before it was ready and printed 'no licence'; "
    result.stdout.re_match_lines(
        [
            rf"^m1_width: {why}",
            r"^gate: 2 error; 0 layouts tried$",
            r"^right +metals +0 +0 +1 ",
            rf"^error 1: right: {why}",
        ]
    )
    result.stdout.no_re_match_line(r"^\?")


def test_rule_without_layers_keeps_its_failed_trials_though_they_cannot_be_drawn(
    pytester: pytest.Pytester, rules: Path
) -> None:
    gds = pytester.mkdir("problems") / "r1" / "data" / "gds"
    for label, width in (("pass", 140), ("fail", 139)):
        (gds / label).mkdir(parents=True)
        (gds / label / "a.gds").write_bytes(bar(width))
    (gds / "labels.csv").write_text("filename,W\npass/a.gds,0\nfail/a.gds,1\n")
    (gds.parents[1] / "spec.yaml").write_text("id: r1\ncategories: [W]\ndata_dir: data/gds\n")
    result = pytester.runpytest_subprocess("problems", "--agent=wrong", "-m", "solve", timeout=300)
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines([r"^wrong +- +0 +1 +0 +0 +0\.0%"])
    assert "Traceback" not in result.stdout.str()


def test_workers_leave_the_same_records(pytester: pytest.Pytester, rules: Path) -> None:
    pytest.importorskip("xdist")
    changing = {"started_at", "wall_ms", "run_id", "picture", "deck"}
    found = []
    for options in ((), ("-n2",)):
        run(pytester, "--agent=right", "--agent=wrong", "-m", "solve", *options)
        found.append(
            {
                name: {key: value for key, value in one.items() if key not in changing}
                for name, one in records(pytester).items()
            }
        )
    assert found[0] == found[1]
    assert len(found[0]) == 4


def test_rule_whose_worker_dies_is_an_error_with_a_record(pytester: pytest.Pytester, rules: Path) -> None:
    pytest.importorskip("xdist")
    result = run(pytester, "--agent=killed", "--agent=right", "-m", "solve", "-k", "m1_width", "-n2")
    result.assert_outcomes(passed=1, errors=1)
    found = records(pytester)
    assert (found["m1_width/killed"]["outcome"], found["m1_width/killed"]["work"]) == ("error", "rule")
    assert found["m1_width/right"]["outcome"] == "passed"


def test_results_verb_shows_rules(pytester: pytest.Pytester, rules: Path) -> None:
    run(pytester, "--agent=wrong", "--agent=right", "-m", "solve", "-k", "m1_width")
    table = pytester.run(ICLAYOUT, "results")
    table.stdout.re_match_lines([r"^right +suite +m1_width +passed", r"^wrong +suite +m1_width +failed"])
    one = pytester.run(ICLAYOUT, "results", "--agent", "wrong").stdout
    one.re_match_lines([r"^wrong +suite +m1_width +failed"])
    one.no_re_match_line(r"^right ")
    whole = pytester.run(ICLAYOUT, "results", "--task", "m1_width")
    whole.stdout.re_match_lines([r"^m1_width: F1 1\.000", r"^m1_width: F1 0\.\d+"])


def test_two_rules_of_one_id_are_an_error_of_the_second_file(pytester: pytest.Pytester, rules: Path) -> None:
    (rules.parent / "other.toml").write_text(RULES, encoding="utf-8")
    result = run(pytester, "-m", "gate", "--collect-only", "-q")
    assert re.search(r"other\.toml: rule m1_width: \S+metals\.toml has a rule of that id already", result.stdout.str())


def test_one_application_serves_the_run_and_is_gone_after_it(pytester: pytest.Pytester, rules: Path) -> None:
    run(pytester, "--agent=oracle").assert_outcomes(passed=6)
    scripts = {str(engine.server_script()) for engine in find_engines()}
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if any(s in _text(path) for s in scripts)]
    mine = [path for path in left if str(pytester.path) in _text(path.parent / "environ")]
    assert mine == []


def bar(width_dbu: int) -> bytes:
    layout = db.Layout()
    layout.create_cell("TOP").shapes(layout.layer(68, 20)).insert(db.Box(0, 0, width_dbu, 1000))
    return bytes(layout.write_bytes(db.SaveLayoutOptions()))


def reds(png: bytes) -> int:
    """Pixels of frames."""
    pixels = lay.PixelBuffer.from_png_data(png)
    return sum(pixels.pixel(x, y) & 0xFFFFFF == 0xE01010 for x in range(pixels.width()) for y in range(pixels.height()))


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def test_built_in_agents_at_bundled_rules(pytester: pytest.Pytester) -> None:
    """Of one file: oracle solves all of them, mock those that declare a structure, nop and random none."""
    path = Path(iclayout_tasks.__path__[0]) / "rules" / "sky130_vias.toml"
    agents = ("mock", "oracle", "nop", "random")
    pytester.runpytest_subprocess(str(path), *(f"--agent={one}" for one in agents), "-m", "solve", timeout=300)
    rules = load_rule_file(path)
    found = {
        (one["rule_id"], one["agent"]): one["outcome"]
        for one in (json.loads(file.read_text(encoding="utf-8")) for file in pytester.path.rglob("results/**/*.json"))
    }
    declared = {rule.id for rule in rules if set(rule.structures) == set(rule.category_names)}
    assert len(found) == len(agents) * len(rules)
    assert 10 <= len(declared) < len(rules)
    for rule in rules:
        assert found[rule.id, "oracle"] == "passed"
        assert found[rule.id, "mock"] == ("passed" if rule.id in declared else "failed"), rule.id
        assert found[rule.id, "nop"] == found[rule.id, "random"] == "failed"
