"""generator: each purpose at its exact limits, and other legal ways to draw it."""

from __future__ import annotations

import pytest
from judging import judge, oracle_of

from pytest_iclayout.checking.gate import GateSettings, check_accepts, check_rejects
from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

LICON, LI1, MCON, MET1 = (Layer(layer=a, datatype=b) for a, b in ((66, 44), (67, 20), (67, 44), (68, 20)))
MET2, VIA2, MET3 = (Layer(layer=a, datatype=b) for a, b in ((69, 20), (69, 44), (70, 20)))
RING = "generator:id=guard_ring,layer=met1"

AT_THEIR_LIMITS = [
    "id=guard_ring,layer=met3,region_width=300,region_height=900,ring_width=300",
    "id=guard_ring,taps=false,region_width=301,ring_width=555",
    "id=via_farm,cut=via2,rows=1,cols=1",
    "id=via_farm,rows=2,cols=1,cut=via",
    "id=pad_ring,power_pads=0,die_width=900000,pad_pitch=70000",
    "id=pad_ring,power_pads=4096",
    "id=seal_ring,stack=li1_met1,ring_width=300,die_width=900,die_height=1901",
    "id=fill,layer=met2,tile=300,region_width=600,region_height=700,target_density_permille=900",
    "id=fill,target_density_permille=1",
    "id=test_structure,kind=van_der_pauw,layer=met1,feature_width=301,feature_length=301",
    "id=test_structure,kind=contact_chain,layer=met3,feature_width=300,feature_length=300,count=2",
    "id=test_structure,kind=contact_chain,feature_width=700,feature_length=5000,count=3",
    "id=test_structure,kind=comb,count=2,layer=met3,feature_width=300,feature_length=301",
    "id=test_structure,kind=comb,count=5,layer=met2",
    "id=test_structure,kind=serpentine,count=2,layer=met3,feature_width=300,feature_length=301",
]


@pytest.mark.parametrize("rule_set", ["published", "full", "none"])
@pytest.mark.parametrize("text", AT_THEIR_LIMITS)
def test_parameters_at_their_limits_pass_the_gate(text: str, rule_set: str) -> None:
    oracle = oracle_of(f"generator:{text}", rule_set=rule_set)
    check_accepts(oracle, text, GateSettings(examples=10))
    check_rejects(oracle, text, GateSettings(examples=10))


def ring(width: int, height: int, side: int) -> Sketch:
    sketch = Sketch().rect(MET1, -side, -side, width + side, 0).rect(MET1, -side, height, width + side, height + side)
    return sketch.rect(MET1, -side, 0, 0, height).rect(MET1, width, 0, width + side, height)


@pytest.mark.parametrize(
    ("width", "height", "side", "ok"),
    [(2000, 2000, 400, True), (1999, 2000, 400, False), (2000, 1999, 400, False), (2000, 2000, 399, False)],
)
def test_guard_ring_is_measured_to_the_dbu(width: int, height: int, side: int, ok: bool) -> None:
    assert judge(ring(width, height, side), RING).ok == ok


def test_guard_ring_may_be_larger_of_another_outline_and_have_shapes_around() -> None:
    sketch = ring(5000, 3000, 900).rect(MET1, 4500, 2000, 5000, 3000).rect(MET1, 8000, 0, 9000, 900)
    assert judge(sketch, RING).ok


def test_guard_ring_with_a_free_place_beside_a_shape_inside() -> None:
    assert judge(ring(2600, 2000, 400).rect(MET1, 2200, 400, 2400, 1600), RING).ok
    assert not judge(ring(2600, 2000, 400).rect(MET1, 1900, 400, 2400, 1600), RING).ok


def test_tap_must_stand_in_the_bottom_of_an_li1_ring() -> None:
    frame = [(-400, -400, 2400, 0), (-400, 2000, 2400, 2400), (-400, 0, 0, 2000), (2000, 0, 2400, 2000)]
    for y, ok in ((-285, True), (2115, False), (900, False)):
        sketch = Sketch()
        for box in frame:
            sketch.rect(LI1, *box)
        sketch.rect(LICON, 900, y, 1070, y + 170)
        assert judge(sketch, "generator:id=guard_ring").ok == ok
        assert judge(sketch, "generator:id=guard_ring,taps=false").ok == (y != 900)


def farm(*cuts: tuple[int, int]) -> Sketch:
    sketch = Sketch().rect(LI1, -100, -100, 2000, 2000).rect(MET1, -100, -100, 2000, 2000)
    for x, y in cuts:
        sketch.rect(MCON, x, y, x + 170, y + 170)
    return sketch


