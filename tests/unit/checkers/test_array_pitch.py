"""array_pitch: placements by their total transformations, however they were drawn."""

from __future__ import annotations

import pytest
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.geometry.shapes import Orientation, Transform
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

MET1 = Layer(layer=68, datatype=20)
ROW = "array_pitch:instances=4,col_pitch=800"
COLUMN = "array_pitch:instances=3,row_pitch=700"
GRID = "array_pitch:instances=6,col_pitch=800,row_pitch=600"


def part(name: str = "part") -> Sketch:
    return Sketch(name).rect(MET1, 0, 0, 300, 300)


def placed(places: list[tuple[int, int]], cell: str = "top") -> Sketch:
    sketch = Sketch(cell).include(part())
    for place in places:
        sketch.place("part", *place)
    return sketch


def array(columns: int, rows: int, column_pitch: int, row_pitch: int) -> Sketch:
    return Sketch().include(part()).array("part", columns, rows, column_pitch, row_pitch)


@pytest.mark.parametrize(("pitch", "ok"), [(799, False), (800, True), (801, False)])
def test_pitch_is_exact(pitch: int, ok: bool) -> None:
    assert judge(array(4, 1, pitch, 0), ROW).ok == ok
    assert judge(placed([(pitch * n, 40) for n in range(4)]), ROW).ok == ok


@pytest.mark.parametrize(("count", "ok"), [(3, False), (4, True), (5, False)])
def test_number_of_instances_is_exact(count: int, ok: bool) -> None:
    assert judge(array(count, 1, 800, 0), ROW).ok == ok


def test_array_may_run_to_the_left_and_in_any_order() -> None:
    assert judge(array(4, 1, -800, 0), ROW).ok
    assert judge(placed([(800, 0), (-800, 0), (1600, 0), (0, 0)]), ROW).ok


def test_columns_go_along_x_and_rows_along_y() -> None:
    assert judge(array(1, 3, 0, 700), COLUMN).ok
    assert not judge(array(3, 1, 700, 0), COLUMN).ok
    turned = Sketch().include(part()).array("part", 3, 1, 700, 0, Orientation.R90)
    assert judge(turned, COLUMN).ok


@pytest.mark.parametrize(("columns", "rows", "ok"), [(3, 2, True), (2, 3, True), (6, 1, False), (1, 6, False)])
def test_grid_shows_both_pitches(columns: int, rows: int, ok: bool) -> None:
    assert judge(array(columns, rows, 800, 600), GRID).ok == ok


def test_arrays_and_single_instances_may_make_up_one_grid() -> None:
    sketch = Sketch().include(part()).array("part", 3, 1, 800, 0)
    for x in (0, 800, 1600):
        sketch.place("part", x, 600)
    assert judge(sketch, GRID).ok
    assert not judge(sketch.place("part", 2400, 600), GRID).ok


def test_grid_with_a_gap_is_not_full() -> None:
    places = [(0, 0), (800, 0), (1600, 0), (0, 600), (800, 600), (2400, 600)]
    (finding,) = judge(placed(places), GRID).findings
    assert finding.message == (
        "exactly 6 instances of one cell required, column pitch 800 dbu, row pitch 600 dbu; "
        "part is not in such a grid 6 time(s)"
    )


def test_one_pitch_asks_for_a_single_row() -> None:
    assert not judge(array(2, 2, 800, 500), ROW).ok


def test_nested_placements_count_where_they_stand() -> None:
    inner = placed([(0, 0), (800, 0)], "pair")
    assert judge(Sketch().include(inner).place("pair", 5, 7).place("pair", 1605, 7), ROW).ok
    assert not judge(Sketch().include(inner).place("pair", 5, 7).place("pair", 1605, 8), ROW).ok
    # Turned half around, with the pair's second member to the left of the first.
    assert not judge(Sketch().include(inner).place("pair").place("pair", 2400, 0, Orientation.R180), ROW).ok


def test_magnified_parent_spreads_its_instances() -> None:
    inner = placed([(0, 0), (400, 0), (800, 0), (1200, 0)], "row")
    twice = cmd.PlaceInstance(cell="top", child="row", transform=Transform(mag_num=2))
    drawn: Drawing = (*inner.drawing, *Sketch().drawing, twice)
    assert judge(drawn, ROW).ok
    assert not judge(drawn, "array_pitch:instances=4,col_pitch=400").ok


def test_fractions_of_a_dbu_are_no_whole_pitch() -> None:
    """Magnified by 3/2, a pitch of 533 dbu is 799.5."""
    inner = placed([(533 * n, 0) for n in range(4)], "row")
    drawn = (
        *inner.drawing,
        *Sketch().drawing,
        cmd.PlaceInstance(cell="top", child="row", transform=Transform(mag_num=3, mag_den=2)),
    )
    assert not judge(drawn, ROW).ok
    assert not judge(drawn, "array_pitch:instances=4,col_pitch=799").ok


@pytest.mark.parametrize("orientation", [one for one in Orientation if one is not Orientation.R0])
def test_members_of_an_array_are_all_alike(orientation: Orientation) -> None:
    sketch = placed([(0, 0), (800, 0), (1600, 0)])
    assert not judge(sketch.place("part", 2400, 0, orientation), ROW).ok


def test_two_on_one_place_are_one_too_many() -> None:
    assert not judge(placed([(800 * n, 0) for n in (0, 1, 2, 3, 3)]), ROW).ok
    assert not judge(placed([(800 * n, 0) for n in (0, 1, 2, 2)]), ROW).ok


def test_cell_must_hold_a_shape_itself_or_below() -> None:
    empty = Sketch("part").rect(MET1, 0, 0, 300, 0)
    (finding,) = judge(Sketch().include(empty).array("part", 4, 1, 800, 0), ROW).findings
    assert finding.message.endswith("; no cell that holds a shape is placed")
    holder = Sketch("holder").include(part()).place("part").place("part", 0, 500)
    assert judge(Sketch().include(holder).array("holder", 4, 1, 800, 0), ROW).ok


def test_other_cells_may_be_placed_beside_the_array() -> None:
    sketch = array(4, 1, 800, 0).include(part("other")).place("other", 37, 5000)
    assert judge(sketch, ROW).ok


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ("instances=4", "col_pitch, row_pitch or both are required"),
        ("instances=5,col_pitch=1,row_pitch=1", "instances 5 make no grid of at least two columns and two rows"),
        ("instances=1,col_pitch=1", "instances: input should be greater than or equal to 2"),
        ("instances=4,col_pitch=0", "col_pitch: input should be greater than or equal to 1"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params: str, said: str) -> None:
    with pytest.raises(CheckerError, match=said):
        oracle_of(f"array_pitch:{params}")
