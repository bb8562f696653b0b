"""frozen_edit: where changes are allowed, and how the demands are measured."""

from __future__ import annotations

from typing import Any

import pytest
from judging import oracle_of

from pytest_iclayout.checking.gate import GateFailure, quick_check
from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

MET1, MET2, LABEL = Layer(layer=68, datatype=20), Layer(layer=69, datatype=20), Layer(layer=68, datatype=5)


def box(left: int, bottom: int, right: int, top: int) -> dict[str, Any]:
    return {"min": {"x": left, "y": bottom}, "max": {"x": right, "y": top}}


AREA = box(1000, -1000, 3000, 3000)
WIDER: dict[str, Any] = {"layers": "68/20", "area": AREA, "wire": "68/20", "at": "10/10", "width": 400}


def one_wire() -> Sketch:
    """Along x, 200 dbu wide, with a pin at each end."""
    return Sketch().rect(MET1, 0, 0, 4000, 200).label(LABEL, "w", 100, 100).label(LABEL, "w", 3900, 100)


def edit() -> Sketch:
    return Sketch(new=False)


def widened() -> Drawing:
    return edit().rect(MET1, 1000, 0, 3000, 400).drawing


def messages(done: Drawing, params: dict[str, Any] | None = None, start: Sketch | None = None) -> list[str]:
    oracle = oracle_of("frozen_edit", params or WIDER, start=(start or one_wire()).drawing, solution=widened())
    return [finding.message for finding in oracle.judge(oracle.build(done)).findings]


def test_wire_is_wide_where_it_may_change_and_not_beyond() -> None:
    assert messages(widened()) == []
    assert messages(()) == ["met1 (68/20): the wire is narrower than 400 dbu"]


@pytest.mark.parametrize(("right", "top", "ok"), [(3000, 400, True), (3000, 399, False), (2999, 400, False)])
def test_width_is_measured_everywhere_and_to_the_dbu(right: int, top: int, ok: bool) -> None:
    assert (messages(edit().rect(MET1, 1000, 0, right, top).drawing) == []) == ok


@pytest.mark.parametrize(("left", "ok"), [(1000, True), (999, False)])
def test_border_of_the_area_is_kept_to_the_dbu(left: int, ok: bool) -> None:
    found = messages(edit().rect(MET1, left, 0, 3000, 400).drawing)
    assert found == ([] if ok else ["met1 (68/20): changed where it must stay as it was given"])


def test_area_may_be_what_is_frozen() -> None:
    params = WIDER | {"where": "outside", "area": box(1000, -1000, 5000, 3000)}
    assert messages(edit().rect(MET1, 0, 0, 1000, 400).drawing, params) == []
    assert messages(edit().rect(MET1, 0, 0, 1001, 400).drawing, params) != []


def test_wire_that_moved_does_not_cover_what_it_covered() -> None:
    moved = (cmd.DeleteShapes(ids=(1,)), *edit().rect(MET1, 0, 0, 1000, 200).rect(MET1, 3000, 0, 4000, 200).drawing)
    around = (*moved, *edit().rect(MET1, 1000, 1, 3000, 401).drawing)
    assert messages(around) == ["met1 (68/20): the wire does not cover all that it covered"]


def test_nothing_of_a_cleared_layer_is_left_in_the_keep_out_and_it_may_touch_it() -> None:
    start = one_wire().rect(MET2, 1500, 1000, 2500, 2000)
    params = {"layers": "69/20", "area": AREA, "cleared": "69/20", "keep_out": box(1500, 1000, 2500, 2000)}
    gone: Drawing = (cmd.DeleteShapes(ids=(4,)),)
    assert messages(gone, params, start) == []
    assert messages((*gone, *edit().rect(MET2, 1000, 1000, 1500, 2000).drawing), params, start) == []
    beyond = messages((*gone, *edit().rect(MET2, 1000, 1000, 1501, 2000).drawing), params, start)
    assert beyond == ["met2 (69/20): nothing may be left within (1500,1000;2500,2000)"]


def test_pins_are_connected_as_the_task_says() -> None:
    start = one_wire().rect(MET1, 0, 1000, 4000, 1200).label(LABEL, "v", 100, 1100)
    params = {"layers": "68/20", "area": AREA, "nets": [["w", "v"]]}
    assert messages(edit().rect(MET1, 1000, 200, 1400, 1000).drawing, params, start) == []
    (message,) = messages((), params, start)
    assert message.startswith("pins that belong together are not connected: 'v' at (100, 1100), 'w' at (100, 100)")


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (WIDER | {"width": 200}, "the given layout is what is asked for"),
        (WIDER | {"at": "10/5000"}, "has no wire on layer 68/20 at the point"),
        ({"layers": "68/20", "area": AREA, "nets": [["w", "z"]]}, "do not have the same labels: z"),
    ],
)
def test_demand_that_the_given_layout_cannot_meet_or_meets_is_no_task(params: dict[str, Any], said: str) -> None:
    oracle = oracle_of("frozen_edit", params, start=one_wire().drawing, solution=widened())
    with pytest.raises(GateFailure) as failure:
        quick_check(oracle)
    assert said in failure.value.message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"wire": None}, "wire, at and width are given together"),
        ({"wire": None, "at": None, "width": None}, "nothing is asked for"),
        ({"layers": "69/20"}, "68/20 must change, but is not among layers"),
        ({"cleared": "68/20"}, "cleared and keep_out are given together"),
        ({"nets": [["a"], ["a"]]}, "nets has a text twice"),
        ({"area": box(0, 0, 0, 9)}, "has no area"),
    ],
)
def test_demands_that_are_not_whole_are_an_error(change: dict[str, Any], said: str) -> None:
    params = {key: value for key, value in (WIDER | change).items() if value is not None}
    with pytest.raises(CheckerError, match=said):
        oracle_of("frozen_edit", params)
