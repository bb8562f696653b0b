"""contact_stack: every cut, on every side, by both conductors, measured on the true shapes."""

from __future__ import annotations

from math import cos, pi, sin

import pytest
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

MET1, VIA, MET2 = (Layer(layer=a, datatype=b) for a, b in ((68, 20), (68, 44), (69, 20)))
DIFF, TAP, POLY, LICON, LI1 = (
    Layer(layer=a, datatype=b) for a, b in ((65, 20), (65, 44), (66, 20), (66, 44), (67, 20))
)
VIA_55 = "contact_stack:via=68/44,min_enclosure=55"
CUT = (0, 0, 150, 150)


def around(left: int, bottom: int, right: int, top: int) -> tuple[int, int, int, int]:
    return CUT[0] - left, CUT[1] - bottom, CUT[2] + right, CUT[3] + top


@pytest.mark.parametrize(("short", "other"), [(MET1, MET2), (MET2, MET1)])
@pytest.mark.parametrize("side", range(4))
def test_enclosure_is_inclusive_on_each_side_and_layer(short: Layer, other: Layer, side: int) -> None:
    margins = [54 if number == side else 55 for number in range(4)]
    legal = around(55, 55, 55, 55)
    assert judge(Sketch().rect(VIA, *CUT).rect(other, *legal).rect(short, *legal), VIA_55).ok
    sketch = Sketch().rect(VIA, *CUT).rect(other, *legal).rect(short, *around(*margins))
    (finding,) = judge(sketch, VIA_55).findings
    assert (finding.layer, finding.measured, finding.required) == (short, 54, 55)
    assert str(finding.place) == "(0,0;150,150)"


def test_finding_names_the_plate_and_the_enclosure() -> None:
    sketch = Sketch().rect(VIA, *CUT).rect(MET1, *around(55, 55, 55, 55)).rect(MET2, *around(55, 40, 55, 55))
    (finding,) = judge(sketch, VIA_55).findings
    assert finding.message == (
        "via (68/44) cut enclosed by 40 dbu by its top, met2 (69/20): at least 55 dbu on every side required"
    )


def test_cut_flush_with_its_plates_passes_where_no_enclosure_is_asked() -> None:
    sketch = Sketch().rect(VIA, *CUT).rect(MET1, *CUT).rect(MET2, *CUT)
    assert judge(sketch, "contact_stack:via=68/44").ok
    (bottom, top) = judge(sketch, "contact_stack:via=68/44,min_enclosure=1").findings
    assert (bottom.measured, top.measured) == (0, 0)


def test_cut_that_stands_out_by_one_dbu_is_not_covered() -> None:
    sketch = Sketch().rect(VIA, *CUT).rect(MET1, *CUT).rect(MET2, 0, 0, 150, 149)
    (finding,) = judge(sketch, "contact_stack:via=68/44").findings
    assert "not covered by its top" in finding.message
    assert finding.measured == -1


def polygon(sides: int, apothem: int) -> list[tuple[int, int]]:
    """A regular polygon about the cut's centre whose edges are ``apothem`` dbu from it, or a little more."""
    radius = apothem / cos(pi / sides)
    angles = ((2 * number + 1) * pi / sides for number in range(sides))
    return [(75 + round(radius * cos(angle)), 75 + round(radius * sin(angle))) for angle in angles]


@pytest.mark.parametrize("sides", [8, 64])
def test_plate_with_many_corners_is_measured_at_its_edges(sides: int) -> None:
    """Its bounding box encloses the cut by 85 dbu in both cases; at the corners of the cut it is far less."""
    plate = polygon(sides, 160)
    bare = Sketch().rect(VIA, *CUT).rect(MET1, *around(85, 85, 85, 85))
    reach = 160 - 75 * 2**0.5
    found = judge(bare.polygon(MET2, plate), "contact_stack:via=68/44,min_enclosure=60").findings
    assert [one.layer for one in found] == [MET2]
    assert found[0].measured == pytest.approx(reach, abs=2)
    assert judge(bare, f"contact_stack:via=68/44,min_enclosure={int(reach) - 2}").ok


def test_plates_without_a_cut_are_no_contact() -> None:
    plates = Sketch().rect(MET1, *around(55, 55, 55, 55)).rect(MET2, *around(55, 55, 55, 55))
    (finding,) = judge(plates.rect(VIA, 0, 0, 150, 0), VIA_55).findings
    assert finding.message == "via (68/44) has no cut"


def test_plate_of_pieces_is_one_plate() -> None:
    left, bottom, right, top = around(55, 55, 55, 55)
    sketch = Sketch().rect(VIA, *CUT).rect(MET2, left, bottom, right, top)
    sketch.rect(MET1, left, bottom, 70, top).rect(MET1, 70, bottom, right, top)
    assert judge(sketch, VIA_55).ok


def test_plate_with_a_hole_over_the_cut_does_not_cover_it() -> None:
    left, bottom, right, top = around(200, 200, 200, 200)
    sketch = Sketch().rect(VIA, *CUT).rect(MET2, left, bottom, right, top)
    sketch.rect(MET1, left, bottom, right, 70).rect(MET1, left, 71, right, top)
    assert not judge(sketch, "contact_stack:via=68/44").ok


