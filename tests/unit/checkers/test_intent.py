"""intent: opens and shorts of true shapes, and routes that work for every published intent."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from iclayout_checkers.routing import Router
from judging import judge, oracle_of

from pytest_iclayout.checking.gate import GateSettings, check_accepts, check_rejects
from pytest_iclayout.checking.registry import CheckerError
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.shapes import Orientation, Transform
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.load import builtin_technology

MET1, VIA, MET2 = (Layer(layer=a, datatype=b) for a, b in ((68, 20), (68, 44), (69, 20)))
DIFF, POLY, LICON, LI1 = (Layer(layer=a, datatype=b) for a, b in ((65, 20), (66, 20), (66, 44), (67, 20)))


def terminal(name: str, layer: str, left: int, bottom: int, right: int, top: int) -> dict[str, Any]:
    region = {"min": {"x": left, "y": bottom}, "max": {"x": right, "y": top}}
    return {"name": name, "layer": layer, "region": region}


def intent(*forbidden: tuple[str, str], **nets: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "intent": {
            "nets": [{"name": name, "terminals": terminals} for name, terminals in nets.items()],
            "forbidden": [{"net_a": a, "net_b": b} for a, b in forbidden],
        }
    }


WIRE = intent(sig=[terminal("a", "68/20", 0, 0, 20, 20), terminal("b", "68/20", 480, 0, 500, 20)])
PAIR = intent(
    ("up", "down"),
    up=[terminal("a", "68/20", 0, 100, 20, 120), terminal("b", "68/20", 480, 100, 500, 120)],
    down=[terminal("c", "68/20", 0, 0, 20, 20), terminal("d", "68/20", 480, 0, 500, 20)],
)
TWO_LAYERS = intent(sig=[terminal("a", "68/20", 0, 0, 20, 20), terminal("b", "69/20", 480, 0, 500, 20)])


def rules_of(verdict: Verdict) -> list[str]:
    return [finding.rule for finding in verdict.findings]


def test_wire_that_covers_one_square_dbu_of_each_terminal_connects_them() -> None:
    assert judge(Sketch().rect(MET1, 19, 19, 481, 40), "intent", WIRE).ok
    assert not judge(Sketch().rect(MET1, 20, 19, 481, 40), "intent", WIRE).ok
    assert not judge(Sketch().rect(MET1, 19, 20, 481, 40), "intent", WIRE).ok


def test_terminal_that_nothing_covers_is_named_with_its_place() -> None:
    (finding,) = judge(Sketch().rect(MET1, 0, 0, 480, 20), "intent", WIRE).findings
    assert finding.message == "net sig is open: terminal b on met1 (68/20) has no shape over it"
    assert (finding.rule, finding.layer, str(finding.place)) == ("intent.open", MET1, "(480,0;500,20)")


def test_terminal_on_another_piece_is_named_with_the_terminal_that_it_misses() -> None:
    gap = Sketch().rect(MET1, 0, 0, 250, 20).rect(MET1, 251, 0, 500, 20)
    (finding,) = judge(gap, "intent", WIRE).findings
    assert finding.message == "net sig is open: terminal b on met1 (68/20) is not connected to terminal a"


def test_pieces_that_abut_or_overlap_conduct() -> None:
    assert judge(Sketch().rect(MET1, 0, 0, 250, 20).rect(MET1, 250, 0, 500, 20), "intent", WIRE).ok
    overlapping = Sketch().rect(MET1, 0, 0, 250, 20).rect(MET1, 250, 19, 500, 40).rect(MET1, 480, 0, 500, 40)
    assert judge(overlapping, "intent", WIRE).ok


def test_corner_contact_neither_connects_nor_keeps_apart() -> None:
    """Whether it conducts once made is unknown, so it must not decide for the layout in either case."""
    touching = Sketch().rect(MET1, 0, 0, 250, 20).rect(MET1, 250, 20, 500, 40).rect(MET1, 480, 0, 500, 40)
    assert rules_of(judge(touching, "intent", WIRE)) == ["intent.open"]
    wires = Sketch().rect(MET1, 0, 0, 500, 20).rect(MET1, 0, 100, 500, 120)
    assert judge(wires, "intent", PAIR).ok
    stubs = wires.rect(MET1, 200, 20, 220, 60).rect(MET1, 220, 60, 240, 100)
    assert rules_of(judge(stubs, "intent", PAIR)) == ["intent.short"]


def test_bounding_boxes_that_meet_are_no_short() -> None:
    """Two nested L shapes: each stands in the other's bounding box."""
    sketch = Sketch().polygon(MET1, [(0, 100), (500, 100), (500, 400), (480, 400), (480, 120), (0, 120)])
    sketch.rect(MET1, 0, 0, 500, 20).rect(MET1, 0, 0, 20, 60).rect(MET1, 100, 150, 300, 390)
    assert judge(sketch, "intent", PAIR).ok


