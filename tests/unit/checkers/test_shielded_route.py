"""shielded_route: where a wire is shielded, what the shield is, and what must not be beside it."""

from __future__ import annotations

from typing import Any

import klayout.db as db
import pytest
from iclayout_checkers.shields import shielded_length
from iclayout_checkers.wires import wire_of
from judging import oracle_of

from pytest_iclayout.checking.gate import GateSettings, check_accepts, check_rejects
from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.technology.layers import Layer

MET2, VIA, MET1 = Layer.parse("69/20"), Layer.parse("68/44"), Layer.parse("68/20")
Points = list[tuple[int, int]]


def measured(points: Points, width: int, shield: list[db.Box], reach: int) -> int:
    region = db.Region(db.Path([db.Point(*one) for one in points], width).polygon()).merged()
    polygon = next(region.each())
    wire = wire_of(polygon, width)
    assert wire is not None
    return shielded_length(polygon, wire, width, db.Region(shield).merged(), reach)


ABOVE, BELOW = db.Box(0, 40, 1000, 50), db.Box(0, -50, 1000, -40)


@pytest.mark.parametrize(("reach", "length"), [(29, 0), (30, 1000), (31, 1000)])
def test_shield_counts_up_to_its_reach(reach: int, length: int) -> None:
    assert measured([(0, 0), (1000, 0)], 20, [ABOVE, BELOW], reach) == length


@pytest.mark.parametrize("shield", [[ABOVE], [BELOW], []])
def test_one_side_is_not_enough(shield: list[db.Box]) -> None:
    assert measured([(0, 0), (1000, 0)], 20, shield, 30) == 0


def test_shields_that_take_turns_count_where_both_are() -> None:
    shield = [db.Box(-50, 40, 600, 50), db.Box(250, -50, 400, -40), db.Box(550, -50, 2000, -40)]
    assert measured([(0, 0), (1000, 0)], 20, shield, 30) == 150 + 50


@pytest.mark.parametrize("turn", range(8))
def test_length_is_the_same_in_every_direction(turn: int) -> None:
    trans = db.Trans(turn % 4, turn >= 4, 13, 7)
    points = [trans * db.Point(x, y) for x, y in ((0, 0), (1000, 0), (1000, 800))]
    # Inner and outer shields that follow the wire at 30 dbu; the bend costs 20 dbu and twice 30.
    shield = [
        db.Box(0, -50, 1050, -40),
        db.Box(1040, -50, 1050, 800),
        db.Box(0, 40, 960, 50),
        db.Box(950, 40, 960, 800),
    ]
    found = measured([(one.x, one.y) for one in points], 20, [one.transformed(trans) for one in shield], 30)
    assert found == 1800 - 20 - 2 * 30


def test_shield_behind_the_wire_itself_does_not_count() -> None:
    """The wire turns back between its first piece and the shield above it."""
    points = [(0, 0), (1000, 0), (1000, 60), (500, 60)]
    shield = [db.Box(0, 110, 1000, 120), db.Box(0, -50, 1000, -40)]
    assert measured(points, 20, shield, 100) == 500


def test_wire_of_odd_width_is_measured_at_its_edges() -> None:
    polygon = db.Polygon(db.Box(0, 0, 1000, 21))
    wire = wire_of(polygon, 21)
    assert wire is not None
    shield = db.Region([db.Box(0, 51, 1000, 60), db.Box(0, -40, 1000, -30)])
    assert [shielded_length(polygon, wire, 21, shield, reach) for reach in (29, 30)] == [0, 1000]


def terminal(name: str, x: int, y: int, layer: str = "69/20") -> dict[str, Any]:
    corners = {"min": {"x": x - 100, "y": y - 100}, "max": {"x": x + 100, "y": y + 100}}
    return {"name": name, "layer": layer, "region": corners}


