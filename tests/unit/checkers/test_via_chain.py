"""via_chain: cuts that each join two conductors, on one net."""

from __future__ import annotations

import pytest
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

POLY, LICON, LI1, MCON, MET1, VIA, MET2 = (
    Layer(layer=a, datatype=b) for a, b in ((66, 20), (66, 44), (67, 20), (67, 44), (68, 20), (68, 44), (69, 20))
)
DIFF, TAP = Layer(layer=65, datatype=20), Layer(layer=65, datatype=44)
THREE = "via_chain:via=68/44,vias=3"


def rails(cuts: int, top: Layer = MET2) -> Sketch:
    """Two rails one above the other, and cuts between them."""
    sketch = Sketch().rect(MET1, 0, 0, 10_000, 200).rect(top, 0, 0, 10_000, 200)
    for number in range(cuts):
        sketch.rect(VIA, 500 * number, 25, 500 * number + 150, 175)
    return sketch


def series(cuts: int) -> Sketch:
    """Bottom and top in turn; the ends have a pad on the other layer."""
    sketch = Sketch().rect(MET2, -50, -50, 200, 200)
    for number in range(cuts):
        sketch.rect(VIA, 500 * number, 0, 500 * number + 150, 150)
        layer = MET2 if number % 2 else MET1
        end = 500 * (number + 1) + 200 if number < cuts - 1 else 500 * number + 200
        sketch.rect(layer, 500 * number - 50, -50, end, 200)
    return sketch


@pytest.mark.parametrize("draw", [rails, series])
@pytest.mark.parametrize(("cuts", "ok"), [(2, False), (3, True), (4, True)])
def test_number_of_cuts_is_a_least_one_in_series_and_in_parallel(draw: object, cuts: int, ok: bool) -> None:
    assert callable(draw)
    assert judge(draw(cuts), THREE).ok == ok


def test_finding_tells_how_many_cuts_are_on_one_net() -> None:
    (finding,) = judge(rails(2).rect(VIA, 20_000, 0, 20_150, 150), THREE).findings
    assert finding.message == (
        "via (68/44): 3 cut(s), 2 of them on one net and joining a bottom and a top conductor, at least 3 required"
    )
    assert (finding.measured, finding.required, str(finding.place)) == (2, 3, "(0,0;20150,175)")


def test_cuts_of_two_nets_are_not_added_up() -> None:
    sketch = rails(2)
    sketch.rect(MET1, 0, 500, 900, 700).rect(MET2, 0, 500, 900, 700)
    sketch.rect(VIA, 0, 525, 150, 675).rect(VIA, 500, 525, 650, 675)
    assert not judge(sketch, THREE).ok
    # A strap on one of the layers makes one net of both.
    assert judge(sketch.rect(MET1, 0, 200, 100, 500), THREE).ok
    assert judge(sketch, "via_chain:via=68/44,vias=4").ok


def test_nets_may_be_joined_over_other_layers() -> None:
    sketch = rails(2).rect(MET1, 0, 500, 900, 700).rect(MET2, 0, 500, 900, 700).rect(VIA, 0, 525, 150, 675)
    sketch.rect(LI1, 700, 0, 900, 700).rect(MCON, 700, 0, 870, 170).rect(MCON, 700, 510, 870, 680)
    assert judge(sketch, THREE).ok


@pytest.mark.parametrize(("bottom", "ok"), [(25, False), (26, True)])
def test_cut_must_overlap_its_conductors(bottom: int, ok: bool) -> None:
    """A third cut hangs under the lower edge of both rails, reaching ``bottom`` - 25 into them."""
    shifted = Sketch().rect(MET1, 0, 25, 10_000, 200).rect(MET2, 0, 25, 10_000, 200)
    for x in (0, 500):
        shifted.rect(VIA, x, 50, x + 150, 175)
    assert judge(shifted.rect(VIA, 1000, bottom - 150, 1150, bottom), THREE).ok == ok


