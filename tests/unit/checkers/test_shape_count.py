"""shape_count: what counts as one shape, and where its limits stand."""

from __future__ import annotations

import pytest
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.geometry.shapes import Orientation, Transform
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

MET1 = Layer(layer=68, datatype=20)
MET2 = Layer(layer=69, datatype=20)


def squares(count: int, side: int = 200) -> Sketch:
    sketch = Sketch()
    for number in range(count):
        sketch.rect(MET1, 1000 * number, 0, 1000 * number + side, side)
    return sketch


def turned(sketch: Sketch, orientation: Orientation) -> Drawing:
    """The sketch in a cell that ``top`` places turned."""
    child = tuple(
        command.model_copy(update={"name" if command.op == "create_cell" else "cell": "part"})
        for command in sketch.drawing
    )
    place = cmd.PlaceInstance(cell="top", child="part", transform=Transform(orientation=orientation, dx=77, dy=-5))
    return (*child, *Sketch().drawing, place)


@pytest.mark.parametrize(
    ("params", "accepted"),
    [
        ("exact=3", [3]),
        ("min=3", [3, 4, 5]),
        ("max=3", [1, 2, 3]),
        ("min=2,max=4", [2, 3, 4]),
        ("min=3,max=3", [3]),
    ],
)
def test_limits_are_inclusive_and_an_empty_layer_never_passes(params: str, accepted: list[int]) -> None:
    passed = [count for count in range(6) if judge(squares(count), f"shape_count:layer=68/20,{params}").ok]
    assert passed == accepted


@pytest.mark.parametrize(
    ("second", "count"),
    [
        pytest.param((200, 0, 400, 200), 1, id="abutting"),
        pytest.param((200, 199, 400, 400), 1, id="abutting along one dbu"),
        pytest.param((199, 199, 400, 400), 1, id="overlapping by one square dbu"),
        pytest.param((50, 50, 100, 100), 1, id="inside"),
        pytest.param((0, 0, 200, 200), 1, id="twice"),
        pytest.param((200, 200, 400, 400), 2, id="corner only"),
        pytest.param((201, 0, 400, 200), 2, id="one dbu apart"),
        pytest.param((500, 0, 500, 200), 1, id="second without area"),
    ],
)
def test_count_is_of_merged_shapes(second: tuple[int, int, int, int], count: int) -> None:
    sketch = squares(1).rect(MET1, *second)
    assert judge(sketch, f"shape_count:layer=68/20,exact={count}").ok
    assert not judge(sketch, f"shape_count:layer=68/20,exact={3 - count}").ok


def test_corner_contact_counts_two_even_where_a_path_makes_it() -> None:
    sketch = squares(1).path(MET1, 100, [(200, 250), (600, 250)])
    assert judge(sketch, "shape_count:layer=68/20,exact=2").ok


@pytest.mark.parametrize("second", [(200, 200, 400, 400), (200, -200, 400, 0)], ids=["above", "below"])
def test_shapes_that_touch_in_a_corner_are_measured_one_by_one(second: tuple[int, int, int, int]) -> None:
    """Joined at the corner they would be one shape that is no rectangle."""
    sketch = squares(1).rect(MET1, *second)
    assert judge(sketch, "shape_count:layer=68/20,exact=2,width=200,height=200").ok
    assert not judge(sketch, "shape_count:layer=68/20,exact=2,width=200,height=201").ok


def test_shapes_of_instances_count_each_time_they_are_placed() -> None:
    sketch = (
        Sketch().include(Sketch("part").rect(MET1, 0, 0, 200, 200)).place("part").place("part", 300).place("part", 600)
    )
    assert judge(sketch, "shape_count:layer=68/20,exact=3").ok


def test_other_layers_do_not_count() -> None:
    assert not judge(squares(1).rect(MET2, 5000, 0, 5200, 200), "shape_count:layer=68/20,exact=2").ok


def test_size_is_exact_and_not_turned() -> None:
    params = "shape_count:layer=68/20,exact=1,width=300,height=200"
    assert judge(Sketch().rect(MET1, 7, 7, 307, 207), params).ok
    for width, height in ((299, 200), (301, 200), (300, 199), (300, 201), (200, 300)):
        verdict = judge(Sketch().rect(MET1, 0, 0, width, height), params)
        assert not verdict.ok
        assert f"{width} x {height} dbu" in verdict.findings[0].message


@pytest.mark.parametrize("orientation", Orientation)
def test_size_holds_for_the_placed_shape(orientation: Orientation) -> None:
    """A quarter turn of the cell makes another size of it, a half turn does not."""
    drawing = turned(Sketch().rect(MET1, 0, 0, 300, 200), orientation)
    verdict = judge(drawing, "shape_count:layer=68/20,exact=1,width=300,height=200")
    assert verdict.ok == (orientation.quarter_turns % 2 == 0)


def test_size_is_that_of_the_merged_shape() -> None:
    halves = Sketch().rect(MET1, 0, 0, 150, 200).rect(MET1, 150, 0, 300, 200)
    assert judge(halves, "shape_count:layer=68/20,exact=1,width=300,height=200").ok


def test_every_shape_of_the_wrong_size_is_found() -> None:
    sketch = Sketch().rect(MET1, 0, 0, 300, 200).rect(MET1, 1000, 0, 1299, 200).rect(MET1, 2000, 0, 2300, 201)
    found = judge(sketch, "shape_count:layer=68/20,exact=3,width=300,height=200").findings
    assert [str(one.place) for one in found] == ["(1000,0;1299,200)", "(2000,0;2300,201)"]


def test_shape_with_the_right_bounding_box_is_not_of_the_size() -> None:
    triangle = Sketch().polygon(MET1, [(0, 0), (300, 0), (0, 200)])
    verdict = judge(triangle, "shape_count:layer=68/20,exact=1,width=300,height=200")
    assert "no rectangle of 300 x 200" in verdict.summary()


def test_finding_names_layer_measured_required_and_place() -> None:
    (finding,) = judge(squares(2), "shape_count:layer=68/20,min=3").findings
    assert finding.message == "met1 (68/20): 2 shape(s), at least 3 required"
    assert (finding.layer, finding.measured, finding.required) == (MET1, 2, 3)
    assert str(finding.place) == "(0,0;1200,200)"
    (finding,) = judge(Sketch(), "shape_count:layer=68/20,exact=3").findings
    assert finding.message.endswith("0 shape(s), exactly 3 required")
    assert finding.place is None


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ("", "one of exact, min, max is required"),
        (",exact=2,min=1", "exact excludes min and max"),
        (",min=3,max=2", "min 3 is more than max 2"),
        (",exact=0", "exact: input should be greater than or equal to 1"),
        (",exact=1,width=5", "width and height are given together"),
        (",exact=1,fingers=2", "fingers: unknown key"),
        (",exact=true", "exact: input should be a valid integer"),
    ],
)
def test_parameters_that_contradict_each_other_are_refused(params: str, said: str) -> None:
    with pytest.raises(CheckerError, match=said):
        oracle_of(f"shape_count:layer=68/20{params}")