@pytest.mark.parametrize(
    ("cuts", "ok"),
    [
        ([(0, 0), (400, 0), (800, 0), (0, 500), (400, 500), (800, 500)], True),
        ([(0, 0), (400, 0), (801, 0), (0, 500), (400, 500), (801, 500)], False),
        ([(0, 0), (400, 0), (800, 0), (0, 500), (400, 500), (800, 501)], False),
        ([(0, 0), (400, 0), (800, 0), (0, 500), (400, 500)], False),
        ([(0, 0), (400, 0), (0, 500), (400, 500), (0, 1000), (400, 1000)], False),
    ],
)
def test_via_farm_has_its_rows_and_columns_at_one_pitch_each(cuts: list[tuple[int, int]], ok: bool) -> None:
    assert judge(farm(*cuts), "generator:id=via_farm,rows=2,cols=3").ok == ok


@pytest.mark.parametrize("missing", [1, 0])
def test_fill_has_as_many_tiles_as_the_pitch_of_the_density(missing: int) -> None:
    """400 / √0.6 is 516, but li1 keeps 170: 570 is the pitch, 17 of which fit along each side of 10000."""
    sketch = Sketch()
    places = [(x * 570, y * 570) for x in range(17) for y in range(17)]
    for x, y in places[missing:]:
        sketch.rect(LI1, x, y, x + 400, y + 400)
    verdict = judge(sketch, "generator:id=fill,target_density_permille=600")
    assert verdict.ok == (missing == 0)
    assert verdict.ok or "288 tile(s), at least 289 required" in verdict.findings[0].message


def test_fill_may_be_denser_and_irregular_but_not_out_of_the_region() -> None:
    text = "generator:id=fill,region_width=1600,region_height=1000,target_density_permille=100"
    sketch = Sketch().rect(LI1, 0, 0, 400, 400).rect(LI1, 600, 100, 1000, 500).rect(LI1, 1200, 600, 1600, 1000)
    assert judge(sketch, text).ok
    assert not judge(sketch, text.replace("1600", "1599")).ok
    assert not judge(sketch, text.replace("height=1000", "height=999")).ok


def pads(size: int, *, inset: int = 0, power: int = 4) -> Sketch:
    sketch = Sketch()
    middle, far = 100_000 - size // 2, 200_000 - size - inset
    for number, (x, y) in enumerate(((middle, inset), (middle, far), (inset, middle), (far, middle))):
        sketch.rect(MET3, x, y, x + size, y + size)
        if number < power:
            sketch.rect(MET2, x + 900, y + 900, x + 1500, y + 1500).rect(VIA2, x + 1000, y + 1000, x + 1200, y + 1200)
    return sketch


@pytest.mark.parametrize(
    ("size", "inset", "power", "ok"),
    [
        (60_000, 0, 4, True),
        (60_000, 9_000, 4, True),
        (60_000, -1, 4, False),
        (59_998, 0, 4, False),
        (60_000, 0, 3, False),
    ],
)
def test_pad_ring_stands_within_the_die(size: int, inset: int, power: int, ok: bool) -> None:
    assert judge(pads(size, inset=inset, power=power), "generator:id=pad_ring").ok == ok


def test_pad_ring_has_no_more_power_pads_than_asked_for() -> None:
    assert not judge(pads(60_000), "generator:id=pad_ring,power_pads=3").ok
    assert judge(pads(60_000, power=0), "generator:id=pad_ring,power_pads=0").ok


def sealed(*cuts: tuple[int, int], shift: int = 0) -> Sketch:
    sketch = Sketch()
    for layer, dx in ((LI1, 0), (MET1, shift)):
        for box in ((0, 0, 9000, 900), (0, 8100, 9000, 9000), (0, 0, 900, 9000), (8100, 0, 9000, 9000)):
            sketch.rect(layer, box[0] + dx, box[1], box[2] + dx, box[3])
    for x, y in cuts:
        sketch.rect(MCON, x, y, x + 170, y + 170)
    return sketch


SEAL = "generator:id=seal_ring,stack=li1_met1,die_width=9000,die_height=9000"
ROUND = [(4000, 300), (4000, 8400), (300, 4000), (8400, 4000)]


def test_seal_ring_is_joined_on_each_side() -> None:
    assert judge(sealed(*ROUND), SEAL).ok
    assert [judge(sealed(*ROUND[:at], *ROUND[at + 1 :]), SEAL).ok for at in range(4)] == [False] * 4
    assert not judge(sealed(*ROUND, shift=1), SEAL).ok
    (finding,) = judge(sealed(*ROUND[1:]), SEAL).findings
    assert finding.message == "no cut on mcon (67/44) lies within the bottom side of the ring"


def test_cross_with_pads_at_its_arms_and_another_place_is_a_cross() -> None:
    sketch = Sketch().rect(LI1, 0, 1000, 3000, 1400).rect(LI1, 1200, -500, 1600, 3000)
    sketch.rect(LI1, -800, 800, 0, 1600)
    assert judge(sketch, "generator:id=test_structure").ok
    assert not judge(sketch, "generator:id=test_structure,feature_length=3501").ok
    assert not judge(sketch, "generator:id=test_structure,feature_width=399").ok


