"""net_trace_*: what the probes are on, what the nets under them join, and how large and how often drawn they are."""

from __future__ import annotations

import pytest
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

LI1, MCON, MET1, VIA, MET2 = (Layer(layer=a, datatype=b) for a, b in ((67, 20), (67, 44), (68, 20), (68, 44), (69, 20)))
CONNECTED = "net_trace_connected:a=50/100,b=950/100"
ISOLATED = "net_trace_isolated:a=50/100,b=950/100"
EXTENT = "net_trace_extent:probe=50/100,min_width=1500,min_height=200"
WIRE = (0, 50, 1000, 150)


@pytest.mark.parametrize("gap", [0, 1])
def test_gap_of_one_dbu_parts_a_wire(gap: int) -> None:
    sketch = Sketch().rect(MET1, 0, 50, 500, 150).rect(MET1, 500 + gap, 50, 1000, 150)
    assert judge(sketch, CONNECTED).ok == (gap == 0)
    assert judge(sketch, ISOLATED).ok == (gap == 1)


def test_wires_that_meet_in_a_corner_are_neither_connected_nor_isolated() -> None:
    sketch = Sketch().rect(MET1, 0, 50, 500, 150).rect(MET1, 500, 150, 600, 250).rect(MET1, 600, 50, 1000, 150)
    (finding,) = judge(sketch, CONNECTED).findings
    assert finding.message == "a (50, 100) and b (950, 100) are not on one net"
    (finding,) = judge(sketch, ISOLATED).findings
    assert finding.message == "a (50, 100) and b (950, 100) are on one net"


@pytest.mark.parametrize(("left", "right"), [(50, 950), (51, 950), (50, 949)])
def test_probe_on_the_outline_is_on_the_shape(left: int, right: int) -> None:
    sketch = Sketch().rect(MET1, left, 100, right, 200)
    assert judge(sketch, CONNECTED).ok == ((left, right) == (50, 950))


@pytest.mark.parametrize("text", [CONNECTED, ISOLATED])
def test_bare_probe_is_named(text: str) -> None:
    (finding,) = judge(Sketch().rect(MET1, 0, 50, 500, 150), text).findings
    assert finding.message == "b (950, 100) is on no shape of a conductor"
    assert str(finding.place) == "(950,100;950,100)"
    assert len(judge(Sketch(), text).findings) == 2


@pytest.mark.parametrize("cuts", range(3))
def test_bridge_on_another_layer_connects_through_both_its_cuts(cuts: int) -> None:
    sketch = Sketch().rect(MET1, 0, 50, 400, 150).rect(MET1, 600, 50, 1000, 150).rect(MET2, 200, 50, 800, 150)
    for x in (250, 650)[:cuts]:
        sketch.rect(VIA, x, 60, x + 80, 140)
    assert judge(sketch, CONNECTED).ok == (cuts == 2)
    assert judge(sketch, ISOLATED).ok == (cuts < 2)


def test_layer_restricts_the_probes_and_not_the_net() -> None:
    sketch = Sketch().rect(MET1, 0, 50, 500, 150).rect(MET2, 400, 50, 1000, 150).rect(VIA, 420, 60, 480, 140)
    assert judge(sketch, CONNECTED).ok
    (finding,) = judge(sketch, f"{CONNECTED},layer=68/20").findings
    assert finding.message == "b (950, 100) is on no shape of met1 (68/20)"
    assert not judge(sketch, f"{CONNECTED},layer=69/20").ok


def test_isolated_probes_may_not_share_the_net_of_any_layer_over_them() -> None:
    sketch = Sketch().rect(MET1, 0, 50, 400, 150).rect(MET1, 600, 50, 1000, 150).rect(MET2, *WIRE)
    assert not judge(sketch, ISOLATED).ok
    assert judge(sketch, f"{ISOLATED},layer=68/20").ok


@pytest.mark.parametrize("count", [2, 3])
def test_shapes_are_counted_as_drawn(count: int) -> None:
    sketch = Sketch().rect(MET1, 0, 50, 500, 150).rect(MET1, 500, 50, 1000, 150)
    verdict = judge(sketch, f"{CONNECTED},min_shapes={count}")
    assert verdict.ok == (count == 2)
    assert verdict.ok or verdict.findings[0].measured == 2


