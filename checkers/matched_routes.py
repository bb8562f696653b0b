"""matched_routes: wires of one width and equal length, as a pair at a constant gap if one is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.given import shape_findings, start_of
from iclayout_checkers.layouts import separate_polygons
from iclayout_checkers.legal import require_rules
from iclayout_checkers.matched_wires import matched_negatives
from iclayout_checkers.wires import Wire, coupled_length, joins, layer_finding, wire_of
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.drc.checks import separation
from pytest_iclayout.drc.engine import run_rules_on
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.intent import Intent
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

Length = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]


class MatchedRoutesParams(Params):
    """Lengths in dbu.  Each net of the intent has two terminals, all of them on one layer."""

    intent: Intent
    width: Length
    tolerance: Annotated[int, Field(ge=0, le=1_000_000, strict=True)] = 0
    """By how much the longest wire may be longer than the shortest one."""
    gap: Length | None = None
    """Makes a pair of two nets: how far apart they run."""
    coupled_permille: Annotated[int, Field(ge=1, le=1000, strict=True)] | None = None
    """Over how much of each wire's length the pair runs at the gap."""
    rules: bool = True
    """Whether the rule set in force decides too."""

    @model_validator(mode="after")
    def _is_consistent(self) -> MatchedRoutesParams:
        nets = self.intent.nets
        if len(nets) < 2 or any(len(net.terminals) != 2 for net in nets):
            raise ValueError("intent: two nets or more with two terminals each are required")
        if len({one.layer for net in nets for one in net.terminals}) > 1:
            raise ValueError("intent: all terminals must be on one layer")
        if self.intent.forbidden:
            raise ValueError("intent: forbidden is not taken: the nets are always kept apart")
        boxes = [one.region.to_db() for net in nets for one in net.terminals]
        if any(one.touches(other) for number, one in enumerate(boxes) for other in boxes[:number]):
            raise ValueError("intent: the regions of two terminals touch")
        if (self.gap is None) != (self.coupled_permille is None) or (self.gap is not None and len(nets) != 2):
            raise ValueError("gap and coupled_permille are given together, and for two nets")
        return self

    @property
    def layer(self) -> Layer:
        return self.intent.nets[0].terminals[0].layer

    @property
    def coupling(self) -> tuple[int, int] | None:
        """``gap`` and ``coupled_permille`` of a pair."""
        return None if self.gap is None or self.coupled_permille is None else (self.gap, self.coupled_permille)


class MatchedRoutes:
    """What is added to the given layout is one wire a net and nothing else, and their lengths are equal.

    The length is that of the centre line from end to end, which is the covered area divided by the width.
    """

    name = "matched_routes"
    params_model = MatchedRoutesParams
    needs_start = True
    needs_solution = True

    def check(self, view: LayoutView, params: MatchedRoutesParams) -> Verdict:
        given = start_of(view).region(params.layer)

        def frozen(layer: Layer, changes: db.Region) -> db.Region:
            return changes & given if layer == params.layer else changes

        findings = [*shape_findings(view, self.name, frozen), *self._routed(view, params)]
        return Verdict.of(*findings, *(run_rules_on(view, view.rules) if params.rules else ()))

    def _routed(self, view: LayoutView, params: MatchedRoutesParams) -> Iterator[Finding]:
        given = set(separate_polygons(start_of(view).region(params.layer)))
        added = [one for one in separate_polygons(view.region(params.layer)) if one not in given]
        wires = [(polygon, wire_of(polygon, params.width)) for polygon in added]
        if len(wires) != len(params.intent.nets):
            yield self._found(view, params, f"{len(wires)} shape(s) added, exactly {len(params.intent.nets)} required")
            return
        routes: list[tuple[db.Polygon, Wire]] = []
        for polygon, wire in wires:
            if wire is None:
                message = f"an added shape is no wire of {params.width} dbu without branches, bulges and narrow places"
                yield self._found(view, params, message, polygon.bbox())
                return
            routes.append((polygon, wire))
        for net in params.intent.nets:
            if not any(joins(wire, net) for _, wire in routes):
                yield self._found(view, params, f"net {net.name}: no wire ends in both terminals")
                return
        yield from self._unequal(view, params, [wire.length for _, wire in routes])
        if params.coupling is not None:
            yield from self._uncoupled(view, params, routes, *params.coupling)

    def _unequal(self, view: LayoutView, params: MatchedRoutesParams, lengths: list[int]) -> Iterator[Finding]:
        longest, shortest = max(lengths), min(lengths)
        if longest - shortest > 2 * params.tolerance:
            message = (
                f"wires are {shortest / 2:g} to {longest / 2:g} dbu long, "
                f"a difference of at most {params.tolerance} dbu is allowed"
            )
            yield self._found(view, params, message)

    def _uncoupled(
        self,
        view: LayoutView,
        params: MatchedRoutesParams,
        routes: list[tuple[db.Polygon, Wire]],
        gap: int,
        permille: int,
    ) -> Iterator[Finding]:
        (one, first), (other, second) = routes
        if near := separation(db.Region(one), db.Region(other), gap):
            message = f"the wires are {near[0].measured} dbu apart, at least {gap} dbu required"
            yield self._found(view, params, message, near[0].place)
        coupled = coupled_length(one, other, gap)
        if 2000 * coupled < permille * max(first.length, second.length):
            message = f"the wires run {coupled} dbu at a gap of {gap} dbu, {permille} permille of each one required"
            yield self._found(view, params, message)

    def _found(
        self, view: LayoutView, params: MatchedRoutesParams, message: str, place: db.Box | None = None
    ) -> Finding:
        return layer_finding(self.name, view, params.layer, message, place)

    def witness(self, params: MatchedRoutesParams, bench: Bench) -> Drawing:
        if params.rules:
            require_rules(bench, self.name)
        return bench.solution

    def negatives(self, params: MatchedRoutesParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        regions = [one.region.to_db() for net in params.intent.nets for one in net.terminals]
        ruled = [one.value for one in bench.rules if one.kind is RuleKind.SPACE and one.layer == params.layer]
        return matched_negatives(
            bench,
            params.layer,
            params.width,
            regions,
            params.tolerance,
            params.gap,
            params.coupled_permille,
            max(ruled, default=0) if params.rules else 0,
        )

    def variants(self, params: MatchedRoutesParams) -> frozenset[str]:
        # Terminals are places: nothing may be moved or turned.
        return REDRAWN


CHECKER = MatchedRoutes()
