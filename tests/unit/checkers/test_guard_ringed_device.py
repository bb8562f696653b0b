"""guard_ringed_device: what a ring is, what it encloses, and what it is joined to."""

from __future__ import annotations

from typing import Any

import pytest
from iclayout_checkers.guard_ringed_device import GuardRingedDevice
from judging import judge, oracle_of

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

DIFF, TAP, POLY, NWELL = (Layer.parse(one) for one in ("65/20", "65/44", "66/20", "64/20"))
NSDM, PSDM, LICON, LI1, MET1 = (Layer.parse(one) for one in ("93/44", "94/20", "66/44", "67/20", "68/20"))
MCON = Layer.parse("67/44")
DIFF_LABEL, TAP_LABEL, POLY_LABEL, LI1_LABEL = (Layer.parse(one) for one in ("65/6", "65/5", "66/5", "67/5"))

NMOS = ".subckt one D G S B\nM1 D G S B nmos W=1u L=0.15u\n.ends"
PMOS = NMOS.replace("nmos", "pmos")
SQUARE = [(500, -2000), (3000, -2000), (3000, 3000), (-2000, 3000), (-2000, -2000), (500, -2000)]
SLANTED = [(500, -2000), (3000, 500), (500, 3000), (-2000, 500), (500, -2000), (600, -1900)]


def verdict(sketch: Sketch, netlist: str = NMOS, rule_set: str = "published", **params: Any) -> str:
    return judge(sketch, "guard_ringed_device", {"netlist": netlist, **params}, rule_set).summary()


def device(*, pmos: bool = False, x: int = 0) -> Sketch:
    """A transistor of 1 µm around (575, 500), named by labels on its own layers."""
    sketch = Sketch().rect(PSDM if pmos else NSDM, x - 200, -200, x + 1350, 1200)
    sketch.rect(DIFF, x, 0, x + 1150, 1000).rect(POLY, x + 500, -300, x + 650, 1300)
    sketch.label(DIFF_LABEL, "S", x + 200, 500).label(DIFF_LABEL, "D", x + 900, 500)
    return sketch.label(POLY_LABEL, "G", x + 575, -200)


def ring(
    sketch: Sketch,
    points: list[tuple[int, int]] = SQUARE,
    *,
    implant: Layer = PSDM,
    tap: int = 400,
    metal: int = 300,
    contacts: tuple[tuple[int, int], ...] = ((500, -2000),),
) -> Sketch:
    sketch.path(TAP, tap, points).path(implant, 700, points).path(LI1, metal, points)
    for x, y in contacts:
        sketch.rect(LICON, x - 85, y - 85, x + 85, y + 85)
    return sketch


def named(sketch: Sketch, x: int = 500, y: int = -2000) -> Sketch:
    return sketch.label(LI1_LABEL, "B", x, y)


def test_ring_of_any_outline_and_pieces_is_one() -> None:
    assert verdict(named(ring(device()))) == "accepted"
    assert verdict(named(ring(device(), SLANTED))) == "accepted"
    halves = ring(device(), [(500, -2000), (3000, -2000), (3000, 3000), (500, 3000)])
    halves = ring(halves, [(500, 3000), (-2000, 3000), (-2000, -2000), (500, -2000)])
    assert verdict(named(halves)) == "accepted"


@pytest.mark.parametrize(("end", "ok"), [(500, True), (499, False)])
@pytest.mark.parametrize(
    ("open_layer", "name"), [(TAP, "tap (65/44) that contacts the substrate"), (LI1, "li1 (67/20)")]
)
def test_break_of_a_dbu_opens_the_ring(open_layer: Layer, name: str, end: int, ok: bool) -> None:
    sketch = device()
    for layer, width in ((TAP, 400), (PSDM, 700), (LI1, 300)):
        sketch.path(layer, width, [*SQUARE[:-1], (end if layer == open_layer else 500, -2000)])
    found = verdict(named(sketch.rect(LICON, 2915, -85, 3085, 85), 3000, 0))
    assert (found == "accepted") == ok
    assert ok or f"no closed ring of {name} is around all transistors" in found


