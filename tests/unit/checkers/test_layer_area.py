"""layer_area: the area that is really covered."""

from __future__ import annotations

import pytest
from iclayout_checkers.layouts import polygon_of_area
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.geometry.shapes import Orientation, Transform
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

MET1 = Layer(layer=68, datatype=20)


def covers(drawn: Sketch | Drawing, area: int) -> bool:
    """Whether exactly ``area`` dbu² are measured."""
    return judge(drawn, f"layer_area:layer=68/20,min_area={area},max_area={area}").ok


@pytest.mark.parametrize("area", [1, 2, 7, 83_000, 83_009, 10**9 + 7])
@pytest.mark.parametrize("width", [1, 3, 250])
def test_limits_are_inclusive(area: int, width: int) -> None:
    if area // width > 10**8:
        width = 40_000
    sketch = Sketch().polygon(MET1, polygon_of_area(area, width))
    assert judge(sketch, f"layer_area:layer=68/20,min_area={area}").ok
    assert judge(sketch, f"layer_area:layer=68/20,max_area={area}").ok
    assert not judge(sketch, f"layer_area:layer=68/20,min_area={area + 1}").ok
    assert area == 1 or not judge(sketch, f"layer_area:layer=68/20,max_area={area - 1}").ok


def test_overlap_counts_once() -> None:
    assert covers(Sketch().rect(MET1, 0, 0, 100, 100).rect(MET1, 50, 0, 150, 100), 15_000)


def test_hole_does_not_count() -> None:
    frame = Sketch().rect(MET1, 0, 0, 100, 10).rect(MET1, 0, 90, 100, 100)
    frame.rect(MET1, 0, 0, 10, 100).rect(MET1, 90, 0, 100, 100)
    assert covers(frame, 100 * 100 - 80 * 80)


def test_separate_shapes_add_up() -> None:
    assert covers(Sketch().rect(MET1, 0, 0, 10, 10).rect(MET1, 500, 500, 520, 510), 300)


def test_other_layers_do_not_count() -> None:
    poly = Layer(layer=66, datatype=20)
    assert covers(Sketch().rect(MET1, 0, 0, 10, 10).rect(poly, 0, 0, 500, 500), 100)
    assert not judge(Sketch().rect(poly, 0, 0, 500, 500), "layer_area:layer=68/20,max_area=250000").ok


def test_path_counts_as_what_it_covers() -> None:
    """With flat ends: the corner of the bend is covered once, the ends reach no farther than the points."""
    assert covers(Sketch().path(MET1, 20, [(0, 0), (100, 0), (100, 100)]), 110 * 20 + 90 * 20)


def test_path_with_square_ends_covers_these_too() -> None:
    points = tuple(cmd.Point(x=x, y=0) for x in (0, 100))
    path = cmd.AddPath(cell="top", layer=MET1, width=20, points=points, endcap="square")
    assert covers((*Sketch().drawing, path), 120 * 20)


def test_half_square_dbu_of_a_slanted_edge_decides() -> None:
    """KLayout rounds the area of this triangle, 4.5 dbu², to a whole number."""
    triangle = Sketch().polygon(MET1, [(0, 0), (3, 0), (0, 3)])
    assert judge(triangle, "layer_area:layer=68/20,min_area=4,max_area=5").ok
    assert not judge(triangle, "layer_area:layer=68/20,min_area=5").ok
    (finding,) = judge(triangle, "layer_area:layer=68/20,max_area=4").findings
    assert finding.message == "met1 (68/20) covers 4.5 dbu², at most 4 dbu² required"


@pytest.mark.parametrize("orientation", Orientation)
def test_turned_instances_count(orientation: Orientation) -> None:
    part = Sketch("part").polygon(MET1, [(0, 0), (100, 0), (100, 50), (30, 50), (30, 200), (0, 200)])
    place = cmd.PlaceInstance(cell="top", child="part", transform=Transform(orientation=orientation, dx=-900, dy=40))
    assert covers((*part.drawing, *Sketch().drawing, place), 100 * 50 + 30 * 150)


def test_magnified_instance_counts_at_its_size() -> None:
    part = Sketch("part").rect(MET1, 0, 0, 100, 100)
    place = cmd.PlaceInstance(cell="top", child="part", transform=Transform(mag_num=3, mag_den=2))
    assert covers((*part.drawing, *Sketch().drawing, place), 150 * 150)


def test_instances_that_overlap_count_once() -> None:
    part = Sketch("part").rect(MET1, 0, 0, 100, 100)
    assert covers(Sketch().include(part).place("part").place("part", 40, 0), 14_000)


def test_empty_layer_fails_where_only_a_largest_area_is_given() -> None:
    (finding,) = judge(Sketch(), "layer_area:layer=68/20,max_area=100").findings
    assert (finding.measured, finding.required, finding.place) == (0, 1, None)


def test_finding_names_layer_measured_required_and_place() -> None:
    (finding,) = judge(Sketch().rect(MET1, 5, 5, 15, 15), "layer_area:layer=68/20,min_area=101").findings
    assert finding.message == "met1 (68/20) covers 100 dbu², at least 101 dbu² required"
    assert (finding.layer, finding.measured, finding.required) == (MET1, 100, 101)
    assert str(finding.place) == "(5,5;15,15)"


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ("", "min_area, max_area or both are required"),
        (",min_area=3,max_area=2", "min_area 3 is more than max_area 2"),
        (",min_area=0", "min_area: input should be greater than or equal to 1"),
        (",min_area=1.5", "min_area: input should be a valid integer"),
        (",min_area=2000000000000000", "min_area: input should be less than or equal to"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params: str, said: str) -> None:
    with pytest.raises(CheckerError, match=said):
        oracle_of(f"layer_area:layer=68/20{params}")
