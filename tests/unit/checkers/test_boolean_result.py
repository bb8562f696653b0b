"""boolean_result: the result's true area, and inputs that are gone."""

from __future__ import annotations

import pytest
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

MET1, MET2 = Layer(layer=68, datatype=20), Layer(layer=69, datatype=20)
DIFFERENCE = "boolean_result:layer=69/20,min_area=59000,max_area=61000,cleared=68/20"


@pytest.mark.parametrize(("height", "ok"), [(589, False), (590, True), (610, True), (611, False)])
def test_limits_are_inclusive(height: int, ok: bool) -> None:
    assert judge(Sketch().rect(MET2, 0, 0, 100, height), DIFFERENCE).ok == ok


def test_one_dbu_of_an_input_is_a_finding_of_its_own() -> None:
    (finding,) = judge(Sketch().rect(MET2, 0, 0, 100, 600).rect(MET1, 7, 7, 8, 8), DIFFERENCE).findings
    assert finding.message == "met1 (68/20) still holds 1 shape(s): the inputs must be consumed"
    assert (finding.rule, finding.measured, str(finding.place)) == ("boolean_result", 1, "(7,7;8,8)")


def test_input_without_area_is_no_input() -> None:
    assert judge(Sketch().rect(MET2, 0, 0, 100, 600).rect(MET1, 0, 0, 100, 0), DIFFERENCE).ok


def test_inputs_may_stay_where_no_layer_is_to_be_cleared() -> None:
    sketch = Sketch().rect(MET2, 0, 0, 100, 600).rect(MET1, 0, 0, 100, 600)
    assert judge(sketch, "boolean_result:layer=69/20,min_area=59000,max_area=61000").ok
    assert not judge(sketch, DIFFERENCE).ok


def test_result_that_overlaps_itself_counts_once() -> None:
    assert judge(Sketch().rect(MET2, 0, 0, 100, 400).rect(MET2, 0, 200, 100, 600), DIFFERENCE).ok


def test_ring_that_a_difference_leaves_is_judged_without_its_hole() -> None:
    ring = Sketch().rect(MET2, 0, 0, 400, 100).rect(MET2, 0, 100, 100, 200).rect(MET2, 300, 100, 400, 200)
    assert judge(ring, "boolean_result:layer=69/20,min_area=60000,max_area=60000").ok
    ring.rect(MET2, 0, 200, 400, 300)
    assert judge(ring, "boolean_result:layer=69/20,min_area=100000,max_area=100000").ok


def test_empty_result_is_never_right() -> None:
    (finding,) = judge(Sketch(), "boolean_result:layer=69/20,max_area=100,cleared=68/20").findings
    assert finding.message == "met2 (69/20) covers 0 dbu², at least 1 dbu² required"


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (",min_area=1,cleared=69/20", "cleared: 69/20 is the layer of the result"),
        (",cleared=68/20", "min_area, max_area or both are required"),
        (",min_area=2,max_area=1", "min_area 2 is more than max_area 1"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params: str, said: str) -> None:
    with pytest.raises(CheckerError, match=said):
        oracle_of(f"boolean_result:layer=69/20{params}")