def test_ring_that_a_corner_closes_is_open() -> None:
    sketch = device().path(PSDM, 700, SQUARE).path(TAP, 400, SQUARE).rect(LICON, 2915, -85, 3085, 85)
    kissing = [(400, -2000), (-2000, -2000), (-2000, 3000), (3000, 3000), (3000, -2000), (600, -2000)]
    sketch.path(LI1, 300, kissing).rect(LI1, 400, -2000, 500, -1850).rect(LI1, 500, -2150, 600, -2000)
    assert "no closed ring of li1" in verdict(named(sketch, 3000, 0))
    assert verdict(named(sketch.rect(LI1, 450, -2050, 550, -1950), 3000, 0)) == "accepted"


def test_metal_must_lie_over_the_tap_all_around() -> None:
    aside = [(500, -2000), (3500, -2000), (3500, 3000), (-2000, 3000), (-2000, -2000), (500, -2000)]
    sketch = device().path(TAP, 400, SQUARE).path(PSDM, 700, SQUARE).path(LI1, 300, aside)
    assert "do not lie over each other all around" in verdict(named(sketch.rect(LICON, 415, -2085, 585, -1915)))


def test_bar_across_the_ring_makes_two_places_for_transistors() -> None:
    sketch = named(ring(device())).rect(TAP, 1500, -2000, 1900, 3000).rect(PSDM, 1500, -2000, 2000, 3000)
    assert verdict(sketch.rect(LI1, 1550, -2000, 1850, 3000)) == "accepted"


@pytest.mark.parametrize("y", [-2000, -4000])
def test_one_good_ring_of_several_is_enough(y: int) -> None:
    """Either ring may be the one that is on the net."""
    outer = [(500, -4000), (5000, -4000), (5000, 5000), (-4000, 5000), (-4000, -4000), (500, -4000)]
    both = ring(ring(device()), outer, contacts=((500, -4000),))
    assert verdict(named(both, 500, y)) == "accepted"


def test_ring_that_is_on_its_net_by_the_substrate_alone_floats() -> None:
    sketch = ring(device()).label(TAP_LABEL, "B", 500, -2000)
    assert verdict(sketch).startswith("guard_ringed_device: the li1 (67/20) of the ring is not on net B")
    beside = ring(device()).rect(TAP, 6000, 0, 6400, 400).rect(PSDM, 5900, -100, 6500, 500)
    beside.rect(LICON, 6115, 115, 6285, 285).rect(LI1, 6000, 0, 6400, 400)
    assert "is not on net B" in verdict(named(beside, 6200, 200))
    assert verdict(named(beside.rect(LI1, 3000, 100, 6100, 300), 6300, 300)) == "accepted"


def test_bare_taps_that_meet_in_a_corner_leave_their_body_whole() -> None:
    kissing = named(ring(device())).rect(TAP, 3200, 3200, 3600, 3600).rect(PSDM, 3100, 3100, 3700, 3700)
    assert verdict(kissing) == "accepted"
    apart = named(ring(device())).rect(PSDM, 4900, -100, 5900, 900)
    apart.rect(TAP, 5000, 0, 5400, 400).rect(TAP, 5400, 400, 5800, 800)
    assert verdict(apart) == "accepted"


def test_tap_that_metal_joins_in_a_corner_only_is_open() -> None:
    sketch = named(ring(device())).rect(TAP, 6000, 0, 6400, 400).rect(PSDM, 5900, -100, 6500, 500)
    sketch.rect(LICON, 6115, 115, 6285, 285).rect(LI1, 6000, 0, 6400, 400)
    assert verdict(sketch.rect(LI1, 3000, 100, 6001, 300)) == "accepted"
    corner = named(ring(device())).rect(TAP, 6000, 0, 6400, 400).rect(PSDM, 5900, -100, 6500, 500)
    corner.rect(LICON, 6115, 115, 6285, 285).rect(LI1, 6000, 0, 6400, 400).rect(LI1, 3000, -200, 6000, 0)
    assert "hangs together by a corner only" in verdict(corner)


def test_label_may_stand_on_metal_that_is_joined_over_cuts() -> None:
    sketch = ring(device()).rect(MCON, 2915, 415, 3085, 585).rect(MET1, 2900, 400, 6000, 600)
    assert verdict(sketch.label(MET1, "B", 5900, 500)) == "accepted"