def test_every_cut_is_judged() -> None:
    sketch = Sketch()
    for x in (0, 400, 800):
        sketch.rect(VIA, x, 0, x + 150, 150)
    sketch.rect(MET1, -55, -55, 1005, 205).rect(MET2, -55, -55, 1005 - 1, 205)
    (finding,) = judge(sketch, VIA_55).findings
    assert str(finding.place) == "(800,0;950,150)"


def test_neighbour_of_a_short_cut_is_not_reported() -> None:
    """The violation's own box reaches over the second cut here, which has the enclosure."""
    sketch = Sketch().rect(VIA, 0, 0, 150, 150).rect(VIA, 160, 160, 200, 200)
    sketch.rect(MET2, -55, -55, 300, 300)
    sketch.polygon(MET1, [(-55, -55), (300, -55), (300, 300), (100, 300), (100, 190), (-55, 190)])
    found = judge(sketch, VIA_55).findings
    assert [str(one.place) for one in found if one.layer == MET1] == ["(0,0;150,150)"]


def test_stack_in_a_turned_instance_is_judged_where_it_stands() -> None:
    part = Sketch("part").rect(VIA, *CUT).rect(MET1, *around(55, 55, 55, 55))
    assert judge(Sketch().include(part).place("part", 1000, 500).rect(MET2, 945, 445, 1205, 705), VIA_55).ok
    assert not judge(Sketch().include(part).place("part", 1001, 500).rect(MET2, 945, 445, 1205, 705), VIA_55).ok


@pytest.mark.parametrize("bottom", [DIFF, TAP, POLY])
def test_contact_may_stand_on_any_conductor_that_it_joins(bottom: Layer) -> None:
    sketch = Sketch().rect(LICON, 0, 0, 170, 170).rect(LI1, 0, 0, 170, 170).rect(bottom, 0, 0, 170, 170)
    assert judge(sketch, "contact_stack:via=66/44").ok
    assert judge(sketch, "contact_stack:via=66/44,bottom=66/20").ok == (bottom == POLY)


def test_contacts_of_one_layout_may_stand_on_different_conductors() -> None:
    sketch = Sketch().rect(LI1, 0, 0, 2000, 170)
    for x, bottom in ((0, DIFF), (600, POLY), (1200, TAP)):
        sketch.rect(LICON, x, 0, x + 170, 170).rect(bottom, x, 0, x + 170, 170)
    assert judge(sketch, "contact_stack:via=66/44").ok


def test_contact_half_on_diffusion_and_half_on_poly_is_covered_by_neither() -> None:
    sketch = Sketch().rect(LICON, 0, 0, 170, 170).rect(LI1, 0, 0, 170, 170)
    sketch.rect(DIFF, 0, 0, 85, 170).rect(POLY, 85, 0, 170, 170)
    (finding,) = judge(sketch, "contact_stack:via=66/44").findings
    assert "not covered by its bottom" in finding.message


def test_via_that_the_technology_does_not_join_needs_its_conductors() -> None:
    with pytest.raises(ValueError, match="68/20 is no cut of technology sky130; name both bottom and top"):
        oracle_of("contact_stack:via=68/20").witness()
    oracle = oracle_of("contact_stack:via=68/20,bottom=67/20,top=69/20")
    assert oracle.judge(oracle.build(oracle.witness())).ok


def test_same_layer_in_two_roles_is_refused() -> None:
    with pytest.raises(CheckerError, match="three different layers"):
        oracle_of("contact_stack:via=68/44,top=68/44")


def test_slanted_cut_stays_covered_when_another_plate_is_drawn_over_its_own() -> None:
    """Merging moves crossings of slanted edges to the grid, which once left a sliver of the cut uncovered."""
    triangle = [(84, 224), (48, 280), (182, 86)]
    sketch = Sketch().polygon(VIA, triangle).rect(MET1, 0, 0, 400, 400).polygon(MET2, triangle)
    assert judge(sketch, "contact_stack:via=68/44").ok
    assert judge(sketch.rect(MET2, 61, 129, 134, 218), "contact_stack:via=68/44").ok


def test_slanted_cut_that_stands_out_by_a_dbu_is_not_covered() -> None:
    triangle = [(84, 224), (48, 280), (182, 86)]
    sketch = Sketch().polygon(VIA, triangle).rect(MET1, 0, 0, 400, 400)
    sketch.polygon(MET2, [(x + 1, y) for x, y in triangle]).rect(MET2, 61, 129, 134, 218)
    assert not judge(sketch, "contact_stack:via=68/44").ok


def test_cuts_that_meet_in_a_corner_are_judged_each_by_itself() -> None:
    """One stands on diffusion, the other on poly; each is right, and neither layer covers both."""
    sketch = Sketch().rect(LICON, 0, 0, 100, 100).rect(LICON, 100, 100, 200, 200).rect(LI1, 0, 0, 200, 200)
    sketch.rect(DIFF, 0, 0, 100, 100).rect(POLY, 100, 100, 200, 200)
    assert judge(sketch, "contact_stack:via=66/44").ok
