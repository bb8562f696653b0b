"""same_geometry: what counts as a shape, as a placement, and as the same geometry."""

from __future__ import annotations

import pytest
from judging import oracle_of

from pytest_iclayout.checking.gate import GateFailure, quick_check
from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.geometry.shapes import Orientation
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

MET1, MET2, LABEL = Layer(layer=68, datatype=20), Layer(layer=69, datatype=20), Layer(layer=68, datatype=5)
CLEAR = (cmd.DeleteShapes(ids=(1, 2)),)


def two_squares() -> Sketch:
    return Sketch().rect(MET1, 0, 0, 400, 400).rect(MET1, 1000, 0, 1400, 400)


def edit(cell: str = "top") -> Sketch:
    return Sketch(cell, new=False)


def unit(cell: str = "unit") -> Sketch:
    return Sketch(cell).rect(MET1, 0, 0, 400, 400)


def as_array() -> Drawing:
    return (*CLEAR, *edit().include(unit()).array("unit", 2, 1, 1000, 0).drawing)


def messages(done: Drawing, params: str, start: Sketch | None = None) -> list[str]:
    oracle = oracle_of(f"same_geometry:{params}", start=(start or two_squares()).drawing, solution=as_array())
    return [finding.message for finding in oracle.judge(oracle.build(done)).findings]


def test_array_and_single_instances_place_the_same_cell() -> None:
    singles = (*CLEAR, *edit().include(unit()).place("unit").place("unit", 1000).drawing)
    for done in (as_array(), singles):
        assert messages(done, "max_shapes=1,cell=unit,count=2,min_depth=1,not_in_top=68/20") == []
    assert messages(singles, "max_instances=1") == ["2 instance(s) and array(s), at most 1 allowed"]
    assert messages(as_array(), "max_instances=1") == []


def test_placements_multiply_through_the_levels() -> None:
    row = Sketch("row").place("unit").place("unit", 1000)
    nested = (*CLEAR, *edit().include(unit()).include(row).place("row").drawing)
    assert messages(nested, "cell=unit,count=2,min_depth=2") == []
    (message,) = messages(nested, "cell=row,count=2")
    assert message == "cell row is placed 1 time(s), exactly 2 required"


def test_polygon_whose_parts_hang_together_by_a_line_counts_by_its_parts() -> None:
    bridged = [(0, 0), (400, 0), (1400, 0), (1400, 400), (1000, 400), (1000, 0), (400, 0), (400, 400), (0, 400)]
    one = (*CLEAR, *edit().include(Sketch("all").polygon(MET1, bridged)).place("all").drawing)
    assert messages(one, "max_shapes=1") == ["2 shape(s) drawn, at most 1 allowed"]
    assert messages(one, "max_shapes=2,min_depth=1") == []


def test_cell_that_is_laid_over_what_is_drawn_is_no_placement() -> None:
    over = edit().include(unit()).place("unit").place("unit", 1000).drawing
    (message,) = messages(over, "cell=unit,count=2")
    assert message == "0 placement(s) of cell unit draw what nothing else draws, exactly 2 required"


def test_two_placements_of_which_one_lies_on_the_other_draw_as_one() -> None:
    twice = (*CLEAR, *edit().include(unit()).place("unit").place("unit").rect(MET1, 1000, 0, 1400, 400).drawing)
    (message,) = messages(twice, "cell=unit,count=2")
    assert message.startswith("1 placement(s) of cell unit draw")


def test_turned_copy_of_a_symmetrical_cell_is_as_good() -> None:
    turned = (*CLEAR, *edit().include(unit()).place("unit").place("unit", 1400, 400, Orientation.R180).drawing)
    assert messages(turned, "cell=unit,count=2") == []


def test_label_that_moved_into_the_cell_is_where_it_was() -> None:
    start = two_squares().label(LABEL, "a", 100, 100)
    moved = (
        *CLEAR,
        cmd.DeleteShapes(ids=(3,)),
        *edit().include(unit().label(LABEL, "a", 100, 100)).place("unit").drawing,
    )
    right = (*moved, *edit().rect(MET1, 1000, 0, 1400, 400).drawing)
    assert messages(right, "cell=unit,count=1", start) == []
    doubled = (*moved, *edit().place("unit", 1000).drawing)
    assert messages(doubled, "cell=unit,count=2", start) == ["met1_label (68/5): label 'a' was not given there"]


def test_cells_that_draw_nothing_or_stand_nowhere_are_errors() -> None:
    lost = (*as_array(), *unit("lost").drawing, cmd.CreateCell(name="void"))
    assert set(messages(lost, "max_shapes=1")) == {
        "cell lost is not placed in top",
        "cell void is not placed in top",
    }
    void = (*as_array(), cmd.CreateCell(name="void"), *edit().place("void").drawing)
    assert messages(void, "max_shapes=1") == ["cell void is empty"]


def test_given_layout_that_is_as_asked_for_is_no_task() -> None:
    oracle = oracle_of("same_geometry:max_shapes=2", start=two_squares().drawing, solution=as_array())
    with pytest.raises(GateFailure, match="the hierarchy of the given layout is what is asked for"):
        quick_check(oracle)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ("cell=unit", "cell and count are given together"),
        ("min_depth=2,max_depth=1", "max_depth 1 is less than the 2"),
        ("cell=unit,count=1,max_depth=0", "max_depth 0 is less than the 1"),
        ("not_in_top=68/20,max_depth=0", "max_depth 0 is less than the 1"),
        ("min_depth=0", "nothing is asked for"),
    ],
)
def test_demands_that_contradict_are_an_error(params: str, said: str) -> None:
    with pytest.raises(CheckerError, match=said):
        oracle_of(f"same_geometry:{params}")
