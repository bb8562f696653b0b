"""labels: which wire a label is on, and what is a pin of it."""

from __future__ import annotations

from typing import Any

import pytest
from judging import oracle_of

from pytest_iclayout.checking.gate import GateFailure, quick_check
from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

MET1, VIA, MET2 = Layer(layer=68, datatype=20), Layer(layer=68, datatype=44), Layer(layer=69, datatype=20)
LABEL, PIN = Layer(layer=68, datatype=5), Layer(layer=68, datatype=16)


def net(text: str, at: str, **more: str) -> dict[str, Any]:
    return {"text": text, "layer": "68/5", "wire": "68/20", "at": at, **more}


def two_wires() -> Sketch:
    return Sketch().rect(MET1, 0, 0, 1000, 200).rect(MET1, 0, 500, 1000, 700)


def edit() -> Sketch:
    return Sketch(new=False)


def messages(done: Sketch, *nets: dict[str, Any], start: Sketch | None = None, min_pin: int = 1) -> list[str]:
    params = {"nets": list(nets), "min_pin": min_pin}
    oracle = oracle_of("labels", params, start=(start or two_wires()).drawing, solution=done.drawing)
    return [finding.message for finding in oracle.judge(oracle.build(done.drawing)).findings]


@pytest.mark.parametrize(("y", "ok"), [(0, True), (200, True), (201, False), (600, False)])
def test_outline_of_a_wire_belongs_to_it(y: int, ok: bool) -> None:
    assert (messages(edit().label(LABEL, "a", 500, y), net("a", "10/10")) == []) == ok


def test_wire_is_known_by_a_point_of_its_net_on_another_layer() -> None:
    start = two_wires().rect(VIA, 800, 25, 950, 175).rect(MET2, 700, 0, 1000, 5000)
    far = net("a", "900/4900", on="69/20")
    assert messages(edit().label(LABEL, "a", 10, 10), far, start=start) == []
    (here, there) = messages(edit().label(LABEL, "a", 10, 600), far, start=start)
    assert here == "met1_label (68/5): label 'a' names none of the wires"
    assert there.endswith("0 label(s) 'a' on the met1 (68/20) of the net at (900, 4900), exactly 1 required")


def test_label_in_a_corner_that_two_wires_share_names_neither() -> None:
    start = two_wires().rect(MET1, 1000, 200, 1400, 400)
    corner = messages(edit().label(LABEL, "a", 1000, 200), net("a", "10/10"), start=start)
    assert "met1_label (68/5): label 'a' names none of the wires" in corner


def test_net_that_a_corner_alone_holds_together_is_labelled_by_its_parts() -> None:
    """A point on the one part; the label on the other part is on the net by one reading only."""
    start = two_wires().rect(MET1, 1000, 200, 1400, 400)
    assert messages(edit().label(LABEL, "a", 10, 10), net("a", "10/10"), start=start) == []
    assert messages(edit().label(LABEL, "a", 1300, 300), net("a", "10/10"), start=start) != []


def test_label_of_the_same_text_on_another_net_is_counted_for_that_one() -> None:
    both = edit().label(LABEL, "a", 10, 10).label(LABEL, "a", 10, 600)
    assert messages(both, net("a", "10/10"), net("a", "10/600")) == []
    assert messages(both, net("a", "10/10")) == ["met1_label (68/5): label 'a' names none of the wires"]


def test_pin_of_two_pieces_that_abut_is_one() -> None:
    done = edit().label(LABEL, "a", 100, 100).rect(PIN, 0, 0, 100, 200).rect(PIN, 100, 0, 200, 200)
    assert messages(done, net("a", "10/10", pin="68/16"), min_pin=200) == []
    small = messages(done, net("a", "10/10", pin="68/16"), min_pin=201)
    assert small == ["met1_pin (68/16): a pin must be a rectangle of at least 201 x 201 dbu"]


@pytest.mark.parametrize(("left", "ok"), [(100, True), (101, False)])
def test_label_may_stand_on_the_outline_of_its_pin(left: int, ok: bool) -> None:
    done = edit().label(LABEL, "a", 100, 100).rect(PIN, left, 0, 300, 200)
    assert (messages(done, net("a", "10/10", pin="68/16")) == []) == ok


def test_given_pin_and_label_stay_and_are_none_of_the_new_ones() -> None:
    start = two_wires().label(LABEL, "old", 10, 600).rect(PIN, 0, 500, 200, 700)
    done = edit().label(LABEL, "a", 100, 100).rect(PIN, 0, 0, 200, 200)
    assert messages(done, net("a", "10/10", pin="68/16"), start=start) == []
    (message,) = messages(done, net("a", "10/10", pin="68/16"), net("b", "10/600"), start=start)
    assert message.startswith("met1_label (68/5): 0 label(s) 'b'")


@pytest.mark.parametrize(
    ("nets", "said"),
    [
        ([net("a", "10/300")], "at (10, 300) are 0 nets of layer 68/20, not one"),
        ([net("a", "10/10"), net("a", "20/20")], "label 'a' is asked for 2 times on one net"),
        ([net("a", "10/4000", on="69/20")], "the net at (10, 4000) has no shape on layer 68/20"),
    ],
)
def test_net_that_is_not_there_or_twice_is_no_task(nets: list[dict[str, Any]], said: str) -> None:
    start: Drawing = two_wires().rect(MET2, 0, 4000, 400, 4400).drawing
    oracle = oracle_of("labels", {"nets": nets}, start=start, solution=edit().label(LABEL, "a", 10, 10).drawing)
    with pytest.raises(GateFailure) as failure:
        quick_check(oracle)
    assert said in failure.value.message


@pytest.mark.parametrize(
    ("nets", "said"),
    [
        (
            [net("a", "1/1"), net("b", "2/2") | {"wire": "69/20"}],
            "label layer 68/5 goes with wires on 68/20 and on 69/20",
        ),
        ([net("a", "1/1", pin="68/20")], "pin layer 68/20 is the layer of labels or wires, too"),
    ],
)
def test_layers_of_two_meanings_are_an_error(nets: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(CheckerError, match=said):
        oracle_of("labels", {"nets": nets})
