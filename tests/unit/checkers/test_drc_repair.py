"""drc_repair: nets by both readings of a corner, the frame, and given layouts that could not be judged."""

from __future__ import annotations

import pytest
from judging import oracle_of

from pytest_iclayout.checking.gate import GateFailure, GateSettings, check_rejects, quick_check
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

MET1, MET2, LABEL = Layer(layer=68, datatype=20), Layer(layer=69, datatype=20), Layer(layer=68, datatype=5)


def two_wires() -> Sketch:
    """Net A below net B, 100 dbu apart; ids 1 and 2, then the labels."""
    wires = Sketch().rect(MET1, 0, 0, 4000, 200).rect(MET1, 0, 300, 4000, 500)
    wires.label(LABEL, "A", 100, 100).label(LABEL, "A", 3900, 100)
    return wires.label(LABEL, "B", 100, 400).label(LABEL, "B", 3900, 400)


def edit() -> Sketch:
    return Sketch(new=False)


def narrowed() -> Drawing:
    return (cmd.DeleteShapes(ids=(2,)), *edit().rect(MET1, 0, 340, 4000, 500).drawing)


def messages(done: Drawing, params: str = "layers=68/20", start: Sketch | None = None) -> list[str]:
    oracle = oracle_of(f"drc_repair:{params}", start=(start or two_wires()).drawing, solution=narrowed())
    return [finding.message for finding in oracle.judge(oracle.build(done)).findings]


def test_repair_is_accepted_and_the_given_layout_is_not() -> None:
    assert messages(narrowed()) == []
    assert messages(()) == ["met1 (68/20): space 100 dbu, at least 140 dbu required"]


def test_emptied_layout_is_rejected_and_no_crash_of_the_checker() -> None:
    """A crash is an error, which no score counts: an agent could turn a failure into none."""
    wires = (cmd.DeleteShapes(ids=(1, 2)),)
    assert any("pin 'A'" in one for one in messages(wires))
    everything = (cmd.DeleteShapes(ids=(1, 2, 3, 4, 5, 6)),)
    assert messages(everything)


def test_wire_that_is_cut_is_open_though_its_pins_are_covered() -> None:
    halves = edit().rect(MET1, 0, 340, 1500, 500).rect(MET1, 2000, 340, 4000, 500)
    (message,) = messages((cmd.DeleteShapes(ids=(2,)), *halves.drawing))
    assert message == "pins that belong together are not connected: 'B' at (100, 400), 'B' at (3900, 400)"


def test_pin_on_the_outline_of_its_wire_is_covered_and_one_beyond_is_not() -> None:
    def lowered(top: int) -> Drawing:
        return (cmd.DeleteShapes(ids=(1,)), *edit().rect(MET1, 0, -100, 4000, top).drawing)

    assert messages(lowered(100), "layers=68/20,margin=100") == []
    beyond = messages(lowered(99), "layers=68/20,margin=100")
    assert [one for one in beyond if one.startswith("pin")] == [
        f"pin 'A' at ({x}, 100) is on no shape of met1 (68/20)" for x in (100, 3900)
    ]


def test_corner_contact_neither_connects_nor_keeps_apart() -> None:
    stairs = edit().rect(MET1, 0, 340, 2000, 500).rect(MET1, 2000, 500, 4000, 800).rect(MET1, 3800, 340, 4000, 600)
    found = messages((cmd.DeleteShapes(ids=(2,)), *stairs.drawing), "layers=68/20,margin=300")
    assert "pins that belong together are not connected: 'B' at (100, 400), 'B' at (3900, 400)" in found
    touching = edit().rect(MET1, 4000, 200, 4300, 300)
    assert "pins that must be apart are connected: 'A' at (100, 100), 'B' at (100, 400)" in messages(
        touching.drawing, "layers=68/20,margin=1000"
    )


@pytest.mark.parametrize(("beyond", "ok"), [(10, True), (11, False)])
def test_margin_is_inclusive(beyond: int, ok: bool) -> None:
    longer = (*narrowed(), *edit().rect(MET1, 3900, 340, 4000 + beyond, 500).drawing)
    assert (messages(longer, "layers=68/20,margin=10") == []) == ok


def test_shape_without_area_changes_no_layer() -> None:
    assert messages((*narrowed(), *edit().rect(MET2, 0, 0, 4000, 0).drawing)) == []
    first, *_ = messages((*narrowed(), *edit().rect(MET2, 0, 0, 1, 1).drawing))
    assert first == "met2 (69/20): changed where it must stay as it was given"


def test_pins_of_one_net_on_two_layers_are_held_together_by_their_cut() -> None:
    via, met2_label = Layer(layer=68, datatype=44), Layer(layer=69, datatype=5)
    start = (
        two_wires().rect(via, 1000, 50, 1150, 200).rect(MET2, 900, -50, 1250, 2000).label(met2_label, "A2", 1000, 1900)
    )
    assert messages(narrowed(), start=start) == []
    without = (*narrowed(), cmd.DeleteShapes(ids=(7,)))
    assert any("'A2' at (1000, 1900)" in message for message in messages(without, "layers=68/20+68/44", start))


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (Sketch().rect(MET1, 0, 0, 400, 400).label(LABEL, "A", 9, 9), "breaks no rule"),
        (two_wires().rect(MET1, 5000, 0, 5400, 400), "a net of the given layout has no pin"),
        (two_wires().label(LABEL, "C", 100, 250), "pin 'C' at (100, 250) of the given layout is on 0 nets"),
        (two_wires().rect(MET1, 4000, 200, 4300, 300), "connects pins by nothing but a corner"),
    ],
)
def test_given_layout_that_cannot_be_compared_is_no_task(start: Sketch, said: str) -> None:
    oracle = oracle_of("drc_repair:layers=68/20", start=start.drawing, solution=narrowed())
    for gate in (quick_check, lambda one: check_rejects(one, "key", GateSettings(examples=1))):
        with pytest.raises(GateFailure, match="has no witness for this task") as failure:
            gate(oracle)
        assert said in failure.value.message