def test_slanted_wire_connects_by_what_it_covers() -> None:
    bend = intent(sig=[terminal("a", "68/20", 0, 0, 20, 20), terminal("b", "68/20", 300, 300, 320, 320)])
    assert judge(Sketch().path(MET1, 10, [(10, 10), (310, 310)]), "intent", bend).ok
    triangle = Sketch().polygon(MET1, [(0, 0), (320, 0), (320, 320)])
    assert judge(triangle, "intent", bend).ok
    assert not judge(Sketch().polygon(MET1, [(30, 0), (320, 0), (320, 290)]), "intent", bend).ok


def test_short_is_named_with_the_pair_and_the_place() -> None:
    (finding,) = judge(Sketch().rect(MET1, 0, 0, 500, 120), "intent", PAIR).findings
    assert finding.message == "nets up and down are shorted: terminal c on met1 (68/20) of down is on both"
    assert str(finding.place) == "(0,0;20,20)"


def test_every_forbidden_pair_is_compared() -> None:
    names = ("a", "b", "c")
    nets = {name: [terminal(name, "68/20", 100 * at, 0, 100 * at + 20, 20)] for at, name in enumerate(names)}
    three = intent(("a", "b"), ("b", "c"), **nets)
    assert judge(
        Sketch().rect(MET1, 0, 0, 20, 20).rect(MET1, 100, 0, 120, 20).rect(MET1, 200, 0, 220, 20), "intent", three
    ).ok
    (finding,) = judge(Sketch().rect(MET1, 0, 0, 20, 20).rect(MET1, 100, 0, 220, 20), "intent", three).findings
    assert "nets b and c are shorted" in finding.message


def test_layers_conduct_through_a_cut_only() -> None:
    bare = Sketch().rect(MET1, 0, 0, 500, 20).rect(MET2, 460, 0, 500, 20)
    assert not judge(bare, "intent", TWO_LAYERS).ok
    assert judge(bare.rect(VIA, 470, 5, 480, 15), "intent", TWO_LAYERS).ok


@pytest.mark.parametrize("cut", [(440, 5, 460, 15), (500, 5, 510, 15), (460, 20, 480, 30)])
def test_cut_beside_one_of_the_layers_does_not_conduct(cut: tuple[int, int, int, int]) -> None:
    sketch = Sketch().rect(MET1, 0, 0, 500, 20).rect(MET2, 460, 0, 500, 20).rect(VIA, *cut)
    assert not judge(sketch, "intent", TWO_LAYERS).ok


def test_poly_interrupts_diffusion() -> None:
    channel = intent(sig=[terminal("s", "65/20", 0, 0, 20, 20), terminal("d", "65/20", 480, 0, 500, 20)])
    assert judge(Sketch().rect(DIFF, 0, 0, 500, 20), "intent", channel).ok
    assert not judge(Sketch().rect(DIFF, 0, 0, 500, 20).rect(POLY, 200, -100, 250, 100), "intent", channel).ok


def test_label_does_not_connect() -> None:
    sketch = Sketch().rect(MET1, 0, 0, 20, 20).rect(MET1, 480, 0, 500, 20)
    label = Layer(layer=68, datatype=5)
    assert not judge(sketch.label(label, "sig", 10, 10).label(label, "sig", 490, 10), "intent", WIRE).ok


@pytest.mark.parametrize("orientation", Orientation)
def test_instances_connect_where_they_are_placed(orientation: Orientation) -> None:
    part = Sketch("part").rect(MET1, -10, -10, 10, 10)
    ends = tuple(
        cmd.PlaceInstance(cell="top", child="part", transform=Transform(orientation=orientation, dx=x, dy=10))
        for x in (10, 490)
    )
    drawing: Drawing = (*part.drawing, *Sketch().rect(MET1, 15, 5, 485, 15).drawing, *ends)
    assert judge(drawing, "intent", WIRE).ok


def test_net_with_one_terminal_must_cover_it() -> None:
    alone = intent(pin=[terminal("p", "68/20", 0, 0, 20, 20)])
    assert judge(Sketch().rect(MET1, 5, 5, 6, 6), "intent", alone).ok
    assert not judge(Sketch(), "intent", alone).ok


def test_intent_is_taken_as_json_text_too() -> None:
    oracle = oracle_of("intent", {"intent": json.dumps(WIRE["intent"])})
    assert oracle.params == oracle_of("intent", WIRE).params
    with pytest.raises(CheckerError, match="intent: not JSON: Expecting"):
        oracle_of("intent", {"intent": "{nets"})


def test_terminal_that_is_on_no_conductor_is_refused() -> None:
    with pytest.raises(ValueError, match="terminal 'a' of net 'n' is on layer 68/44, which is no conductor"):
        oracle_of("intent", intent(n=[terminal("a", "68/44", 0, 0, 9, 9)])).witness()


