"""matched_routes: which shapes are wires, how long they are, and what makes a pair."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import klayout.db as db
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from iclayout_checkers.wires import coupled_length, wire_of
from judging import oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

MET2, MET1 = Layer.parse("69/20"), Layer.parse("68/20")
Points = list[tuple[int, int]]


def covered(points: Points, width: int) -> db.Region:
    return db.Region(db.Path([db.Point(*one) for one in points], width).polygon()).merged()


@st.composite
def staircases(draw: st.DrawFn) -> Points:
    """Center lines, each piece longer than a width of 20, which may run into themselves."""
    points, along = [(0, 0)], draw(st.booleans())
    for _ in range(draw(st.integers(1, 6))):
        step = draw(st.integers(21, 300)) * draw(st.sampled_from([1, -1]))
        x, y = points[-1]
        points.append((x + step, y) if along else (x, y + step))
        along = not along
    return points


@given(staircases())
def test_path_is_read_back_as_its_center_line(points: Points) -> None:
    length = sum(abs(x1 - x0) + abs(y1 - y0) for (x0, y0), (x1, y1) in pairwise(points))
    region = covered(points, 20)
    assume(region.count() == 1 and region.area() == 20 * length and next(region.each()).holes() == 0)
    wire = wire_of(next(region.each()), 20)
    assume(len(points) > 2 or length != 20)
    assert wire is not None
    assert wire.length == 2 * length
    assert {*wire.ends} == {(2 * x, 2 * y) for x, y in (points[0], points[-1])}


@given(staircases(), st.integers(1, 19), st.integers(0, 2000), st.integers(1, 60))
def test_shape_with_a_stub_is_no_wire(points: Points, depth: int, start: int, length: int) -> None:
    region = covered(points, 20)
    assume(region.count() == 1)
    longest = max(next(region.each()).each_edge(), key=lambda edge: int(edge.length()))
    room = int(longest.length()) - 2
    assume(room > 1)
    start %= room
    length = min(length, room - start)
    along = db.Vector((longest.dx() > 0) - (longest.dx() < 0), (longest.dy() > 0) - (longest.dy() < 0))
    corner = longest.p1 + along * (1 + start)
    bump = db.Box(corner, corner + along * length + db.Vector(-along.y, along.x) * depth)
    shape = (region + db.Region(bump)).merged()
    assume(shape.area() == region.area() + bump.area() and shape.count() == 1)
    assert wire_of(next(shape.each()), 20) is None


@pytest.mark.parametrize(
    ("points", "why"),
    [
        ([(0, 0), (90, 0), (90, 20), (0, 20), (0, 50), (20, 50), (20, 20)], "a branch"),
        ([(0, 0), (0, 20), (50, 20), (50, 21), (60, 21), (60, 20), (100, 20), (100, 0)], "a bulge"),
        ([(0, 0), (0, 20), (100, 20), (110, 10), (100, 0)], "a pointed end"),
        ([(0, 0), (0, 21), (100, 21), (100, 0)], "another width"),
        ([(0, 0), (0, 20), (80, 20), (80, 100), (101, 100), (101, 0)], "wider after the bend"),
    ],
)
def test_shape_that_no_path_covers_is_no_wire(points: Points, why: str) -> None:
    assert wire_of(db.Polygon([db.Point(*one) for one in points]), 20) is None, why


def test_loop_is_no_wire() -> None:
    ring = db.Region(db.Box(0, 0, 200, 200)) - db.Region(db.Box(20, 20, 180, 180))
    assert wire_of(next(ring.each()), 20) is None


def test_neither_a_hole_nor_a_bulge_on_both_sides_belongs_to_a_wire() -> None:
    """They leave its centre line where it is."""
    wire = db.Region(db.Box(0, 0, 100, 20))
    for shape in (wire - db.Region(db.Box(40, 5, 50, 10)), wire + db.Region(db.Box(40, -1, 60, 21))):
        assert wire_of(next(shape.merged().each()), 20) is None


def test_odd_width_has_its_center_between_grid_points() -> None:
    wire = wire_of(db.Polygon(db.Box(0, 0, 100, 21)), 21)
    assert wire is not None
    assert wire.line == ((0, 21), (200, 21))


@pytest.mark.parametrize(("gap", "length"), [(39, 0), (40, 140), (41, 0)])
def test_coupled_length_counts_edges_at_the_gap_alone(gap: int, length: int) -> None:
    one = next(covered([(0, 0), (100, 0), (100, 100)], 20).each())
    # Beside the lower side from 0 to 80, and beside the right side from 30 to 90.
    for other in ([(-30, -60), (80, -60)], [(160, 30), (160, 90)]):
        two = next(covered(other, 20).each())
        assert coupled_length(one, two, gap) == coupled_length(two, one, gap)
    found = sum(
        coupled_length(one, next(covered(other, 20).each()), gap)
        for other in ([(-30, -60), (80, -60)], [(160, 30), (160, 90)])
    )
    assert found == length


def test_edges_that_face_each_other_through_metal_are_not_coupled() -> None:
    one, two = db.Polygon(db.Box(0, 0, 100, 20)), db.Polygon(db.Box(0, -40, 100, -20))
    assert coupled_length(one, two, 60) == 0
    assert coupled_length(one, two, 20) == 100


def terminal(name: str, x: int, y: int) -> dict[str, Any]:
    corners = {"min": {"x": x - 100, "y": y - 100}, "max": {"x": x + 100, "y": y + 100}}
    return {"name": name, "layer": "69/20", "region": corners}


def net(name: str, y: int, right: int = 5000) -> dict[str, Any]:
    return {"name": name, "terminals": [terminal(f"{name}1", 0, y), terminal(f"{name}2", right, y)]}


INTENT = {"nets": [net("p", 0), net("n", -400)]}
PARAMS: dict[str, Any] = {"intent": INTENT, "width": 200}
START = Sketch().rect(MET2, 1000, 3000, 2000, 4000).rect(MET1, 0, 0, 500, 500).drawing
STRAIGHT = Sketch(new=False).path(MET2, 200, [(0, 0), (5000, 0)]).path(MET2, 200, [(0, -400), (5000, -400)]).drawing


def said(drawing: Drawing, **params: Any) -> list[str]:
    oracle = oracle_of("matched_routes", {**PARAMS, **params}, start=START)
    return [one.message for one in oracle.judge(oracle.build(drawing)).findings]


def wires(*lines: Points) -> Drawing:
    sketch = Sketch(new=False)
    for points in lines:
        sketch.path(MET2, 200, points)
    return sketch.drawing


@pytest.mark.parametrize(("tolerance", "ok"), [(600, True), (599, False)])
def test_difference_of_lengths_is_exact(tolerance: int, ok: bool) -> None:
    longer = [(0, 0), (1000, 0), (1000, 300), (2000, 300), (2000, 0), (5000, 0)]
    found = said(wires(longer, [(0, -400), (5000, -400)]), tolerance=tolerance)
    assert found == ([] if ok else [
        "met2 (69/20): wires are 5000 to 5600 dbu long, a difference of at most 599 dbu is allowed"
    ])  # fmt: skip


@pytest.mark.parametrize(("left", "ok"), [(-100, True), (100, True), (-101, False), (101, False)])
def test_ends_are_in_their_terminals(left: int, ok: bool) -> None:
    found = said(wires([(left, 0), (5000, 0)], [(0, -400), (5000, -400)]), tolerance=200)
    assert (found == []) == ok
    assert ok or found == ["met2 (69/20): net p: no wire ends in both terminals"]


def test_wires_between_terminals_of_two_nets_join_none() -> None:
    crossed = [
        {"name": name, "terminals": [terminal("a", 0, y), terminal("b", 5000, -400 - y)]}
        for name, y in (("p", 0), ("n", -400))
    ]
    assert said(STRAIGHT, intent={"nets": crossed}) == ["met2 (69/20): net p: no wire ends in both terminals"]


def test_nothing_but_the_wires_is_added() -> None:
    found = said((*STRAIGHT, *Sketch(new=False).rect(MET2, 9000, 0, 9999, 999).drawing))
    assert found == ["met2 (69/20): 3 shape(s) added, exactly 2 required"]
    found = said((*STRAIGHT, *Sketch(new=False).rect(MET1, 9000, 0, 9999, 999).drawing))
    assert found == ["met1 (68/20): changed where it must stay as it was given"]


def test_given_shapes_stay_and_are_not_touched() -> None:
    assert said((*STRAIGHT, cmd.DeleteShapes(ids=(1,)))) == ["met2 (69/20): changed where it must stay as it was given"]
    touching = wires([(0, 0), (1500, 0), (1500, 3000)], [(0, -400), (5000, -400)])
    assert "no wire of 200 dbu" in said(touching)[0]


@pytest.mark.parametrize(
    ("gap", "said_of_it"), [(200, None), (201, "apart, at least 201"), (199, "run 0 dbu at a gap")]
)
def test_pair_runs_at_the_gap(gap: int, said_of_it: str | None) -> None:
    found = said(STRAIGHT, gap=gap, coupled_permille=1000)
    assert found == [] if said_of_it is None else any(said_of_it in one for one in found)


@pytest.mark.parametrize(("permille", "ok"), [(750, True), (751, False)])
def test_coupled_length_is_exact(permille: int, ok: bool) -> None:
    """Both wires part for a stretch of 1000 dbu."""
    bumps = [
        [(0, y), (1000, y), (1000, y + 300 * way), (2000, y + 300 * way), (2000, y), (5000, y)]
        for y, way in ((0, 1), (-400, -1))
    ]
    # 5600 dbu long; they face each other from 0 to 1100 and from 1900 to 5000.
    found = said(wires(*bumps), gap=200, coupled_permille=permille)
    assert (found == []) == ok
    assert ok or "run 4200 dbu at a gap of 200 dbu" in found[0]


def test_rules_decide_where_the_task_says_so() -> None:
    close = {"nets": [net("p", 0), net("n", -320)]}
    drawing = wires([(0, 0), (5000, 0)], [(0, -320), (5000, -320)])
    assert any("space 120" in one for one in said(drawing, intent=close))
    assert said(drawing, intent=close, rules=False) == []


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"intent": {"nets": [net("p", 0)]}}, "two nets or more with two terminals each"),
        ({"gap": 200}, "gap and coupled_permille are given together"),
        (
            {"gap": 9, "coupled_permille": 9, "intent": {"nets": [net(name, 900 * n) for n, name in enumerate("pno")]}},
            "for two nets",
        ),
        ({"intent": {"nets": [net("p", 0), net("n", 200)]}}, "regions of two terminals touch"),
        ({"intent": {**INTENT, "forbidden": [{"net_a": "p", "net_b": "n"}]}}, "forbidden is not taken"),
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckerError, match=message):
        oracle_of("matched_routes", {**PARAMS, **params})
