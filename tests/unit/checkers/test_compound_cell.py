"""compound_cell: placements that bring shapes, and how many shapes they bring."""

from __future__ import annotations

import pytest
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.geometry.shapes import Orientation
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

MET1, MET2 = Layer(layer=68, datatype=20), Layer(layer=69, datatype=20)
FOUR = "compound_cell:instances=4"


def part(shapes: int = 1, name: str = "part") -> Sketch:
    sketch = Sketch(name)
    for number in range(shapes):
        sketch.rect(MET1, 400 * number, 0, 400 * number + 300, 300)
    return sketch


@pytest.mark.parametrize(("count", "ok"), [(3, False), (4, True), (5, True)])
def test_members_of_arrays_count_as_instances_do(count: int, ok: bool) -> None:
    assert judge(Sketch().include(part()).array("part", count, 1, 500, 0), FOUR).ok == ok
    single = Sketch().include(part())
    for number in range(count):
        single.place("part", 500 * number)
    assert judge(single, FOUR).ok == ok


def test_instances_of_several_cells_add_up() -> None:
    sketch = Sketch().include(part()).include(part(2, "other")).array("part", 1, 3, 0, 900).place("other", 5000)
    assert judge(sketch, FOUR).ok
    (finding,) = judge(sketch, "compound_cell:instances=5").findings
    assert finding.message == "4 instance(s) of cells that hold shapes, at least 5 required"
    assert (finding.measured, finding.required) == (4, 5)


def test_levels_of_hierarchy_multiply_and_wrappers_do_not_count() -> None:
    pair = Sketch("pair").include(part()).place("part").place("part", 500)
    assert judge(Sketch().include(pair).place("pair").place("pair", 0, 900), FOUR).ok
    assert not judge(Sketch().include(pair).place("pair").place("pair", 0, 900), "compound_cell:instances=5").ok


def test_instances_on_one_place_are_one() -> None:
    sketch = Sketch().include(part())
    for _ in range(4):
        sketch.place("part", 7, 7)
    assert not judge(sketch, "compound_cell:instances=2").ok
    assert judge(sketch.place("part", 7, 7, Orientation.R90), "compound_cell:instances=2").ok
    # By different ways to one place.
    wrapped = Sketch().include(part()).include(Sketch("wrap").place("part", 5)).place("wrap", 2, 7).place("part", 7, 7)
    assert not judge(wrapped, "compound_cell:instances=2").ok


@pytest.mark.parametrize(
    "hollow", [Sketch("e"), Sketch("e").rect(MET1, 0, 0, 9, 0), Sketch("e").label(MET1, "A", 0, 0)]
)
def test_instances_of_hollow_cells_do_not_count(hollow: Sketch) -> None:
    sketch = Sketch().include(part()).array("part", 3, 1, 500, 0).include(hollow).place("e")
    assert not judge(sketch, FOUR).ok


def test_shapes_of_the_top_cell_are_no_instances_and_are_shapes() -> None:
    sketch = Sketch().include(part()).array("part", 2, 1, 500, 0).rect(MET2, 0, 0, 100, 100)
    assert not judge(sketch, "compound_cell:instances=3").ok
    assert judge(sketch, "compound_cell:instances=2,min_shapes=3").ok
    (finding,) = judge(sketch, "compound_cell:instances=2,min_shapes=4").findings
    assert finding.message == "3 shape(s), at least 4 required"


def test_shapes_count_for_each_instance_also_where_instances_abut() -> None:
    """A row of cells whose rails join: each still brings its own."""
    row = Sketch().include(part(5)).array("part", 4, 1, 1900, 0)
    assert judge(row, "compound_cell:instances=4,min_shapes=20").ok
    assert not judge(row, "compound_cell:instances=4,min_shapes=21").ok


def test_pieces_of_a_shape_in_one_cell_are_one() -> None:
    sketch = Sketch("part").rect(MET1, 0, 0, 100, 100).rect(MET1, 100, 0, 200, 100).rect(MET1, 50, 0, 150, 100)
    text = "compound_cell:instances=2,min_shapes={}"
    drawn = Sketch().include(sketch).array("part", 2, 1, 900, 0)
    assert judge(drawn, text.format(2)).ok
    assert not judge(drawn, text.format(3)).ok


def test_shapes_on_two_layers_are_two() -> None:
    sketch = Sketch("part").rect(MET1, 0, 0, 100, 100).rect(MET2, 0, 0, 100, 100)
    assert judge(Sketch().include(sketch).place("part"), "compound_cell:instances=1,min_shapes=2").ok


def test_cell_that_is_not_placed_does_not_count() -> None:
    assert not judge(Sketch().include(part()), "compound_cell:instances=1").ok


@pytest.mark.parametrize("params", ["instances=0", "instances=1001", "instances=1,min_shapes=0"])
def test_parameters_that_make_no_sense_are_refused(params: str) -> None:
    with pytest.raises(CheckerError, match="input should be"):
        oracle_of(f"compound_cell:{params}")