def test_nets_that_cannot_be_routed_apart_are_refused() -> None:
    """Both nets want the same place."""
    here = [terminal("a", "68/20", 0, 0, 20, 20)]
    with pytest.raises(ValueError, match="the nets one, two cannot be routed apart"):
        oracle_of("intent", intent(one=here, two=here)).witness()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(("65/20", 0, 0, 60, 60), ("66/20", 400, 400, 460, 460), id="diff to poly"),
        pytest.param(("64/20", 0, 0, 60, 60), ("72/20", 900, 0, 960, 60), id="well to met5"),
        pytest.param(("68/20", 0, 0, 1, 1), ("69/20", 50, 0, 51, 1), id="one dbu"),
        pytest.param(
            ("68/20", -500, -90, -460, -50), ("68/20", 10, 10, 2010, 5010), id="left of the origin, of unequal size"
        ),
    ],
)
def test_route_between_any_two_conductors_passes_the_gate(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    oracle = oracle_of("intent", intent(n=[terminal("a", *one), terminal("b", *other)]))
    check_accepts(oracle, "routes", GateSettings(examples=10))
    check_rejects(oracle, "routes", GateSettings(examples=10))


def test_forbidden_nets_that_cross_on_one_layer_get_two() -> None:
    crossing = intent(
        ("x", "y"),
        x=[terminal("a", "68/20", 0, 200, 40, 240), terminal("b", "68/20", 400, 200, 440, 240)],
        y=[terminal("c", "68/20", 200, 0, 240, 40), terminal("d", "68/20", 200, 400, 240, 440)],
    )
    oracle = oracle_of("intent", crossing)
    check_accepts(oracle, "crossing", GateSettings(examples=10))
    check_rejects(oracle, "crossing", GateSettings(examples=10))


def test_terminals_that_a_channel_keeps_apart_are_refused() -> None:
    """Where poly covers the whole terminal on diffusion there is a channel and no conductor."""
    channel = intent(n=[terminal("a", "65/20", 0, 0, 60, 60), terminal("b", "66/20", 0, 0, 60, 60)])
    with pytest.raises(ValueError, match="no witness found"):
        oracle_of("intent", channel).witness()


def test_router_calls_nothing_open_that_conducts() -> None:
    """The negatives rest on this: by an edge of one dbu it conducts, by a corner it does not."""
    router = Router(builtin_technology("sky130"))
    net = oracle_of("intent", WIRE).params.intent.nets[0]  # type: ignore[attr-defined]
    for second, is_open in (((250, 19, 500, 20), False), ((250, 20, 500, 40), True), ((251, 0, 500, 20), True)):
        sketch = Sketch().rect(MET1, 0, 0, 250, 20).rect(MET1, *second).rect(MET1, 480, 0, 500, 40)
        shapes = [(one.layer, one.rect.to_db()) for one in sketch.drawing if isinstance(one, cmd.AddRect)]
        assert router.is_open(net, shapes) is is_open
        assert judge(sketch, "intent", WIRE).ok is not is_open


FACTS = Path(__file__).parents[3].parent / "shared" / "reference" / "layout_task_facts.csv"
_TERMINAL = re.compile(r"(\w+)@(\d+/\d+)\((-?\d+),(-?\d+),(-?\d+),(-?\d+)\)")


def published_intents() -> dict[str, dict[str, Any]]:
    """``net: name@layer(x0,y0,x1,y1) ... ; net: ... | forbidden a!b`` by task."""
    if not FACTS.exists():
        return {}
    with FACTS.open(encoding="utf-8", newline="") as file:
        texts = {row["id"]: row["intent_terminals_dbu"] for row in csv.DictReader(file)}
    found = {}
    for task, text in texts.items():
        if text:
            nets, _, forbidden = text.partition("|")
            named = (net.partition(":") for net in nets.split(";"))
            terminals = {
                name.strip(): [terminal(one, layer, *map(int, box)) for one, layer, *box in _TERMINAL.findall(rest)]
                for name, _, rest in named
            }
            pairs = [tuple(pair.split("!")) for pair in forbidden.removeprefix(" forbidden").split()]
            found[task] = intent(*pairs, **terminals)  # type: ignore[arg-type]
    return found


@pytest.mark.skipif(not FACTS.exists(), reason="the published task facts are not beside the repository")
@pytest.mark.parametrize("task", published_intents())
def test_published_intent_has_a_route_and_negatives(task: str) -> None:
    oracle = oracle_of("intent", published_intents()[task])
    check_accepts(oracle, task, GateSettings(examples=10))
    report = check_rejects(oracle, task, GateSettings(examples=10))
    assert len(report.tried) >= 7
