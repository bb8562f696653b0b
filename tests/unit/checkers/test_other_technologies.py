"""Checkers know no process: they draw from the technology that a task brings, however little it declares."""

from __future__ import annotations

from typing import Any

import pytest
from iclayout_checkers import CHECKERS

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.checking.gate import GateSettings, check_accepts, check_rejects
from pytest_iclayout.checking.oracle import Oracle
from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.checking.spec import CheckerSpec
from pytest_iclayout.technology.models import Technology

pytestmark = pytest.mark.one_python

ONE_LAYER = Technology.model_validate(
    {
        "name": "one",
        "layers": [{"name": "metal", "layer": "1/0"}],
        "rule_sets": {"rules": [{"id": "w", "kind": "width", "layer": "1/0", "value": 30}]},
    }
)
STACK = Technology.model_validate(
    {
        "name": "stack",
        "dbu_per_micron": 2000,
        "layers": [
            {"name": name, "layer": f"{number}/5"} for number, name in enumerate(("low", "cut", "high"), start=7)
        ],
        "connections": [{"bottom": "7/5", "cut": "8/5", "top": "9/5"}],
        "rule_sets": {
            "rules": [
                {"id": "low.w", "kind": "width", "layer": "7/5", "value": 64},
                {"id": "cut.x", "kind": "exact_size", "layer": "8/5", "value": 50},
                {"id": "cut.s", "kind": "space", "layer": "8/5", "value": 70},
                {"id": "cut.low", "kind": "enclosure", "layer": "8/5", "other_layer": "7/5", "value": 9},
                {"id": "cut.high", "kind": "enclosure", "layer": "8/5", "other_layer": "9/5", "value": 11},
            ]
        },
    }
)


def terminal(name: str, layer: str, x: int) -> dict[str, Any]:
    region = {"min": {"x": x, "y": 0}, "max": {"x": x + 30, "y": 30}}
    return {"name": name, "layer": layer, "region": region}


def net(*terminals: dict[str, Any]) -> dict[str, Any]:
    return {"intent": {"nets": [{"name": "n", "terminals": list(terminals)}]}}


CASES = [
    (ONE_LAYER, "rect_present", {"layer": "1/0"}),
    (ONE_LAYER, "shape_count", {"layer": "1/0", "exact": 2}),
    (ONE_LAYER, "layer_area", {"layer": "1/0", "min_area": 901}),
    (ONE_LAYER, "drc_clean", {}),
    (ONE_LAYER, "drc_clean", {"present": "1/0", "min_shapes": 2}),
    (STACK, "shape_count", {"layer": "8/5", "exact": 1, "width": 50, "height": 50}),
    (STACK, "drc_clean", {}),
    (STACK, "drc_clean", {"present": "8/5", "min_shapes": 2}),
    (STACK, "drc_clean", {"crossing": "7/5*9/5"}),
    (STACK, "intent", net(terminal("a", "7/5", 0), terminal("b", "9/5", 900))),
    (STACK, "contact_stack", {"via": "8/5", "min_enclosure": 9}),
    (ONE_LAYER, "guard_ring", {"layer": "1/0"}),
    (ONE_LAYER, "comb", {"layer": "1/0", "fingers": 2}),
    (ONE_LAYER, "array_pitch", {"instances": 2, "row_pitch": 1}),
    (ONE_LAYER, "compound_cell", {"instances": 1}),
    (ONE_LAYER, "compound_cell", {"instances": 3, "min_shapes": 8}),
    (STACK, "boolean_result", {"layer": "7/5", "max_area": 1, "cleared": "9/5"}),
    (STACK, "via_chain", {"via": "8/5", "vias": 1}),
    (STACK, "via_chain", {"via": "8/5", "vias": 3, "bottom": "7/5"}),
    (STACK, "comb", {"layer": "9/5", "fingers": 3}),
    (STACK, "net_trace_connected", {"a": "0/0", "b": "0/7", "min_shapes": 3}),
    (STACK, "net_trace_connected", {"a": "0/0", "b": "-1/0", "layer": "9/5"}),
    (STACK, "net_trace_extent", {"probe": "0/0", "min_width": 70, "min_height": 1}),
    (STACK, "net_trace_isolated", {"a": "0/0", "b": "0/7"}),
    (STACK, "pcell_box", {"outer": "9/5", "inner": "8/5", "width": 41}),
]


@pytest.mark.parametrize(("technology", "name", "params"), CASES)
def test_checker_passes_its_gate_in_a_small_technology(technology: Technology, name: str, params: Any) -> None:
    bench = Bench(technology=technology, rule_set="rules")
    oracle = Oracle(*CheckerRegistry(CHECKERS).bind(CheckerSpec(name=name, params=params), bench), bench)
    check_accepts(oracle, name, GateSettings(examples=30))
    check_rejects(oracle, name, GateSettings(examples=30))
