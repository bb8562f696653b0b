"""pcell_box: both squares exactly, wherever and through whatever cells they are drawn."""

from __future__ import annotations

import pytest
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.geometry.shapes import Orientation, Transform
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

LI1, MET1 = (Layer(layer=a, datatype=20) for a in (67, 68))
BOX = "pcell_box:outer=68/20,inner=67/20,width=400"
INNER = (20, 20, 380, 380)


def drawn(outer: tuple[int, int, int, int], inner: tuple[int, int, int, int]) -> Sketch:
    return Sketch().rect(MET1, *outer).rect(LI1, *inner)


def test_margin_is_twenty_dbu_unless_given() -> None:
    assert judge(drawn((0, 0, 400, 400), INNER), BOX).ok
    assert not judge(drawn((0, 0, 400, 400), INNER), f"{BOX},margin=21").ok
    assert judge(drawn((0, 0, 400, 400), (21, 21, 379, 379)), f"{BOX},margin=21").ok


@pytest.mark.parametrize("side", range(4))
@pytest.mark.parametrize("step", [-1, 1])
def test_each_side_of_each_square_is_exact(side: int, step: int) -> None:
    outer, inner = [0, 0, 400, 400], list(INNER)
    outer[side] += step
    assert not judge(drawn(tuple(outer), INNER), BOX).ok
    inner[side] += step
    assert not judge(drawn((0, 0, 400, 400), tuple(inner)), BOX).ok
    assert not judge(drawn(tuple(outer), tuple(inner)), BOX).ok


@pytest.mark.parametrize(("dx", "dy"), [(1, 0), (0, -1)])
def test_inner_square_off_the_middle_is_told_from_one_of_a_wrong_size(dx: int, dy: int) -> None:
    (finding,) = judge(drawn((0, 0, 400, 400), (20 + dx, 20 + dy, 380 + dx, 380 + dy)), BOX).findings
    assert "is not inset by 20 dbu on every side" in finding.message
    (finding,) = judge(drawn((0, 0, 400, 400), (20, 20, 380, 381)), BOX).findings
    assert finding.message == (
        "li1 (67/20): a rectangle of 360 x 361 dbu, exactly one square of 360 x 360 dbu required"
    )


@pytest.mark.parametrize("layer", [LI1, MET1])
def test_nothing_else_may_stand_on_the_two_layers(layer: Layer) -> None:
    sketch = drawn((0, 0, 400, 400), INNER)
    assert judge(sketch.rect(Layer(layer=69, datatype=20), 0, 0, 90, 90), BOX).ok
    assert "2 shape(s)" in judge(sketch.rect(layer, 400, 400, 500, 500), BOX).findings[0].message


@pytest.mark.parametrize("orientation", Orientation)
def test_instances_of_a_cell_count_wherever_they_stand(orientation: Orientation) -> None:
    part = Sketch("box").rect(MET1, 0, 0, 400, 400).rect(LI1, *INNER)
    place = cmd.PlaceInstance(cell="top", child="box", transform=Transform(orientation=orientation, dx=-777, dy=13))
    assert judge((*Sketch().include(part).drawing, place), BOX).ok


def test_squares_in_pieces_are_squares() -> None:
    sketch = (
        Sketch().rect(MET1, 0, 0, 150, 400).rect(MET1, 150, 0, 400, 400).rect(LI1, *INNER).rect(LI1, 30, 30, 90, 90)
    )
    assert judge(sketch, BOX).ok


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("outer=68/20,inner=68/20,width=400", "outer and inner are two different layers"),
        ("outer=68/20,inner=67/20,width=400,margin=200", "margin 200 leaves nothing of an outer square of 400 dbu"),
    ],
)
def test_impossible_parameters_are_refused(text: str, message: str) -> None:
    with pytest.raises(CheckerError, match=message):
        oracle_of(f"pcell_box:{text}")
