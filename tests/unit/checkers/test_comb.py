"""comb: two nets whose fingers interleave, whatever their outline."""

from __future__ import annotations

import pytest
from iclayout_checkers.comb_layouts import Boxes, Combs
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

MET1, VIA, MET2 = (Layer(layer=a, datatype=b) for a, b in ((68, 20), (68, 44), (69, 20)))


def combs(left: int, right: int, reach: int = 300) -> Combs:
    return Combs(left, right, 100, 50, reach)


def judged(boxes: Boxes, fingers: int) -> Verdict:
    sketch = Sketch()
    for box in boxes:
        sketch.rect(MET1, box.left, box.bottom, box.right, box.top)
    return judge(sketch, f"comb:layer=68/20,fingers={fingers}")


@pytest.mark.parametrize(("left", "right"), [(3, 3), (3, 4), (4, 3)])
def test_number_of_fingers_is_a_least_one_of_either_comb(left: int, right: int) -> None:
    assert judged(combs(left, right).boxes, 3).ok
    (finding,) = judged(combs(left, right).boxes, 4).findings
    assert finding.message == "met1 (68/20): two nets that interleave with 3 finger(s) each, at least 4 required"
    assert (finding.measured, finding.required) == (3, 4)


@pytest.mark.parametrize(("reach", "ok"), [(-49, False), (0, False), (1, True), (300, True)])
def test_fingers_must_lie_beside_each_other(reach: int, ok: bool) -> None:
    """Up to 0 they end before the others begin, or on one line with them."""
    assert judged(combs(3, 3, reach).boxes, 3).ok == ok


def test_fingers_that_face_each_other_do_not_interleave() -> None:
    left = [(190, 50, 210, 350), (210, 60, 270, 100), (210, 140, 270, 180), (210, 220, 270, 260)]
    sketch = Sketch()
    for x0, y0, x1, y1 in left:
        sketch.rect(MET1, x0, y0, x1, y1).rect(MET1, 600 - x1, y0, 600 - x0, y1)
    assert not judge(sketch, "comb:layer=68/20,fingers=2").ok


@pytest.mark.parametrize("number", range(3))
def test_finger_that_is_cut_off_makes_a_third_net(number: int) -> None:
    pair = combs(3, 3)
    boxes = pair.with_finger(number, lambda box: [box.enlarged(-1, 0).moved(1, 0)])
    (finding,) = judged(boxes, 2).findings
    assert finding.message == "met1 (68/20): 3 net(s), exactly two required, one a comb"
    assert judged(pair.with_finger(number, lambda box: [box]), 3).ok


def test_one_net_is_no_pair_of_combs() -> None:
    (finding,) = judged(combs(3, 3).left, 2).findings
    assert (finding.measured, finding.required) == (1, 2)


def test_combs_that_meet_in_a_corner_are_connected() -> None:
    (finding,) = judged(combs(3, 3).meeting_in_a_corner, 3).findings
    assert finding.message == "met1 (68/20): the two combs are connected"


def test_combs_that_another_layer_joins_are_connected() -> None:
    boxes = combs(3, 3).boxes
    sketch = Sketch()
    for box in boxes:
        sketch.rect(MET1, box.left, box.bottom, box.right, box.top)
    right = boxes[4]
    sketch.rect(MET2, 0, 0, right.right, 100).rect(VIA, 0, 0, 100, 50)
    assert judge(sketch, "comb:layer=68/20,fingers=3").ok
    sketch.rect(MET2, right.left, 0, right.right, 400).rect(VIA, right.left, right.bottom, right.right, 400)
    assert not judge(sketch, "comb:layer=68/20,fingers=3").ok


def test_meanders_side_by_side_are_no_combs() -> None:
    assert not judged(combs(2, 2).meanders, 2).ok


def test_frame_around_a_comb_has_no_free_fingers_there() -> None:
    """The outer two fingers of the left comb are joined behind the right one."""
    assert judged(combs(4, 3).boxes, 3).ok
    assert not judged(combs(4, 3).framed, 3).ok
    assert judged(combs(4, 3).framed, 2).ok


def test_combs_of_slanted_fingers_interleave() -> None:
    """Saw teeth: each is a triangle on its spine; those of the one reach between those of the other."""
    sketch = Sketch().rect(MET1, -100, -100, 0, 1000).rect(MET1, 600, -100, 700, 1000)
    for y in range(0, 900, 300):
        sketch.polygon(MET1, [(0, y), (500, y + 49), (0, y + 100)])
        sketch.polygon(MET1, [(600, y + 150), (100, y + 199), (600, y + 250)])
    assert judge(sketch, "comb:layer=68/20,fingers=3").ok
    assert not judge(sketch, "comb:layer=68/20,fingers=4").ok


def test_combs_whose_fingers_bend_interleave() -> None:
    sketch = Sketch().rect(MET1, 0, 0, 100, 1200).rect(MET1, 2000, 0, 2100, 1200)
    for y in range(0, 1200, 400):
        sketch.path(MET1, 80, [(50, y + 50), (900, y + 50), (900, y + 150), (1800, y + 150)])
        sketch.path(MET1, 80, [(2050, y + 350), (900, y + 350), (900, y + 250), (300, y + 250)])
    assert judge(sketch, "comb:layer=68/20,fingers=3").ok


def test_third_shape_on_the_layer_belongs_to_no_comb() -> None:
    assert not judged([*combs(3, 3).boxes, combs(3, 3).finger(-2, 0, 100)], 3).ok


def test_shapes_on_other_layers_do_not_matter() -> None:
    sketch = Sketch().rect(MET2, 0, 0, 5000, 5000)
    for box in combs(3, 3).boxes:
        sketch.rect(MET1, box.left, box.bottom, box.right, box.top)
    assert judge(sketch, "comb:layer=68/20,fingers=3").ok


@pytest.mark.parametrize("fingers", [0, 1, 501])
def test_numbers_of_fingers_that_make_no_comb_are_refused(fingers: int) -> None:
    with pytest.raises(CheckerError, match="fingers: input should be"):
        oracle_of(f"comb:layer=68/20,fingers={fingers}")
