"""shielded_route: a wire with the metal of a second net at both of its sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import separate_polygons
from iclayout_checkers.legal import LegalShapes, require_rules
from iclayout_checkers.shield_layouts import Order, drawing_of, shield_negatives, shielded
from iclayout_checkers.shields import shielded_length
from iclayout_checkers.wires import Wire, joins, layer_finding, wire_of
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.drc.checks import separation
from pytest_iclayout.drc.engine import run_rules_on
from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.intent import Intent, IntentNet
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

Length = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]


class ShieldedRouteParams(Params):
    """Lengths in dbu.  The first net of the intent is the signal, the second one the shield."""

    intent: Intent
    width: Length
    """Of the signal's wire."""
    max_gap: Length
    """Shields count up to this distance from the wire."""
    permille: Annotated[int, Field(ge=1, le=1000, strict=True)]
    """Over how much of the wire's length it has shields at both sides."""
    min_gap: Length = 1
    """No other metal of the layer is closer to the wire."""
    keep_out: tuple[Rect, ...] = ()
    """Where nothing may be on the layer."""
    rules: bool = True
    """Whether the rule set in force decides too."""

    @model_validator(mode="after")
    def _is_consistent(self) -> ShieldedRouteParams:
        nets = self.intent.nets
        if len(nets) != 2 or len(nets[0].terminals) != 2:
            raise ValueError("intent: two nets are required, the signal with two terminals and then the shield")
        terminals = [one for net in nets for one in net.terminals]
        if len({one.layer for one in terminals}) > 1:
            raise ValueError("intent: all terminals must be on one layer")
        if self.intent.forbidden:
            raise ValueError("intent: forbidden is not taken: the two nets are always kept apart")
        boxes = [one.region.to_db() for one in terminals]
        if any(one.touches(other) for number, one in enumerate(boxes) for other in boxes[:number]):
            raise ValueError("intent: the regions of two terminals touch")
        if self.min_gap > self.max_gap:
            raise ValueError(f"min_gap {self.min_gap} is more than max_gap {self.max_gap}")
        if any(one.to_db().area() == 0 for one in self.keep_out):
            raise ValueError("keep_out: a region without area")
        return self

    @property
    def signal(self) -> IntentNet:
        return self.intent.nets[0]

    @property
    def shield(self) -> IntentNet:
        return self.intent.nets[1]

    @property
    def layer(self) -> Layer:
        return self.signal.terminals[0].layer


