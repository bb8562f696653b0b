"""density: areas in windows, exact at their limits, and what is given."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import klayout.db as db
import pytest
from hypothesis import given
from hypothesis import strategies as st
from iclayout_checkers.windows import Coverage, windows
from judging import oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

MET1, MET2 = Layer.parse("68/20"), Layer.parse("69/20")
REGION = {"min": {"x": 0, "y": 0}, "max": {"x": 3000, "y": 2000}}
PARAMS = {"layers": "68/20", "region": REGION, "window": 1000, "step": 1000, "min_permille": 500}
WIRE = Sketch().rect(MET1, 400, 0, 500, 2000).drawing


def said(drawing: Drawing, start: Drawing = WIRE, **params: Any) -> list[str]:
    oracle = oracle_of("density", {**PARAMS, **params}, start=start)
    return [one.message for one in oracle.judge(oracle.build(drawing)).findings]


def fill(*boxes: tuple[int, int, int, int]) -> Drawing:
    sketch = Sketch(new=False)
    for box in boxes:
        sketch.rect(MET1, *box)
    return sketch.drawing


HALF = fill((0, 0, 400, 2000), (1000, 0, 3000, 1000), (1000, 1000, 2500, 2000))


@pytest.mark.parametrize(("right", "top", "ok"), [(2500, 2000, True), (2500, 1999, False), (2499, 2000, False)])
def test_least_density_is_exact(right: int, top: int, ok: bool) -> None:
    lower = ((0, 0, 400, 2000), (1000, 0, 3000, 1000), (1000, 1000, 2000, 2000))
    found = said(fill(*lower, (2000, 1000, right, top)))
    assert (found == []) == ok
    assert ok or ("density 499." in found[0] and "at least 500 required" in found[0])


@pytest.mark.parametrize(("height", "ok"), [(600, True), (601, False)])
def test_most_density_is_exact(height: int, ok: bool) -> None:
    boxes = [(x, y, x + 1000, y + height) for x in (1000, 2000) for y in (0, 1000)]
    found = said(fill((0, 0, 400, 2000), *boxes), max_permille=600)
    assert (found == []) == ok
    assert ok or len(found) == 4


def test_windows_overlap_where_the_step_is_smaller() -> None:
    """Two windows that abut are half full each; the one across both of them is not."""
    boxes = fill((0, 0, 500, 1000), (1500, 0, 2000, 1000))
    start = Sketch().drawing
    region = {"min": {"x": 0, "y": 0}, "max": {"x": 2000, "y": 1000}}
    assert said(boxes, start, region=region) == []
    assert len(said(boxes, start, region=region, step=500)) == 1


def test_windows_end_with_the_region_on_all_sides() -> None:
    boxes = list(windows(Rect.of(-100, 50, 300, 350), 200, 100))
    assert len(boxes) == 3 * 2
    assert (boxes[0].left, boxes[0].bottom, boxes[-1].right, boxes[-1].top) == (-100, 50, 300, 350)


@given(
    st.lists(st.tuples(st.integers(-30, 30), st.integers(-30, 30)), min_size=3, max_size=7),
    st.tuples(*[st.integers(-35, 20)] * 2, *[st.integers(1, 40)] * 2),
)
def test_area_in_a_window_is_exact_for_slanted_shapes(points: list[tuple[int, int]], window: tuple[int, ...]) -> None:
    """Against the polygon clipped by the four half planes in fractions (Sutherland and Hodgman)."""
    left, bottom, width, height = window
    box = db.Box(left, bottom, left + width, bottom + height)
    region = db.Region(db.Polygon([db.Point(*one) for one in points])).merged(True, 0)
    expected = sum(
        (_clipped_area(list(_ring(polygon.each_point_hull())), box) for polygon in region.each()), start=Fraction(0)
    ) - sum(
        (
            _clipped_area(list(_ring(polygon.each_point_hole(hole))), box)
            for polygon in region.each()
            for hole in range(polygon.holes())
        ),
        start=Fraction(0),
    )
    assert Coverage(region).within(box) == expected


def _ring(points: Any) -> list[tuple[Fraction, Fraction]]:
    return [(Fraction(one.x), Fraction(one.y)) for one in points]


def _clipped_area(ring: list[tuple[Fraction, Fraction]], box: db.Box) -> Fraction:
    for axis, limit, sign in ((0, box.left, 1), (0, box.right, -1), (1, box.bottom, 1), (1, box.top, -1)):
        kept: list[tuple[Fraction, Fraction]] = []
        for here, there in zip(ring, ring[1:] + ring[:1], strict=True):
            one, other = sign * (here[axis] - limit), sign * (there[axis] - limit)
            kept += [here] if one >= 0 else []
            if one * other < 0:
                part = one / (one - other)
                kept.append((here[0] + part * (there[0] - here[0]), here[1] + part * (there[1] - here[1])))
        ring = kept
    pairs = zip(ring, ring[1:] + ring[:1], strict=True)
    return abs(sum((a[0] * b[1] - b[0] * a[1] for a, b in pairs), start=Fraction(0))) / 2


def test_each_layer_must_be_dense_enough() -> None:
    found = said(HALF, layers="68/20+69/20")
    assert found
    assert all(one.startswith("met2 (69/20): density 0.000 permille") for one in found)


@pytest.mark.parametrize(("left", "ok"), [(600, True), (599, False), (500, False)])
def test_fill_keeps_clear_of_what_was_given(left: int, ok: bool) -> None:
    found = said(fill((left, 0, 3000, 2000), (0, 0, 300, 2000)), clearance=100)
    assert (found == []) == ok
    assert ok or "too near to a given shape, at least 100 dbu required" in found[0]


@pytest.mark.parametrize(("dy", "ok"), [(80, True), (79, False)])
def test_fill_keeps_clear_across_corners(dy: int, ok: bool) -> None:
    corner = (560, 2000 + dy, 900, 2400)
    assert (said((*fill((600, 0, 3000, 2000), (0, 0, 300, 2000)), *fill(corner)), clearance=100) == []) == ok


def test_given_shapes_must_stay() -> None:
    found = said((cmd.DeleteShapes(ids=(1,)), *fill((0, 0, 400, 2000), (700, 0, 3000, 2000))))
    assert found == ["met1 (68/20): something of what was given is gone"]
    again = fill((400, 0, 500, 1200), (400, 1200, 500, 2000))
    assert said((cmd.DeleteShapes(ids=(1,)), *HALF, *again)) == []


def test_rules_decide_only_where_the_task_says_so() -> None:
    sliver = fill((5000, 0, 5010, 9000))
    assert said((*HALF, *sliver)) == []
    assert any("width 10 dbu" in one for one in said((*HALF, *sliver), rules=True))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"window": 900}, "do not end with the region"),
        ({"step": 300}, "do not end with the region"),
        ({"window": 4000}, "do not end with the region"),
        ({"min_permille": 700, "max_permille": 600}, "min_permille 700 is more than max_permille 600"),
        ({"layers": "68/20+68/20"}, "layers names a layer twice"),
        ({"min_permille": 0}, "min_permille"),
        ({"window": 10, "step": 10}, "more than 10000 windows"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckerError, match=message):
        oracle_of("density", {**PARAMS, **params})


def test_layout_that_is_dense_enough_as_given_is_no_task() -> None:
    full = Sketch().rect(MET1, 0, 0, 3000, 2000).drawing
    with pytest.raises(ValueError, match="layer 68/20 is dense enough as it is given"):
        oracle_of("density", PARAMS, start=full, solution=HALF).witness()
