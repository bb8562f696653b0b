"""device_netlist: transistors found, sized and connected as the netlist says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iclayout_checkers.device_layouts import RowPlan, same_terminals
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.geometry.mos import Mos, MosNetlist, read_spice, same_circuit
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

DIFF, TAP, POLY, NWELL = (Layer.parse(one) for one in ("65/20", "65/44", "66/20", "64/20"))
NSDM, PSDM, LICON, LI1 = (Layer.parse(one) for one in ("93/44", "94/20", "66/44", "67/20"))
DIFF_LABEL, POLY_LABEL, LI1_LABEL, NWELL_LABEL = (Layer.parse(one) for one in ("65/6", "66/5", "67/5", "64/5"))

NMOS = ".subckt one D G S\nM1 D G S sub nmos W=1u L=0.15u\n.ends"
PMOS = ".subckt one D G S B\nM1 D G S B pmos W=1u L=0.15u\n.ends"
TWO_UM = ".subckt one D G S\nM1 D G S sub nmos W=2u L=0.15u\n.ends"
SERIES = ".subckt two A B D S\nM1 D A mid sub nmos W=1u L=0.15u\nM2 mid B S sub nmos W=1u L=0.15u\n.ends"


def verdict(sketch: Sketch, netlist: str, **params: Any) -> str:
    return judge(sketch, "device_netlist", {"netlist": netlist, **params}).summary()


def single(sketch: Sketch | None = None, width: int = 1000) -> Sketch:
    """An NMOS named by labels on its own layers: neither contact nor metal is asked for."""
    sketch = (sketch or Sketch()).rect(NSDM, -200, -200, 1350, width + 200)
    sketch.rect(DIFF, 0, 0, 1150, width).rect(POLY, 500, -300, 650, width + 300)
    return sketch.label(DIFF_LABEL, "S", 200, 500).label(DIFF_LABEL, "D", 900, 500).label(POLY_LABEL, "G", 575, -200)


def pmos(well: tuple[int, int, int, int] = (-300, -300, 1450, 1300)) -> Sketch:
    sketch = Sketch().rect(PSDM, -200, -200, 1350, 1200).rect(NWELL, *well)
    sketch.rect(DIFF, 0, 0, 1150, 1000).rect(POLY, 500, -300, 650, 1300).label(NWELL_LABEL, "B", -250, 500)
    return sketch.label(DIFF_LABEL, "S", 200, 500).label(DIFF_LABEL, "D", 900, 500).label(POLY_LABEL, "G", 575, -100)


def test_transistor_without_any_metal_is_one() -> None:
    assert verdict(single(), NMOS) == "accepted"


@pytest.mark.parametrize(("width", "found"), [(999, "W=0.999u"), (1001, "W=1.001u")])
def test_width_that_is_a_dbu_off_is_told(width: int, found: str) -> None:
    assert f"wrong size: NMOS {found} L=0.15u, required W=1u L=0.15u at (500,0;650,{width})" in verdict(
        single(width=width), NMOS
    )


@pytest.mark.parametrize(("width", "ok"), [(998, False), (999, True), (1001, True), (1002, False)])
def test_tolerance_is_an_allowed_value(width: int, ok: bool) -> None:
    assert (verdict(single(width=width), NMOS, tolerance=1) == "accepted") == ok


def test_source_and_drain_are_exchangeable_and_the_gate_is_not() -> None:
    plain = Sketch().rect(NSDM, -200, -200, 1350, 1200).rect(DIFF, 0, 0, 1150, 1000).rect(POLY, 500, -300, 650, 1300)
    plain.label(DIFF_LABEL, "G", 200, 500).label(DIFF_LABEL, "D", 900, 500).label(POLY_LABEL, "S", 575, -200)
    assert "net G joins NMOS drain/source; required: NMOS gate" in verdict(plain, NMOS)
    netlist = NMOS.replace("D G S sub", "S G D sub")
    assert verdict(single(), netlist) == "accepted"


def two_fingers(*joins: tuple[int, int]) -> Sketch:
    """Two channels of 1 µm that share the middle; a wire of li1 joins the outer ends, and poly the gates."""
    sketch = Sketch().rect(NSDM, -200, -200, 2200, 1200).rect(DIFF, 0, 0, 2000, 1000)
    sketch.rect(POLY, 500, -300, 650, 1300).rect(POLY, 1350, -300, 1500, 1300).rect(POLY, 500, 1300, 1500, 1500)
    for x in (200, 1650):
        sketch.rect(LICON, x, 400, x + 170, 570)
    for left, right in joins:
        sketch.rect(LI1, left, 300, right, 700)
    return sketch.label(DIFF_LABEL, "D", 1000, 500).label(DIFF_LABEL, "S", 100, 500).label(POLY_LABEL, "G", 900, 1400)


def test_fingers_in_parallel_add_up() -> None:
    assert verdict(two_fingers((100, 1900)), TWO_UM) == "accepted"
    assert verdict(two_fingers((100, 1900)), TWO_UM, finger_width=1000) == "accepted"
    assert "extra device: 2 NMOS, required 1" in verdict(two_fingers((100, 900), (901, 1900)), TWO_UM)


def test_fingers_must_have_the_width_that_is_asked_for() -> None:
    wide = single(width=2000)
    assert verdict(wide, TWO_UM) == "accepted"
    assert "a channel is 2000 dbu wide, each must be 1000 dbu" in verdict(wide, TWO_UM, finger_width=1000)


def test_series_pair_may_share_diffusion_without_a_contact() -> None:
    def pair(a: str, b: str) -> Sketch:
        sketch = Sketch().rect(NSDM, -200, -200, 2200, 1200).rect(DIFF, 0, 0, 1700, 1000)
        sketch.rect(POLY, 500, -300, 650, 1300).rect(POLY, 1000, -300, 1150, 1300)
        sketch.label(POLY_LABEL, a, 575, -100).label(POLY_LABEL, b, 1075, -100)
        return sketch.label(DIFF_LABEL, "D", 200, 500).label(DIFF_LABEL, "S", 1500, 500)

    assert verdict(pair("A", "B"), SERIES) == "accepted"
    assert verdict(pair("B", "A"), SERIES) != "accepted"


def test_well_may_abut_an_nmos_but_not_overlap_it() -> None:
    assert verdict(single().rect(NWELL, 1150, -500, 3000, 3000), NMOS) == "accepted"
    assert "lies neither within" in verdict(single().rect(NWELL, 1149, -500, 3000, 3000), NMOS)


@pytest.mark.parametrize(
    ("well", "ok"), [((0, 0, 1150, 1000), True), ((1, 0, 1150, 1000), False), ((0, 0, 1150, 999), False)]
)
def test_well_must_cover_the_diffusion_of_a_pmos(well: tuple[int, int, int, int], ok: bool) -> None:
    sketch = pmos(well).rect(NWELL, -300, 400, 0, 600)
    assert (verdict(sketch, PMOS) == "accepted") == ok


def test_body_of_a_pmos_is_its_well() -> None:
    assert verdict(pmos(), PMOS) == "accepted"
    assert "no label B stands" in verdict(single(), PMOS)
    apart = pmos().rect(NWELL, 5000, 0, 6000, 1000).label(NWELL_LABEL, "B", 5500, 500)
    assert "net B is open: its label stands on 2 nets" in verdict(apart, PMOS)


def test_substrate_is_one_net_that_taps_reach_from_anywhere() -> None:
    netlist = ".subckt one D G S B\nM1 D G S B nmos W=1u L=0.15u\n.ends"
    tap = Layer.parse("65/5")
    far = single().rect(TAP, 90_000, 0, 90_400, 400).rect(PSDM, 89_900, -100, 90_500, 500).label(tap, "B", 90_200, 200)
    assert verdict(far, netlist) == "accepted"
    assert "a tap shape lies neither" in verdict(far.rect(NWELL, 90_300, 0, 91_000, 400), netlist)


@pytest.mark.parametrize(("gap", "ok"), [(0, False), (1, True)])
def test_tap_keeps_off_diffusion(gap: int, ok: bool) -> None:
    sketch = single().rect(TAP, 1150 + gap + 200, 0, 1750, 400).rect(PSDM, 1351 + gap, -100, 1900, 500)
    assert "a tap shape lies neither" in verdict(sketch, NMOS)
    sketch = Sketch().rect(NSDM, -200, -200, 1150, 1200).rect(DIFF, 0, 0, 1150, 1000).rect(POLY, 500, -300, 650, 1300)
    sketch.label(DIFF_LABEL, "S", 200, 500).label(DIFF_LABEL, "D", 900, 500).label(POLY_LABEL, "G", 575, -200)
    sketch.rect(TAP, 1150 + gap, 0, 1750, 400).rect(PSDM, 1150, -100, 1900, 500)
    assert ("touches" not in verdict(sketch, NMOS)) == ok
    assert (verdict(sketch, NMOS) == "accepted") == ok


def test_corner_contact_neither_connects_nor_harms() -> None:
    """Two wires of one net may meet in a corner where they are connected elsewhere as well."""
    sketch = two_fingers((100, 1900)).rect(LI1, 1900, 700, 2000, 900)
    assert verdict(sketch, TWO_UM) == "accepted"
    kissing = two_fingers((100, 900)).rect(LI1, 900, 700, 1900, 900).rect(LI1, 1600, 300, 1900, 700)
    assert "a net hangs together by a corner only" in verdict(kissing, TWO_UM)


def test_cut_that_only_touches_is_no_contact() -> None:
    sketch = Sketch().rect(NSDM, -200, -200, 1350, 1200).rect(DIFF, 0, 0, 1150, 1000).rect(POLY, 500, -300, 650, 1300)
    sketch.label(DIFF_LABEL, "S", 200, 500).label(POLY_LABEL, "G", 575, -200).label(LI1_LABEL, "D", 1250, 500)
    sketch.rect(LI1, 900, 300, 1400, 700)
    assert "net D joins nothing" in verdict(sketch.rect(LICON, 1150, 400, 1320, 570), NMOS)
    assert verdict(sketch.rect(LICON, 1149, 400, 1320, 570), NMOS) == "accepted"


def test_further_labels_and_shapes_do_not_matter() -> None:
    sketch = single().rect(LI1, 5000, 0, 6000, 170).label(LI1_LABEL, "X,D", 5100, 50).label(POLY_LABEL, "NET7", 575, 0)
    assert verdict(sketch.rect(DIFF, 8000, 0, 9000, 500), NMOS) == "accepted"


def test_slanted_gate_is_no_channel() -> None:
    sketch = Sketch().rect(NSDM, -200, -200, 1350, 1200).rect(DIFF, 0, 0, 1150, 1000)
    sketch.polygon(POLY, [(500, -300), (650, -300), (651, 1300), (501, 1300)])
    sketch.label(DIFF_LABEL, "S", 200, 500).label(DIFF_LABEL, "D", 900, 500).label(POLY_LABEL, "G", 575, -200)
    assert "a channel is a rectangle" in verdict(sketch, NMOS)


@pytest.mark.parametrize(
    ("netlist", "complaint"),
    [
        ("", "one .subckt with pins"),
        ("M1 D G S B nmos W=1u L=1u", "one .subckt with pins"),
        (".subckt x A\nM1 A A A A nmos W=1u\n.ends", "has no W or L"),
        (".subckt x A\nM1 A A A A nmos W=0 L=1u\n.ends", "not above 0"),
        (".subckt x A\nR1 A b 10k\n.ends", "devices are M lines of model NMOS or PMOS"),
        (".subckt x A\nM1 A A A A nfet W=1u L=1u\n.ends", "devices are M lines of model NMOS or PMOS"),
        (".subckt x A B\nM1 A A A A nmos W=1u L=1u\n.ends", "pin B is on no device"),
        (".subckt x A\nM1 A A nmos W=1u L=1u\n.ends", "must have four nodes"),
    ],
)
def test_netlist_that_cannot_be_used_is_an_error_of_the_task(netlist: str, complaint: str) -> None:
    with pytest.raises(CheckerError, match=complaint):
        oracle_of("device_netlist", {"netlist": netlist})


def test_layers_of_transistors_are_different_ones() -> None:
    with pytest.raises(CheckerError, match="are different layers"):
        oracle_of("device_netlist", {"netlist": NMOS, "tap": "65/20"})


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"netlist": NMOS.replace("1u", "1.0005u")}, "no whole number of database units"),
        ({"netlist": NMOS, "finger_width": 300}, "no multiple of 300 dbu"),
        (
            {"netlist": ".subckt x A B\nM1 A B A A nmos W=1u L=1u\nM2 A B A B nmos W=1u L=1u\n.ends"},
            "the substrate is one net",
        ),
    ],
)
def test_netlist_that_no_layout_has_is_told(params: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        oracle_of("device_netlist", params).witness()


_NETS = st.sampled_from(["A", "B", "C", "n1", "n2"])
_DEVICES = st.builds(
    Mos, st.sampled_from(["NMOS", "PMOS"]), _NETS, _NETS, _NETS, _NETS, st.sampled_from([1.0, 2.0]), st.just(0.15)
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_DEVICES, min_size=1, max_size=4), st.data())
def test_comparison_finds_what_trying_every_assignment_finds(devices: list[Mos], data: st.DataObject) -> None:
    """KLayout's comparison searches cleverly; for small circuits all assignments can be tried."""
    one = MosNetlist(("A", "B", "C"), tuple(devices)).combined
    changed = list(one.devices)
    number = data.draw(st.integers(0, len(changed) - 1))
    replaced = data.draw(_DEVICES)
    names = {"n1": "n2", "n2": "n1"}
    renamed = [
        Mos(
            mos.kind,
            *(names.get(net.lower(), net) for net in (mos.source, mos.gate, mos.drain, mos.body)),
            mos.width_um,
            mos.length_um,
        )
        for mos in changed
    ]
    changed[number] = replaced
    for other in (changed, renamed):
        second = MosNetlist(("A", "B", "C"), tuple(other)).combined
        assert same_circuit(one, second, 0) == same_terminals(one, second)


def test_netlist_survives_being_written_and_read() -> None:
    netlist = read_spice(SERIES)
    assert same_circuit(read_spice(netlist.as_spice()), netlist, 0)


def test_row_of_transistors_refuses_a_technology_without_metal() -> None:
    oracle = oracle_of("device_netlist", {"netlist": NMOS})
    bare = oracle.bench.technology.model_copy(update={"connections": ()})
    with pytest.raises(ValueError, match="joins diffusion, tap and poly"):
        RowPlan(oracle.params.reference, oracle.params.layers, bare).row()