class ShieldedRoute:
    """The layer holds the signal's wire, which nothing is connected to, and the shield, which is one net."""

    name = "shielded_route"
    params_model = ShieldedRouteParams

    def check(self, view: LayoutView, params: ShieldedRouteParams) -> Verdict:
        findings = self._routed(view, params)
        return Verdict.of(*findings, *(run_rules_on(view, view.rules) if params.rules else ()))

    def _routed(self, view: LayoutView, params: ShieldedRouteParams) -> Iterator[Finding]:
        polygons = separate_polygons(view.region(params.layer))
        yield from self._kept_out(view, params)
        if slanted := [one for one in polygons if not one.is_rectilinear()]:
            message = "a shape has an edge that is neither horizontal nor vertical"
            yield self._found(view, params, message, slanted[0].bbox())
            return
        wires = [(one, wire) for one in polygons if (wire := wire_of(one, params.width)) is not None]
        joining = [(one, wire) for one, wire in wires if joins(wire, params.signal)]
        if len(joining) != 1:
            message = (
                f"{len(joining)} wire(s) of {params.width} dbu, without branches, bulges and narrow places, "
                f"end in both terminals of net {params.signal.name}, exactly 1 required"
            )
            yield self._found(view, params, message)
            return
        polygon, wire = joining[0]
        others = db.Region([one for one in polygons if one != polygon])
        yield from self._connected(view, params, polygon)
        yield from self._unshielded(view, params, polygon, wire, others)

    def _kept_out(self, view: LayoutView, params: ShieldedRouteParams) -> Iterator[Finding]:
        for one in params.keep_out:
            if not (view.region(params.layer) & db.Region(one.to_db())).is_empty():
                yield self._found(view, params, "something is drawn where nothing may be", one.to_db())

    def _connected(self, view: LayoutView, params: ShieldedRouteParams, wire: db.Polygon) -> Iterator[Finding]:
        """By corners that do not conduct: where one of the wire's does, the other metal is too near as well."""
        signal, shield, layer = params.signal, params.shield, params.layer
        found, own = Connectivity(view).separate, db.Region(wire)
        for by_layer in found.shapes:
            here = by_layer.get(layer, db.Region())
            if not (here & own).is_empty() and (len(by_layer) > 1 or not (here - own).is_empty()):
                yield self._found(view, params, f"the wire of net {signal.name} is connected to something else")
        nets = [
            number
            for number, by_layer in enumerate(found.shapes)
            if not (by_layer.get(layer, db.Region()) - own).is_empty()
        ]
        if len(nets) != 1:
            message = f"beside the wire the layer holds {len(nets)} net(s), exactly 1 required, {shield.name}"
            yield self._found(view, params, message)
            return
        for terminal in shield.terminals:
            if nets[0] not in found.at(layer, terminal.region):
                message = f"net {shield.name} is not connected to terminal {terminal.name}"
                yield self._found(view, params, message, terminal.region.to_db())
        others = view.region(layer) - own
        for net, foreign in ((signal, others), (shield, own)):
            for terminal in net.terminals:
                if not (foreign & db.Region(terminal.region.to_db())).is_empty():
                    message = f"the other net is on terminal {terminal.name} of net {net.name}"
                    yield self._found(view, params, message, terminal.region.to_db())

    def _unshielded(
        self, view: LayoutView, params: ShieldedRouteParams, polygon: db.Polygon, wire: Wire, others: db.Region
    ) -> Iterator[Finding]:
        if near := separation(others, db.Region(polygon), params.min_gap):
            message = f"{near[0].measured:g} dbu from the wire to other metal, at least {params.min_gap} dbu required"
            yield self._found(view, params, message, near[0].place)
        length = shielded_length(polygon, wire, params.width, others, params.max_gap)
        if 2000 * length < params.permille * wire.length:
            message = (
                f"the wire has a shield within {params.max_gap} dbu at both sides over {length} of its "
                f"{wire.length / 2:g} dbu, {params.permille} permille required"
            )
            yield self._found(view, params, message, polygon.bbox())

    def _found(
        self, view: LayoutView, params: ShieldedRouteParams, message: str, place: db.Box | None = None
    ) -> Finding:
        return layer_finding(self.name, view, params.layer, message, place)

    def witness(self, params: ShieldedRouteParams, bench: Bench) -> Drawing:
        if params.rules:
            require_rules(bench, self.name)
        found = shielded(self._order(params, bench))
        return drawing_of([(params.layer, found.wire + found.shield)])

    def negatives(self, params: ShieldedRouteParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        ruled = [one.value for one in bench.rules if one.kind is RuleKind.SPACE and one.layer == params.layer]
        least = max([params.min_gap, *(ruled if params.rules else ())])
        return shield_negatives(self._order(params, bench), bench.technology, least)

    def _order(self, params: ShieldedRouteParams, bench: Bench) -> Order:
        """Raises ValueError where the shield cannot be as near as it must and as far as it must."""
        layer, legal = params.layer, LegalShapes(bench)
        if not any(layer in (one.bottom, one.top) for one in bench.technology.connections):
            raise ValueError(f"shielded_route: layer {layer} is no conductor of technology {bench.technology.name}")
        space = max(params.min_gap, legal.limit(RuleKind.SPACE, layer))
        if space > params.max_gap:
            raise ValueError(f"shielded_route: max_gap {params.max_gap} is less than the space of {space} dbu required")
        first, second = (one.region.to_db() for one in params.signal.terminals)
        return Order(
            layer=layer,
            width=params.width,
            gap=space,
            max_gap=params.max_gap,
            permille=params.permille,
            space=space,
            metal=legal.side(layer),
            signal=(first, second),
            grounds=tuple(one.region.to_db() for one in params.shield.terminals),
            keep_out=tuple(one.to_db() for one in params.keep_out),
        )

    def variants(self, params: ShieldedRouteParams) -> frozenset[str]:
        # Terminals are places: nothing may be moved or turned.
        return REDRAWN


CHECKER = ShieldedRoute()