def test_text_that_lists_two_nets_names_neither() -> None:
    beside = ring(device()).rect(TAP, 6000, 0, 6400, 400).rect(PSDM, 5900, -100, 6500, 500)
    beside.label(TAP_LABEL, "B", 6200, 200)
    assert "is not on net B" in verdict(beside.label(LI1_LABEL, "B,X", 500, -2000))


def test_contact_that_sticks_out_is_none() -> None:
    assert verdict(named(ring(device(), contacts=((500, -1935),)))) == "accepted"
    assert "no shape of licon1 (66/44) lies within both" in verdict(named(ring(device(), contacts=((500, -1934),))))
    assert "no shape of licon1 (66/44) lies within both" in verdict(named(ring(device(), metal=160)))


FOUR = ((-2000, -2000), (3000, -2000), (-2000, 3000), (3000, 3000))


@pytest.mark.parametrize(("reach", "ok"), [(2415, True), (2414, False)])
def test_reach_is_an_allowed_distance(reach: int, ok: bool) -> None:
    """From corner to corner 5000 dbu less a contact: the middle is 2415 dbu from both."""
    found = verdict(named(ring(device(), contacts=FOUR)), reach=reach)
    assert (found == "accepted") == ok
    assert ok or f"farther than {reach} dbu from every contact" in found


@pytest.mark.parametrize(("over", "ok"), [(0, False), (1, True)])
def test_nets_reach_beyond_the_ring(over: int, ok: bool) -> None:
    sketch = named(ring(device()))
    for x, y, left in ((200, 300, True), (900, 300, False)):
        sketch.rect(LICON, x - 85, y - 85, x + 85, y + 85).rect(LI1, x - 165, y - 165, x + 165, y + 165)
        sketch.rect(MCON, x - 85, y - 85, x + 85, y + 85)
        sketch.rect(MET1, *((-2150 - over, 200, 300, 400) if left else (800, 200, 3150 + over, 400)))
    sketch.rect(POLY, 400, 1300, 750, 1650).rect(LICON, 490, 1390, 660, 1560).rect(LI1, 400, 1300, 750, 1650)
    sketch.rect(MCON, 490, 1390, 660, 1560).rect(MET1, 500, 1400, 650, 3150 + over)
    found = verdict(sketch, exit="68/20")
    assert (found == "accepted") == ok
    assert ok or all(f"net {pin} has no met1 (68/20) beyond the ring" in found for pin in "DGS")
    assert verdict(sketch) == "accepted"


def test_net_that_leaves_may_be_labelled_on_a_tap() -> None:
    def wired(label: Layer) -> Sketch:
        sketch = (
            Sketch().rect(NSDM, -200, -200, 1350, 1200).rect(DIFF, 0, 0, 1150, 1000).rect(POLY, 500, -300, 650, 1300)
        )
        sketch.label(DIFF_LABEL, "S", 200, 500).label(POLY_LABEL, "G", 575, -200)
        for x, left, right in ((200, -2500, 400), (900, 800, 6300)):
            sketch.rect(LICON, x - 85, 215, x + 85, 385).rect(LI1, x - 165, 135, x + 165, 465)
            sketch.rect(MCON, x - 85, 215, x + 85, 385).rect(MET1, left, 200, right, 400)
        sketch.rect(POLY, 400, 1300, 750, 1650).rect(LICON, 490, 1390, 660, 1560).rect(LI1, 400, 1300, 750, 1650)
        sketch.rect(MCON, 490, 1390, 660, 1560).rect(MET1, 500, 1400, 650, 3600)
        sketch.rect(NWELL, 5700, -300, 6900, 900).rect(TAP, 6000, 0, 6400, 400).rect(NSDM, 5900, -100, 6500, 500)
        sketch.rect(LICON, 6115, 215, 6285, 385).rect(LI1, 6000, 0, 6400, 400).rect(MCON, 6115, 215, 6285, 385)
        return named(ring(sketch)).label(label, "D", 6050, 50)

    assert verdict(wired(LI1_LABEL), exit="68/20") == "accepted"
    assert verdict(wired(TAP_LABEL), exit="68/20") == "accepted"


