"""The items ``accepts`` and ``rejects``: what a wrong oracle looks like, and what a right one reports."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pytest_iclayout.session.commands import AddPolygon, AddRect, parse_command
from pytest_iclayout.session.sketch import draw
from pytest_iclayout.technology.load import builtin_technology

CHECKERS = '''
from hypothesis import strategies as st
from iclayout_checkers.rect_present import RectPresent
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

class Blind(RectPresent):
    """Accepts whatever has a shape of at least 10 dbu both ways, rectangle or not."""
    name = "blind"
    def check(self, view, params):
        region = view.region(params.layer)
        box = region.bbox()
        wide = not region.is_empty() and min(box.width(), box.height()) >= 10
        return Verdict() if wide else super().check(view, params)
    def negatives(self, params, bench):
        return {"l_shape": super().negatives(params, bench)["l_shape"]}

class Deaf(RectPresent):
    """Rejects everything."""
    name = "deaf"
    def check(self, view, params):
        return Verdict.of(Finding(rule="deaf", message="heard nothing"))

class Placed(RectPresent):
    """Accepts the witness at its place only, and says that it may be moved."""
    name = "placed"
    def check(self, view, params):
        corner = view.region(params.layer).bbox().p1
        if (corner.x, corner.y) != (0, 0):
            return Verdict.of(Finding(rule="placed", message="it was moved"))
        return super().check(view, params)

class NoNegatives(RectPresent):
    name = "no_negatives"
    def negatives(self, params, bench):
        return {}

class Crashing(RectPresent):
    name = "crashing"
    def check(self, view, params):
        raise ZeroDivisionError("the checker's own fault")

class CountingMoved(RectPresent):
    """A negative of as many different layouts as one likes, which may also be moved and turned."""
    name = "counting_moved"
    def negatives(self, params, bench):
        lengths = st.integers(1, 10**6)
        return {"no_area": lengths.map(lambda length: Sketch().rect(params.layer, 0, 0, length, 0).drawing)}

class Counting(CountingMoved):
    """The same in its place."""
    name = "counting"
    def variants(self, params):
        return REDRAWN

class Near(RectPresent):
    """Right about the origin only; its one negative is drawn there."""
    name = "near"
    def check(self, view, params):
        far = view.region(params.layer).bbox().left > 1000
        return Verdict() if far else super().check(view, params)
    def negatives(self, params, bench):
        wire = Sketch().rect(params.layer, 0, 0, 400, 100).rect(params.layer, 0, 0, 100, 200)
        return {"bent": st.just(wire.drawing)}

class NearInPlace(Near):
    name = "near_in_place"
    def variants(self, params):
        return REDRAWN

class Lying(Near):
    """Right about what is wider than high."""
    name = "lying"
    def check(self, view, params):
        box = view.region(params.layer).bbox()
        return Verdict() if box.height() > box.width() else RectPresent.check(self, view, params)

class Inventive(RectPresent):
    name = "inventive"
    def variants(self, params):
        return REDRAWN | {"upside_down", "melted"}

class Unfulfillable(RectPresent):
    name = "unfulfillable"
    def witness(self, params, bench):
        raise ValueError("nets a and b cannot be kept apart")

def pytest_iclayout_checkers(config):
    kinds = (
        Blind, Deaf, Placed, NoNegatives, Crashing, Counting, CountingMoved, Near, NearInPlace, Lying, Inventive,
        Unfulfillable,
    )
    return [kind() for kind in kinds]
'''


@pytest.fixture
def gate(tasks, run, pytester):
    """The gate of a task with one of the checkers above."""

    def runs(checker, *options):
        pytester.makeconftest(CHECKERS)
        tasks.write("suite/a.toml", checker=f"{checker}:layer=68/20")
        return run("--gate-examples=200", *options)

    return runs


def picture_in(text: str) -> Path:
    (path,) = re.findall(r"^picture: (.+)$", text, re.MULTILINE)
    return Path(path)


def test_accepted_negative_fails_with_the_smallest_drawing_and_its_picture(gate, shown):
    result = gate("blind", "-rf")
    result.assert_outcomes(passed=1, failed=1)
    text = shown(result)
    assert "FAILED suite/a.toml::rejects - checker blind accepted the negative 'l_shape', which is wrong" in text
    commands = [parse_command(eval_json(line)) for line in text.splitlines() if line.startswith('{"op":')]
    shapes = [one for one in commands if isinstance(one, (AddRect, AddPolygon))]
    assert len(shapes) == 1
    assert isinstance(shapes[0], AddPolygon)
    # The least size that this checker accepts: the drawing was shrunk.
    assert max(point.x for point in shapes[0].points) == 10
    assert max(point.y for point in shapes[0].points) == 10
    assert draw(tuple(commands), builtin_technology("sky130")).export()
    assert picture_in(text).read_bytes().startswith(b"\x89PNG")


def eval_json(line: str):
    import json

    return json.loads(line)


def test_rejected_witness_fails_with_the_finding_the_drawing_and_its_picture(gate, shown):
    result = gate("deaf", "-rf", "-k", "accepts")
    result.assert_outcomes(failed=1)
    text = shown(result)
    assert "checker deaf rejected the witness, which is right" in text
    assert "deaf: heard nothing" in text
    assert '{"op":"add_rect"' in text
    assert picture_in(text).read_bytes().startswith(b"\x89PNG")


def test_rejected_variant_fails_with_the_change_and_its_picture(gate, shown):
    result = gate("placed", "-k", "accepts")
    result.assert_outcomes(failed=1)
    text = shown(result)
    assert re.search(r"rejected the witness after (translate|rotate|wrap)\([^)]*\), which is right", text)
    assert picture_in(text).is_file()


@pytest.mark.parametrize(("checker", "change"), [("near", "translate"), ("lying", "rotate")])
def test_negative_that_is_accepted_elsewhere_or_turned_fails_with_the_change(gate, shown, checker, change):
    """A checker that is right about the origin only would let agents pass who draw anywhere else."""
    result = gate(checker, "-k", "rejects")
    result.assert_outcomes(failed=1)
    text = shown(result)
    told = re.search(
        rf"^checker {checker} accepted the negative 'bent' after (.+), which is wrong$", text, re.MULTILINE
    )
    assert told is not None
    # Hypothesis mostly, but not always, finds that one of two changes is enough.
    changes = [re.fullmatch(r"(translate|rotate)\([\w, -]+\)", one)[1] for one in told[1].split(" then ")]
    assert change in changes
    assert picture_in(text).read_bytes().startswith(b"\x89PNG")


def test_negative_is_not_moved_where_the_checker_does_not_say_that_it_may_be(gate):
    """A task that names a place is right to accept only there."""
    gate("near_in_place", "-k", "rejects").assert_outcomes(passed=1)


def test_unknown_variants_are_named_by_both_items(gate, shown):
    result = gate("inventive", "-rf")
    result.assert_outcomes(failed=2)
    known = (
        "as_arrays, as_instances, as_paths, overlap, rotate, split, through_gds, through_gdstk, through_oasis, "
        "translate, wrap"
    )
    message = f"checker inventive declares unknown variants melted, upside_down; known are {known}"
    for item in ("accepts", "rejects"):
        assert f"FAILED suite/a.toml::{item} - {message}\n" in shown(result)


def test_task_that_no_layout_fulfils_fails_its_gate_with_the_checkers_reason(gate, shown):
    result = gate("unfulfillable", "-rf", "-k", "accepts")
    result.assert_outcomes(failed=1)
    message = "checker unfulfillable has no witness for this task: nets a and b cannot be kept apart"
    assert f"FAILED suite/a.toml::accepts - {message}\n" in shown(result)


def test_checker_without_negatives_may_not_judge(gate, shown):
    result = gate("no_negatives")
    result.assert_outcomes(passed=1, failed=1)
    assert "checker no_negatives declares no negatives; it may not judge" in shown(result)


def test_checker_that_crashes_fails_its_gate_and_shows_where(gate):
    result = gate("crashing")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*ZeroDivisionError: the checker's own fault*", "*conftest.py:*"])


@pytest.mark.parametrize("checker", ["blind_at_once", "deaf", "no_negatives", "crashing", "unfulfillable"])
def test_oracle_that_fails_its_gate_scores_no_agent(gate, records, tasks, pytester, run, checker):
    if checker == "blind_at_once":
        pytester.makeconftest(CHECKERS.replace(">= 10", ">= 1").replace('"blind"', '"blind_at_once"'))
        tasks.write("suite/a.toml", checker="blind_at_once:layer=68/20")
        result = run("--agent=oracle", "--agent=nop", "-m", "solve")
    else:
        result = gate(checker, "--agent=oracle", "--agent=nop", "-m", "solve")
    result.assert_outcomes(errors=2)
    assert result.ret == 10
    assert {one["outcome"] for one in records().values()} == {"error"}
    for one in records().values():
        assert one["success"] is False
        assert "the oracle may not judge" in one["reason"] or "ZeroDivisionError" in one["reason"]


def test_negatives_are_counted_by_name(gate, pytester):
    gate("rect_present", "--junitxml=out.xml").assert_outcomes(passed=2)
    reported = gate_properties(pytester.path / "out.xml")
    total, _, names = reported["rejects"].partition(" layouts: ")
    counts = {name: int(count) for name, count in (part.rsplit(" ", 1) for part in names.split(", "))}
    assert set(counts) >= {"l_shape", "nothing_drawn", "triangle", "wrong_layer", "rectangle_without_area"}
    assert int(total) == sum(counts.values())
    assert counts["nothing_drawn"] == 1
    assert min(counts.values()) >= 1
    assert reported["accepts"].partition(" layouts: ")[2].startswith("as_paths ")
    assert "witness 1" in reported["accepts"]


def test_number_of_examples_is_honoured(gate, pytester):
    numbers = {}
    for examples in (1, 7, 40):
        gate("counting", f"--gate-examples={examples}", "--junitxml=out.xml").assert_outcomes(passed=2)
        numbers[examples] = int(gate_properties(pytester.path / "out.xml")["rejects"].split(" ")[0])
    assert numbers[1] == 1
    assert numbers[1] < numbers[7] <= 7 < numbers[40] <= 40


def test_negatives_that_are_moved_as_well_count_twice(gate, pytester):
    gate("counting_moved", "--gate-examples=40", "--junitxml=out.xml").assert_outcomes(passed=2)
    assert 20 < int(gate_properties(pytester.path / "out.xml")["rejects"].split(" ")[0]) <= 40


def test_number_of_examples_from_the_ini_file_gives_way_to_the_option(tasks, pytester):
    pytester.makeconftest(CHECKERS)
    pytester.makeini("[pytest]\niclayout_gate_examples = 30")
    tasks.write("suite/a.toml", checker="counting:layer=68/20")
    pytester.runpytest_inprocess("--junitxml=out.xml").assert_outcomes(passed=2)
    assert 5 < int(gate_properties(pytester.path / "out.xml")["rejects"].split(" ")[0]) <= 30
    pytester.runpytest_inprocess("--junitxml=out.xml", "--gate-examples=2").assert_outcomes(passed=2)
    assert int(gate_properties(pytester.path / "out.xml")["rejects"].split(" ")[0]) <= 2


def test_summary_counts_the_gates_and_the_layouts(gate, shown):
    assert re.search(r"^gate: 1 failed, 1 passed; [1-9]\d* layouts tried$", shown(gate("blind")), re.MULTILINE)


def test_failure_of_the_gate_is_shown_where_no_picture_can_be_written(gate, tasks, shown):
    tasks.write_text("file", "not a folder")
    text = shown(gate("deaf", "--iclayout-results=file/results", "-k", "accepts"))
    assert "checker deaf rejected the witness, which is right" in text
    assert "could not be written: Not a directory" in text


@pytest.fixture
def random_examples(monkeypatch):
    """As for a user: examples are only kept where Hypothesis draws them at random."""
    from hypothesis import settings

    before = settings.get_current_profile_name()
    monkeypatch.delenv("CI", raising=False)
    settings.load_profile("dev")
    yield
    settings.load_profile(before)


@pytest.mark.usefixtures("random_examples")
def test_failing_example_is_tried_first_by_the_next_run(gate, pytester):
    """Each task has examples of its own: without them a rare fault found once would be lost again."""
    gate("blind", "-k", "rejects").assert_outcomes(failed=1)
    kept = [path for path in (pytester.path / ".iclayout/results/.examples").rglob("*") if path.is_file()]
    assert kept
    gate("blind", "-k", "rejects", "--gate-examples=1").assert_outcomes(failed=1)


def gate_properties(junit: Path) -> dict[str, str]:
    """The gate's report by item, as continuous integration would show it."""
    return {
        case.attrib["name"]: value.attrib["value"]
        for case in ET.parse(junit).iter("testcase")
        for value in case.iter("property")
        if value.attrib["name"] == "iclayout_gate"
    }
