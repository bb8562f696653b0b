"""intent: terminals that belong together are connected, and nets that must stay apart are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.intent_layouts import broken_nets, shorted_pairs
from iclayout_checkers.layouts import Shapes, sketch_of, unplaced
from iclayout_checkers.routing import Route, Router
from pydantic import BeforeValidator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.intent import Intent, Open, Short, Terminal, compare_with_intent
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer


def _from_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error


class IntentParams(Params):
    """``intent`` as JSON text or as the mapping that it stands for."""

    intent: Annotated[Intent, BeforeValidator(_from_json)]


class IntentChecker:
    """The extracted nets, on true polygons, against the intent: neither opens nor shorts."""

    name = "intent"
    params_model = IntentParams

    def check(self, view: LayoutView, params: IntentParams) -> Verdict:
        result = compare_with_intent(Connectivity(view), params.intent)
        return Verdict.of(
            *(self._open(view, one, terminal) for one in result.opens for terminal in one.unreached),
            *(self._short(view, one) for one in result.shorts),
        )

    def _open(self, view: LayoutView, one: Open, terminal: Terminal) -> Finding:
        first = one.net.terminals[0]
        where = f"net {one.net.name} is open: terminal {terminal.name} on {view.describe(terminal.layer)}"
        reason = "has no shape over it" if _is_bare(view, terminal) else f"is not connected to terminal {first.name}"
        return Finding(rule="intent.open", message=f"{where} {reason}", layer=terminal.layer, place=terminal.region)

    def _short(self, view: LayoutView, one: Short) -> Finding:
        pair, terminal = one.pair, one.terminal
        where = f"terminal {terminal.name} on {view.describe(terminal.layer)}"
        return Finding(
            rule="intent.short",
            message=f"nets {pair.net_a} and {pair.net_b} are shorted: {where} of {pair.net_b} is on both",
            layer=terminal.layer,
            place=terminal.region,
        )

    def witness(self, params: IntentParams, bench: Bench) -> Drawing:
        return _drawn(Router(bench.technology).plan(params.intent.nets))

    def negatives(self, params: IntentParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        router = Router(bench.technology)
        plan = router.plan(params.intent.nets)
        layouts = broken_nets(router, plan, bench.technology) | shorted_pairs(router, plan, params.intent.forbidden)
        edge = max(terminal.region.max.x for net in params.intent.nets for terminal in net.terminals)
        layer = st.sampled_from([entry.layer for entry in bench.technology.layers])
        gap = st.integers(1, 5000)
        return {
            "nothing_drawn": st.just(Sketch().drawing),
            "only_in_a_cell_that_is_not_placed": st.just(unplaced(_drawn(plan))),
        } | {
            name: st.builds(partial(_with_a_bystander, edge), st.sampled_from(candidates), layer, gap)
            for name, candidates in layouts.items()
            if candidates
        }

    def variants(self, params: IntentParams) -> frozenset[str]:
        # Terminals are places: nothing may be moved or turned.
        return REDRAWN


def _drawn(plan: list[Route]) -> Drawing:
    return sketch_of([shape for route in plan for shape in route.shapes]).drawing


def _with_a_bystander(edge: int, shapes: Shapes, layer: Layer, gap: int) -> Drawing:
    """The shapes, and one more to the right of them and of all terminals, which end at ``edge``."""
    left = max([edge, *(box.right for _, box in shapes)]) + gap
    return sketch_of([*shapes, (layer, db.Box(left, 0, left + 100, 100))]).drawing


def _is_bare(view: LayoutView, terminal: Terminal) -> bool:
    box = terminal.region.to_db()
    return not any((polygon.bbox() & box).area() > 0 for polygon in view.region(terminal.layer).each())


CHECKER = IntentChecker()
