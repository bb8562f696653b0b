"""Verdicts on layouts of many shapes: what is told of one by one, what is counted, what an array changes."""

from __future__ import annotations

import klayout.db as db
import pytest
from judging import oracle_of

from pytest_iclayout.agents.protocol import Feedback
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.drc import engine
from pytest_iclayout.drc.engine import first_violations, run_rules_on
from pytest_iclayout.geometry import hierarchy
from pytest_iclayout.geometry.findings import MAX_FINDINGS, Finding
from pytest_iclayout.geometry.io import write_layout
from pytest_iclayout.geometry.view import open_view

pytestmark = pytest.mark.one_python

MET1 = "68/20"
SIDE = 15
"""Squares in a row and in a column: enough for more findings than are told."""


@pytest.fixture(autouse=True)
def _small_arrays_are_merged_by_cell(monkeypatch):
    monkeypatch.setattr(hierarchy, "LEAST_FLAT_SHAPES", SIDE)


def grid(pitch: int, side: int, *, array: bool, extra: db.Polygon | None = None) -> bytes:
    """SIDE x SIDE squares of ``side`` dbu, as an array or one by one, and perhaps a further polygon."""
    layout = db.Layout(True)
    layout.dbu = 0.001
    index = layout.layer(68, 20)
    unit, top = layout.create_cell("unit"), layout.create_cell("top")
    unit.shapes(index).insert(db.Box(0, 0, side, side))
    step = db.Vector(pitch, 0), db.Vector(0, pitch)
    top.insert(db.CellInstArray(unit.cell_index(), db.Trans(), *step, SIDE, SIDE))
    if extra is not None:
        top.shapes(index).insert(extra)
    if not array:
        top.flatten(True)
    return write_layout(layout)


RING = db.Polygon(db.Box(-1000, -1000, -400, -400))
RING.insert_hole(db.Box(-800, -800, -600, -600))


@pytest.mark.parametrize(
    "text",
    [
        f"shape_count:layer={MET1},max=1000",
        f"shape_count:layer={MET1},min=1,width=400,height=400",
        f"shape_count:layer={MET1},min=1,width=400,height=399",
        f"layer_area:layer={MET1},max_area=1",
        f"layer_area:layer={MET1},min_area=1",
        f"guard_ring:layer={MET1}",
        "drc_clean",
        f"drc_clean:present={MET1},min_shapes=100",
    ],
)
@pytest.mark.parametrize(("pitch", "side"), [(800, 400), (400, 400), (500, 400), (400, 300)])
@pytest.mark.parametrize("extra", [None, RING])
def test_array_and_the_same_shapes_one_by_one_get_one_verdict(text, pitch, side, extra):
    oracle = oracle_of(text)
    judged = [oracle.judge_with_violations(grid(pitch, side, array=array, extra=extra)) for array in (True, False)]
    assert judged[0] == judged[1]


def test_corner_contacts_in_an_array_are_no_shape_that_is_joined():
    oracle = oracle_of(f"shape_count:layer={MET1},min=1,width=400,height=400")
    layout = db.Layout(True)
    layout.dbu = 0.001
    index = layout.layer(68, 20)
    unit, top = layout.create_cell("unit"), layout.create_cell("top")
    unit.shapes(index).insert(db.Box(0, 0, 400, 400))
    for shift in (0, 400):
        at = db.Trans(shift, shift)
        step = db.Vector(800, 0), db.Vector(0, 800)
        top.insert(db.CellInstArray(unit.cell_index(), at, *step, SIDE, SIDE))
    assert oracle.judge(write_layout(layout)).ok


def test_as_many_findings_are_told_as_people_read_and_the_others_are_counted():
    oracle = oracle_of(f"shape_count:layer={MET1},min=1,width=400,height=399")
    verdict = oracle.judge(grid(800, 400, array=False))
    assert len(verdict.findings) == MAX_FINDINGS
    assert len(verdict.findings) + verdict.more == SIDE * SIDE
    places = [(one.place.min.x, one.place.min.y) for one in verdict.findings]
    assert places == [(800 * (number // SIDE), 800 * (number % SIDE)) for number in range(MAX_FINDINGS)]
    assert verdict.summary().splitlines()[-1] == f"... and {SIDE * SIDE - 5} more"


def test_any_checker_may_find_more_than_is_told():
    verdict = Verdict.of(None, *(Finding(rule="r", message=str(number)) for number in range(MAX_FINDINGS + 7)), more=3)
    assert (len(verdict.findings), verdict.more, verdict.ok) == (MAX_FINDINGS, 10, False)
    assert not Verdict(more=1).ok


def test_violations_beyond_those_told_are_counted_for_the_record_and_the_agent():
    judged = oracle_of(f"shape_count:layer={MET1},max=1").judge_with_violations(grid(400, 300, array=False))
    gaps = 2 * SIDE * (SIDE - 1)
    assert len(judged.violations) == MAX_FINDINGS
    assert judged.violation_count >= gaps
    feedback = Feedback(iteration=1, violations=judged.violations, more_violations=judged.more_violations)
    assert f"  ... and {judged.violation_count - 20} more" in feedback.as_text().splitlines()


def test_what_is_told_of_first_is_what_a_full_run_tells_of_first():
    bench = oracle_of("drc_clean").bench
    view = open_view(grid(400, 300, array=True), bench.technology, bench.rule_set)
    whole = run_rules_on(view, view.rules)
    few = first_violations(view, view.rules, 50)
    for rule in {one.rule for one in whole}:
        mine = [one for one in few.findings if one.rule == rule]
        assert mine
        assert mine == [one for one in whole if one.rule == rule][: len(mine)]
    all_of_them = first_violations(view, view.rules, 10**6)
    assert all_of_them == (whole, 0)


def test_rules_run_once_for_verdict_and_feedback(monkeypatch):
    runs = []
    true_run = engine._first_violations
    monkeypatch.setattr(engine, "_first_violations", lambda *given: runs.append(given) or true_run(*given))
    oracle_of("drc_clean").judge_with_violations(grid(800, 400, array=True))
    assert len(runs) == 1
