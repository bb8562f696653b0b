"""antenna_ratio: what is on a gate at each stage of the process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import klayout.db as db
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iclayout_checkers.antenna_ratio import metal_area, stages
from judging import judge, oracle_of

from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.view import LayoutView, open_view
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

DIFF, POLY, LICON, LI1, MCON = (Layer.parse(one) for one in ("65/20", "66/20", "66/44", "67/20", "67/44"))
MET1, VIA, MET2 = (Layer.parse(one) for one in ("68/20", "68/44", "69/20"))


def place(left: int, bottom: int, right: int, top: int) -> dict[str, dict[str, int]]:
    return {"min": {"x": left, "y": bottom}, "max": {"x": right, "y": top}}


PARAMS = {"gate": place(0, 0, 200, 1000), "driver": place(90_000, 1500, 90_300, 1800), "driver_layer": "69/20"}


def gate(sketch: Sketch | None = None) -> Sketch:
    """Gate area 200000 dbu²; pads of 90000 dbu² on li1 and met1, the wire on met2."""
    sketch = (sketch or Sketch()).rect(DIFF, -500, 0, 700, 1000).rect(POLY, 0, -200, 200, 1800)
    for layer in (LI1, MET1):
        sketch.rect(layer, -50, 1500, 250, 1800)
    for layer in (LICON, MCON, VIA):
        sketch.rect(layer, 20, 1570, 180, 1730)
    return sketch.rect(MET2, -50, 1500, 90_300, 1800)


def verdict(sketch: Sketch, **params: Any) -> str:
    return judge(sketch, "antenna_ratio", {**PARAMS, "max_ratio": 1, **params}).summary()


@pytest.mark.parametrize(("more", "ok"), [(0, True), (1, False)])
@pytest.mark.parametrize("layer", [LI1, MET1])
def test_limit_itself_is_allowed(layer: Layer, more: int, ok: bool) -> None:
    """Pads of 90000 dbu² and 110000 dbu² more make up the gate's area."""
    sketch = gate().rect(layer, 250, 1500, 350, 1500 + 1100 - 300).rect(layer, 250, 2300, 350, 2600)
    if more:
        sketch.rect(layer, 350, 1500, 351, 1501)
    assert (verdict(sketch) == "accepted") == ok


@pytest.mark.parametrize(("cumulative", "ok"), [(False, True), (True, False)])
def test_lower_conductors_count_where_it_is_cumulative(cumulative: bool, ok: bool) -> None:
    sketch = gate().rect(MET1, 250, 1500, 351, 1700)
    assert (verdict(sketch, cumulative=cumulative) == "accepted") == ok


def test_metal_that_is_not_on_the_gate_does_not_count() -> None:
    assert verdict(gate().rect(MET1, 251, 0, 50_000, 50_000)) == "accepted"
    found = verdict(gate().rect(MET1, 250, 1500, 50_000, 50_000))
    assert "before anything above met1 (68/20) connects it" in found


def test_metal_that_only_higher_metal_connects_comes_too_late() -> None:
    """A large plate of met1 on the far side of met2."""
    sketch = gate().rect(MET1, 40_000, 1500, 60_000, 40_000).rect(VIA, 50_000, 1600, 50_150, 1750)
    assert verdict(sketch) == "accepted"


def test_metal_above_the_driver_is_not_limited() -> None:
    via2, met3 = Layer.parse("69/44"), Layer.parse("70/20")
    sketch = gate().rect(via2, 1000, 1600, 1200, 1700).rect(met3, 0, 1500, 50_000, 50_000)
    assert verdict(sketch) == "accepted"


def test_driver_that_is_reached_on_a_lower_metal_protects_from_there() -> None:
    params = {"driver_layer": "68/20"}
    sketch = gate().rect(MET1, 250, 1500, 90_300, 1800)
    assert verdict(sketch, **params) == "accepted"
    assert "67/20" in verdict(gate(sketch).rect(LI1, 250, 1500, 351, 3000), **params)