def test_same_shape_drawn_twice_counts_once() -> None:
    sketch = Sketch().rect(MET1, *WIRE).rect(MET1, *WIRE).polygon(MET1, [(0, 50), (0, 150), (1000, 150), (1000, 50)])
    sketch.path(MET1, 100, [(0, 100), (1000, 100)])
    assert judge(sketch, f"{CONNECTED},min_shapes=2").findings[0].measured == 1


def test_shapes_without_area_beside_the_net_and_on_other_layers_do_not_count() -> None:
    sketch = Sketch().rect(MET1, *WIRE).rect(MET1, 0, 100, 1000, 100).rect(MET1, 1000, 150, 1100, 250)
    sketch.rect(MET2, *WIRE).rect(MCON, 2000, 50, 2100, 150)
    assert judge(sketch, f"{CONNECTED},min_shapes=2").findings[0].measured == 1


def test_cuts_and_the_shapes_of_instances_count() -> None:
    part = Sketch("part").rect(MET1, 0, 0, 500, 100).rect(VIA, 10, 10, 90, 90).rect(MET2, 0, 0, 100, 100)
    sketch = Sketch().include(part).place("part", 0, 50).place("part", 500, 50)
    assert judge(sketch, f"{CONNECTED},min_shapes=6").ok
    assert not judge(sketch, f"{CONNECTED},min_shapes=7").ok


@pytest.mark.parametrize(("width", "height"), [(1500, 200), (1499, 200), (1500, 199)])
def test_extent_is_inclusive(width: int, height: int) -> None:
    verdict = judge(Sketch().rect(MET2, 0, 0, width, height), EXTENT)
    assert verdict.ok == ((width, height) == (1500, 200))
    if not verdict.ok:
        assert f"reaches over {width} x {height} dbu" in verdict.findings[0].message


@pytest.mark.parametrize("cut", [True, False])
def test_extent_is_that_of_the_net_on_all_layers(cut: bool) -> None:
    sketch = Sketch().rect(LI1, 0, 50, 800, 150).rect(MET1, 700, 0, 1500, 200)
    if cut:
        sketch.rect(MCON, 710, 60, 790, 140)
    assert judge(sketch, EXTENT).ok == cut


def test_extent_of_pieces_that_meet_in_a_corner_is_not_that_of_both() -> None:
    assert not judge(Sketch().rect(MET1, 0, 0, 1000, 150).rect(MET1, 1000, 150, 1500, 200), EXTENT).ok


def test_extent_of_one_of_two_nets_over_the_probe_is_enough() -> None:
    sketch = Sketch().rect(MET1, 0, 0, 100, 200).rect(MET2, 0, 0, 1500, 200)
    assert judge(sketch, EXTENT).ok
    assert len(judge(sketch, EXTENT.replace("1500", "1501")).findings) == 2


@pytest.mark.parametrize("text", ["50", "50/", "50,100", "1.5/2", "a/b", "50/100/2", "²/1"])
def test_point_in_another_form_is_refused_with_the_form_that_is_taken(text: str) -> None:
    with pytest.raises(CheckerError, match=r"a: '.*' is not a point; write X/Y in whole dbu, for example 50/100"):
        oracle_of("net_trace_connected", {"a": text, "b": "1/1"})


@pytest.mark.parametrize("point", ["100000001/0", "0/-9999999999", {"x": 0, "y": 100000001}])
def test_point_out_of_reach_is_refused(point: object) -> None:
    with pytest.raises(CheckerError, match=r"probe: .* is out of reach; a coordinate is from -100000000 to 100000000"):
        oracle_of("net_trace_extent", {"probe": point, "min_width": 1, "min_height": 1})


def test_point_may_be_a_table_and_negative() -> None:
    wide = {"a": {"x": -50, "y": -1}, "b": "-7/+3"}
    assert judge(Sketch().rect(MET1, -50, -1, -7, 3), "net_trace_connected", wide).ok


@pytest.mark.parametrize("name", ["net_trace_connected", "net_trace_isolated"])
def test_same_point_twice_is_refused(name: str) -> None:
    with pytest.raises(CheckerError, match="a and b are the same point"):
        oracle_of(f"{name}:a=1/2,b=1/2")


@pytest.mark.parametrize("name", ["net_trace_connected", "net_trace_isolated"])
def test_layer_that_is_no_conductor_is_refused_with_the_conductors(name: str) -> None:
    with pytest.raises(ValueError, match="layer: 68/44 is no conductor of technology sky130; conductors are 64/20, "):
        oracle_of(f"{name}:a=1/2,b=3/4,layer=68/44").witness()