SIGNAL = {"name": "s", "terminals": [terminal("s1", 0, 0), terminal("s2", 5000, 0)]}
SHIELD = {"name": "g", "terminals": [terminal("g1", -1000, 0), terminal("g2", 6000, 0)]}
PARAMS: dict[str, Any] = {
    "intent": {"nets": [SIGNAL, SHIELD]},
    "width": 200,
    "max_gap": 200,
    "permille": 1000,
    "rules": False,
}


def wire(left: int = 0) -> Sketch:
    return Sketch().rect(MET2, left, -100, 5000, 100)


def beside(sketch: Sketch, gap: int = 200) -> Sketch:
    """Two bars, not joined."""
    return sketch.rect(MET2, -1000, 100 + gap, 6000, 500).rect(MET2, -1000, -500, 6000, -100 - gap)


def whole(sketch: Sketch, gap: int = 200) -> Sketch:
    return beside(sketch, gap).rect(MET2, -1100, -500, -1000, 500).rect(MET2, 6000, -500, 6100, 500)


def said(sketch: Sketch, **params: Any) -> list[str]:
    oracle = oracle_of("shielded_route", {**PARAMS, **params})
    found = [one.message for one in oracle.judge(oracle.build(sketch.drawing)).findings]
    return [one.removeprefix("met2 (69/20): ") for one in found]


def test_shielded_wire_passes() -> None:
    assert said(whole(wire())) == []


def test_one_dbu_farther_is_not_shielded() -> None:
    assert said(whole(wire(), 201)) == [
        "the wire has a shield within 200 dbu at both sides over 0 of its 5000 dbu, 1000 permille required"
    ]


@pytest.mark.parametrize(("gap", "ok"), [(150, True), (149, False)])
def test_shield_keeps_the_least_gap(gap: int, ok: bool) -> None:
    assert said(whole(wire(), gap), min_gap=150) == (
        [] if ok else ["149 dbu from the wire to other metal, at least 150 dbu required"]
    )


@pytest.mark.parametrize(("permille", "ok"), [(900, True), (901, False)])
def test_share_is_exact(permille: int, ok: bool) -> None:
    sketch = wire().rect(MET2, -1000, 300, 6000, 500).rect(MET2, -1000, -500, 2000, -300)
    sketch.rect(MET2, 2500, -500, 6000, -300)
    sketch.rect(MET2, -1100, -500, -1000, 500).rect(MET2, 6000, -500, 6100, 500)
    assert (said(sketch, permille=permille) == []) == ok


def test_shields_that_are_not_joined_are_two_nets() -> None:
    assert said(beside(wire())) == ["beside the wire the layer holds 2 net(s), exactly 1 required, g"]


def test_shields_joined_below_the_wire_are_one_net() -> None:
    sketch = beside(wire()).rect(MET1, 2000, -500, 2300, 500)
    sketch.rect(VIA, 2050, 350, 2200, 450).rect(VIA, 2050, -450, 2200, -350)
    reached = {"name": "g", "terminals": [terminal("g1", -1000, 400), terminal("g2", 6000, -400)]}
    assert said(sketch, intent={"nets": [SIGNAL, reached]}) == []


def test_wire_with_a_via_to_another_layer_is_not_alone() -> None:
    sketch = whole(wire()).rect(MET1, 2000, -100, 2300, 100).rect(VIA, 2050, -50, 2200, 50)
    assert said(sketch) == ["the wire of net s is connected to something else"]


def test_metal_that_crosses_below_without_a_via_is_nothing_to_the_wire() -> None:
    assert said(whole(wire()).rect(MET1, 2000, -900, 2300, 900)) == []


def test_metal_of_a_third_net_is_refused() -> None:
    assert said(whole(wire()).rect(MET2, 9000, 0, 9500, 500)) == [
        "beside the wire the layer holds 2 net(s), exactly 1 required, g"
    ]