def well(sketch: Sketch) -> Sketch:
    return sketch.rect(NWELL, -2500, -2500, 3500, 3500)


def test_ring_of_pmos_is_in_their_well() -> None:
    def inner(sketch: Sketch) -> Sketch:
        """A well of its own for the transistor, on the net of the ring."""
        sketch.rect(NWELL, -400, -400, 2000, 1400).rect(TAP, 1500, 0, 1900, 400).rect(NSDM, 1400, -100, 2000, 500)
        return sketch.rect(LICON, 1615, 115, 1785, 285).rect(LI1, 1600, 100, 3000, 300)

    assert verdict(named(well(ring(device(pmos=True), implant=NSDM))), PMOS) == "accepted"
    wrong = "no closed ring of tap (65/44) that contacts the well of the transistors is around all transistors"
    on_substrate = inner(ring(device(pmos=True), implant=PSDM))
    assert wrong in verdict(named(on_substrate), PMOS)
    own = inner(ring(device(pmos=True), implant=NSDM)).path(NWELL, 900, SQUARE)
    assert wrong in verdict(named(own), PMOS)
    assert verdict(named(own.rect(NWELL, 1900, 0, 3000, 100)), PMOS) == "accepted"


def test_ring_of_nmos_contacts_the_substrate() -> None:
    sketch = ring(device(), implant=NSDM).path(NWELL, 900, SQUARE)
    sketch.rect(TAP, 1600, 0, 2000, 400).rect(PSDM, 1500, -100, 2100, 500).rect(LICON, 1715, 115, 1885, 285)
    found = verdict(named(sketch.rect(LI1, 1700, 100, 3000, 300)))
    assert "no closed ring of tap (65/44) that contacts the substrate" in found


def test_rules_decide_only_where_they_are_asked_to() -> None:
    sketch = named(ring(device())).rect(LI1, 9000, 0, 9100, 1000)
    assert verdict(sketch) == "accepted"
    assert "li1 (67/20): width 100 dbu, at least 170 dbu required" in verdict(sketch, rules=True)


def test_layout_without_a_transistor_is_rejected_for_that_alone() -> None:
    found = verdict(named(ring(Sketch())))
    assert "poly crosses diff nowhere" in found
    assert "ring" not in found.replace("guard_ringed_device", "")


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"netlist": ".subckt x A\nM1 A A A A nmos W=1u L=1u\nM2 A A A A pmos W=1u L=1u\n.ends"}, "of one kind"),
        ({"netlist": ".subckt x A\nM1 A A A b nmos W=1u L=1u\n.ends"}, "must be on one pin"),
        (
            {"netlist": ".subckt x A B\nM1 A A A A pmos W=1u L=1u\nM2 A A A B pmos W=1u L=1u\n.ends"},
            "must be on one pin",
        ),
        ({"netlist": NMOS, "contact": "67/20"}, "contact and metal are layers of their own"),
        ({"netlist": NMOS, "metal": "66/20"}, "contact and metal are layers of their own"),
        ({"netlist": NMOS, "reach": 99}, "reach"),
    ],
)
def test_parameters_that_ask_for_no_ring_are_an_error_of_the_task(params: dict[str, Any], complaint: str) -> None:
    with pytest.raises(CheckerError, match=complaint):
        oracle_of("guard_ringed_device", params)


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"exit": "69/20"}, "nets leave on 68/20, the second conductor above tap, not on 69/20"),
        ({"metal": "68/20"}, "does not join tap to 68/20 by 66/44"),
    ],
)
def test_what_no_layout_of_the_technology_has_is_told(params: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        oracle_of("guard_ringed_device", {"netlist": NMOS, **params}).witness()


def test_rules_need_a_rule_set_that_has_some() -> None:
    oracle = oracle_of("guard_ringed_device", {"netlist": NMOS, "rules": True})
    technology = oracle.bench.technology.model_copy(update={"rule_sets": {"none": ()}})
    with pytest.raises(ValueError, match="rule set none has no rules"):
        GuardRingedDevice().witness(oracle.params, Bench(technology=technology, rule_set="none"))