def test_cuts_that_stick_out_of_a_rail_join_what_they_overlap() -> None:
    """Strips of mcon across a met1 rail that is wider than the li1 rail below it."""
    sketch = Sketch().rect(LI1, 0, 0, 3680, 170).rect(MET1, 0, 0, 3680, 480)
    for number in range(8):
        sketch.rect(MCON, 145 + 460 * number, 0, 315 + 460 * number, 480)
    text = "via_chain:via=67/44,vias={},bottom=67/20,top=68/20"
    assert judge(sketch, text.format(8)).ok
    assert not judge(sketch, text.format(9)).ok


def test_cut_over_bottom_and_top_side_by_side_joins_them() -> None:
    """A cut conducts: bottom and top need not lie over each other."""
    sketch = Sketch().rect(MET1, 0, 0, 75, 150).rect(VIA, 0, 0, 150, 150).rect(MET2, 75, 0, 150, 150)
    assert judge(sketch, "via_chain:via=68/44,vias=1").ok


def test_pieces_of_a_cut_are_one_and_cuts_that_meet_in_a_corner_two() -> None:
    abutting = rails(1).rect(VIA, 150, 25, 300, 175)
    assert not judge(abutting, "via_chain:via=68/44,vias=2").ok
    corner = Sketch().rect(MET1, 0, 0, 400, 400).rect(MET2, 0, 0, 400, 400)
    corner.rect(VIA, 0, 0, 150, 150).rect(VIA, 150, 150, 300, 300)
    assert judge(corner, "via_chain:via=68/44,vias=2").ok
    assert not judge(corner, THREE).ok


def test_rail_that_hangs_together_by_a_corner_is_no_net() -> None:
    sketch = Sketch().rect(MET1, 0, 0, 400, 200).rect(MET1, 400, 200, 900, 400)
    for x, y in ((0, 0), (200, 0), (500, 250)):
        sketch.rect(VIA, x, y, x + 150, y + 150).rect(MET2, x, y, x + 150, y + 150)
    assert not judge(sketch, THREE).ok
    assert judge(sketch.rect(MET1, 399, 199, 401, 201), THREE).ok


def test_contacts_may_stand_on_any_conductor_that_they_join() -> None:
    sketch = Sketch().rect(LI1, 0, 0, 2000, 170)
    for x, bottom in ((0, DIFF), (600, POLY), (1200, TAP)):
        sketch.rect(LICON, x, 0, x + 170, 170).rect(bottom, x, 0, x + 170, 170)
    assert judge(sketch, "via_chain:via=66/44,vias=3").ok
    assert not judge(sketch, "via_chain:via=66/44,vias=2,bottom=66/20").ok
    assert judge(sketch, "via_chain:via=66/44,vias=1,bottom=66/20").ok


def test_conductors_that_the_technology_does_not_join_are_refused() -> None:
    with pytest.raises(ValueError, match="does not join bottom 67/20 and top 69/20 by layer 68/44"):
        oracle_of("via_chain:via=68/44,vias=2,bottom=67/20,top=69/20").witness()
    with pytest.raises(ValueError, match="does not join any conductors by layer 68/20"):
        judge(Sketch(), "via_chain:via=68/20,vias=2")


@pytest.mark.parametrize("params", ["vias=0", "vias=1001", "vias=2,top=68/44"])
def test_parameters_that_make_no_sense_are_refused(params: str) -> None:
    with pytest.raises(CheckerError, match=r"vias: input should be|three different layers"):
        oracle_of(f"via_chain:via=68/44,{params}")


def test_chain_of_a_single_cut_has_a_gate_too() -> None:
    oracle = oracle_of("via_chain:via=68/44,vias=1")
    assert oracle.judge(oracle.build(oracle.witness())).ok
    assert not judge(Sketch().rect(VIA, 0, 0, 150, 150).rect(MET1, 0, 0, 150, 150), "via_chain:via=68/44,vias=1").ok