def test_ground_terminal_without_the_shield_is_named() -> None:
    far = {"name": "g", "terminals": [terminal("g1", -1000, 0), terminal("g2", 6000, 3000)]}
    assert said(whole(wire()), intent={"nets": [SIGNAL, far]}) == ["net g is not connected to terminal g2"]


def test_shield_on_a_terminal_of_the_signal_is_a_short() -> None:
    sketch = whole(wire(left=90)).rect(MET2, -1000, -50, -50, 50)
    found = said(sketch)
    assert found == ["the other net is on terminal s1 of net s"]


def test_wire_that_ends_outside_of_its_terminal_is_none() -> None:
    assert said(whole(wire(left=100))) == []
    assert said(whole(wire(left=101)))[0].startswith("0 wire(s) of 200 dbu")


def test_corner_contact_with_the_wire_is_a_short() -> None:
    assert "0 dbu from the wire to other metal" in said(whole(wire()).rect(MET2, 5000, 100, 5100, 500))[0]


def test_slanted_edges_are_refused() -> None:
    sketch = whole(wire()).polygon(MET2, [(0, 500), (500, 1000), (1000, 500)])
    assert said(sketch) == ["a shape has an edge that is neither horizontal nor vertical"]


def test_keep_out_may_be_touched_and_not_entered() -> None:
    def place(low: int) -> dict[str, Any]:
        return {"keep_out": [{"min": {"x": 0, "y": low}, "max": {"x": 1000, "y": 900}}]}

    assert said(whole(wire()), **place(500)) == []
    assert said(whole(wire()), **place(499)) == ["something is drawn where nothing may be"]


def test_rules_decide_where_the_task_says_so() -> None:
    assert any("space 130" in one for one in said(whole(wire(), 130), rules=True))


@pytest.mark.parametrize("width", [199, 200])
@pytest.mark.parametrize("end", [(5000, 0), (0, -5000), (-6000, 4000), (3000, -7000)])
def test_witness_is_right_and_negatives_are_wrong_in_every_direction(width: int, end: tuple[int, int]) -> None:
    x, y = end
    nets = [
        {"name": "s", "terminals": [terminal("s1", 0, 0), terminal("s2", x, y)]},
        {"name": "g", "terminals": [terminal("g1", x + 2000, y), terminal("g2", -2000, 0)]},
    ]
    oracle = oracle_of(
        "shielded_route", {**PARAMS, "intent": {"nets": nets}, "width": width, "permille": 800, "rules": True}
    )
    check_accepts(oracle, "shielded", GateSettings(examples=2))
    check_rejects(oracle, "shielded", GateSettings(examples=22))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"intent": {"nets": [SIGNAL]}}, "two nets are required"),
        ({"intent": {"nets": [{**SIGNAL, "terminals": SIGNAL["terminals"][:1]}, SHIELD]}}, "with two terminals"),
        (
            {"intent": {"nets": [SIGNAL, {"name": "g", "terminals": [terminal("g1", -1000, 0, "68/20")]}]}},
            "on one layer",
        ),
        ({"intent": {"nets": [SIGNAL, {"name": "g", "terminals": [terminal("g1", 200, 0)]}]}}, "terminals touch"),
        (
            {"intent": {"nets": [SIGNAL, SHIELD], "forbidden": [{"net_a": "s", "net_b": "g"}]}},
            "forbidden is not taken",
        ),
        ({"min_gap": 201}, "min_gap 201 is more than max_gap 200"),
        ({"keep_out": [{"min": {"x": 0, "y": 0}, "max": {"x": 0, "y": 9}}]}, "keep_out: a region without area"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckerError, match=message):
        oracle_of("shielded_route", {**PARAMS, **params})


def test_gap_that_no_rule_allows_has_no_witness() -> None:
    oracle = oracle_of("shielded_route", {**PARAMS, "max_gap": 139})
    with pytest.raises(ValueError, match="max_gap 139 is less than the space of 140 dbu required"):
        oracle.witness()