def serpentine(*turns: tuple[int, bool]) -> Sketch:
    """Four runs 2000 long; a turn is between a run and the next, at the top or the bottom."""
    sketch = Sketch()
    for number in range(4):
        sketch.rect(MET1, number * 700, 0, number * 700 + 400, 2000)
    for number, top in turns:
        y = 1600 if top else 0
        sketch.rect(MET1, number * 700, y, number * 700 + 900, y + 400)
    return sketch


@pytest.mark.parametrize(
    ("turns", "ok"),
    [
        ([(0, True), (1, False), (2, True)], True),
        ([(0, False), (1, True), (2, False)], True),
        ([(0, True), (1, True), (2, False)], False),
        ([(0, True), (1, False)], False),
        ([(0, True), (0, False), (1, False), (2, True)], False),
    ],
)
def test_serpentine_passes_each_run_from_end_to_end(turns: list[tuple[int, bool]], ok: bool) -> None:
    text = "generator:id=test_structure,kind=serpentine,layer=met1,count=4"
    assert judge(serpentine(*turns), text).ok == ok
    assert not judge(serpentine(*turns), text.replace("count=4", "count=5")).ok
    assert not judge(serpentine(*turns), f"{text},feature_length=2001").ok


def test_serpentine_may_end_in_pads_that_are_as_high_as_its_runs() -> None:
    text = "generator:id=test_structure,kind=serpentine,layer=met1,count=4"
    line = serpentine((0, True), (1, False), (2, True)).rect(MET1, 700 * 3, -4000, 700 * 3 + 3000, 0)
    assert judge(line.rect(MET1, -3000, -3000, 400, 0), text).ok
    # A pad on two runs joins them.
    assert not judge(line.rect(MET1, 0, -3000, 1100, 0), text).ok


def test_comb_may_have_spines_that_are_as_high_as_its_fingers() -> None:
    sketch = Sketch().rect(MET1, 0, -2500, 3000, 0).rect(MET1, 0, 2200, 3000, 5000)
    for number in range(4):
        bottom = 200 if number % 2 else 0
        sketch.rect(MET1, number * 700, bottom, number * 700 + 400, bottom + 2000)
    text = "generator:id=test_structure,kind=comb,layer=met1,count=4"
    assert judge(sketch, text).ok
    assert not judge(sketch, text.replace("count=4", "count=5")).ok
    assert not judge(sketch, f"{text},feature_length=2001").ok


def test_neck_between_two_pads_is_no_run() -> None:
    sketch = Sketch()
    for number in range(2):
        sketch.rect(MET1, number * 3000, 0, number * 3000 + 2500, 2500)
        sketch.rect(MET1, number * 3000, 2900, number * 3000 + 2500, 5400)
        sketch.rect(MET1, number * 3000 + 1000, 2500, number * 3000 + 1400, 2900)
    sketch.rect(MET1, 2500, 5000, 3000, 5400)
    assert not judge(sketch, "generator:id=test_structure,kind=serpentine,layer=met1,count=2").ok


@pytest.mark.parametrize("gap", [140, 139])
def test_rules_in_force_are_kept(gap: int) -> None:
    sketch = ring(2000, 2000, 400).rect(MET1, 2400 + gap, 0, 3400, 900)
    verdict = judge(sketch, RING)
    assert [one.rule for one in verdict.findings] == ([] if gap == 140 else ["m1.2"])
    assert judge(sketch, RING, rule_set="none").ok


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id=inductor", "id: 'inductor' is no generator; known are guard_ring, via_farm, pad_ring, seal_ring, fill"),
        ("id=via_farm,layer=li1", "via_farm: layer: unknown key; via_farm takes cut, rows, cols"),
        ("id=via_farm,rows=0", "via_farm: rows: input should be greater than or equal to 1"),
        ("id=guard_ring,layer=poly", "guard_ring: layer: input should be 'li1', 'met1', 'met2' or 'met3'"),
        ("id=guard_ring,taps=1", "guard_ring: taps: input should be a valid boolean"),
        ("id=seal_ring,die_width=1800", "ring_width 900 leaves nothing of the die inside the ring"),
        ("id=fill,tile=900,region_width=899", "tile 900 is larger than the region"),
        ("id=test_structure,kind=comb,feature_length=400", "a comb needs a feature_length of more than"),
        ("layer=li1", "id: required, but not given"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(text: str, message: str) -> None:
    with pytest.raises(CheckerError, match=message):
        oracle_of(f"generator:{text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id=pad_ring,pad_size=70000", "pad_size: 70000 dbu leave no room between the corners of 200000 dbu"),
        ("id=pad_ring,pad_pitch=60000", "pad_pitch: pads of 60000 dbu need a pitch of 60300 dbu or more"),
        ("id=seal_ring,ring_width=300", "ring_width: via2 needs a ring of 330 dbu or more"),
    ],
)
def test_parameters_without_a_legal_layout_say_so(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        oracle_of(f"generator:{text}", rule_set="full").witness()