def test_source_and_drain_may_be_contacted() -> None:
    sketch = gate().rect(LICON, -400, 400, -230, 570).rect(LI1, -450, 350, -180, 620)
    assert verdict(sketch) == "accepted"
    assert "the gate's net reaches diff (65/20)" in verdict(
        sketch.rect(LI1, -450, 350, -180, 1800).rect(LI1, -200, 1500, 0, 1800)
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"gate": place(0, 0, 0, 100)}, "gate has no area"),
        ({"driver": place(200, 1000, 300, 1100)}, "gate and driver touch"),
        ({"driver_layer": "65/20"}, "are different layers"),
        ({"max_ratio": 0}, "max_ratio"),
    ],
)
def test_parameters_that_make_no_sense_are_told(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(CheckerError, match=complaint):
        oracle_of("antenna_ratio", {**PARAMS, "max_ratio": 1, **change})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"driver_layer": "64/20"}, "no cuts lead from"),
        ({"driver": place(1000, 0, 1300, 300)}, "which is no long wire"),
        ({"gate": place(0, 0, 150, 420)}, "more than the gate bears"),
    ],
)
def test_task_that_no_layout_solves_is_told(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        oracle_of("antenna_ratio", {**PARAMS, "max_ratio": 1, **change}).witness()


def by_klayout(view: LayoutView, metal: Layer, above: set[Layer], ratio: float) -> bool:
    """Whether klayout's own check finds a gate with too much of a metal before those above are there."""
    engine = db.LayoutToNetlist(view.cell.name, view.layout.dbu)
    regions: dict[Layer, db.Region] = {}
    channel = view.region(POLY) & view.region(DIFF)
    for one in view.technology.connections:
        for layer in filter(None, (one.bottom, one.cut, one.top)):
            if layer not in regions and layer not in above:
                regions[layer] = view.region(layer).dup()
                if layer == DIFF:
                    regions[layer] -= view.region(POLY)
                engine.register(regions[layer], "")
                engine.connect(regions[layer])
    engine.register(channel, "")
    engine.connect(channel, regions[POLY])
    for one in view.technology.connections:
        if one.cut is not None and {one.bottom, one.top}.isdisjoint(above):
            engine.connect(regions[one.bottom], regions[one.cut])
            engine.connect(regions[one.cut], regions[one.top])
    engine.extract_netlist()
    return not engine.antenna_check(channel, regions[metal], ratio).is_empty()


BARS = st.lists(
    st.tuples(
        st.sampled_from([LI1, MET1, MET2, MCON, VIA]), st.integers(-4, 12), st.integers(6, 16), st.integers(1, 9)
    ),
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(BARS)
def test_areas_are_those_of_klayouts_antenna_check(bars: list[tuple[Layer, int, int, int]]) -> None:
    """The driver is nowhere: every stage counts.  Bars overlap by area or keep apart, corners aside."""
    sketch = gate()
    for number, (layer, x, y, length) in enumerate(bars):
        # Odd offsets of its own keep a bar from touching another one without overlapping it.
        left, bottom = 201 * x + 3 * number, 203 * y + 5 * number
        sketch.rect(layer, left, bottom, left + 97 * length, bottom + 151)
    params = {**PARAMS, "max_ratio": 1, "driver": place(-90_000, 0, -89_000, 100)}
    oracle = oracle_of("antenna_ratio", params)
    view = open_view(oracle.build(sketch.drawing), oracle.bench.technology, "published", "top")
    found = list(stages(view, POLY))
    for stage in found:
        metal = stage.metals[-1]
        above = {layer for other in found for layer in other.metals} - set(stage.metals)
        nets = Connectivity(replace(view, technology=stage.technology)).joined
        ratio = metal_area(nets, oracle.params, (metal,)) / 200_000
        assert not by_klayout(view, metal, above, ratio * 1.0001 + 1e-6)
        assert ratio == 0 or by_klayout(view, metal, above, ratio * 0.9999)
