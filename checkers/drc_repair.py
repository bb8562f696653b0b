"""drc_repair: a given layout that breaks rules becomes clean, and its nets stay what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.given import extent, label_findings, shape_findings, start_of
from iclayout_checkers.given_layouts import (
    Edit,
    beside,
    changed_labels,
    changed_shapes,
    chosen,
    outer_edges,
    rect,
    spurs,
    without_solution,
)
from iclayout_checkers.layouts import LayerRefs
from iclayout_checkers.legal import LegalShapes
from iclayout_checkers.pin_layouts import changed_nets
from iclayout_checkers.pins import groups_of, has_floating_shapes, net_findings
from pydantic import Field

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.drc.engine import run_rules_on
from pytest_iclayout.geometry.connectivity import Connectivity, conductor_layers
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind


class DrcRepairParams(Params):
    """``margin`` is how far (dbu) the bounding box of all shapes may grow on each side."""

    layers: Annotated[LayerRefs, Field(min_length=1)]
    """The layers that may change; all others stay exactly as they are."""
    margin: Annotated[int, Field(ge=0, le=1_000_000, strict=True)] = 0


class DrcRepair:
    """The rule set in force finds nothing any more. All labels are where they were, the pins among them are on
    metal and connected as before, no shape is on a net without a pin, and other layers are as they were."""

    name = "drc_repair"
    needs_rules = needs_start = needs_solution = True
    params_model = DrcRepairParams

    def check(self, view: LayoutView, params: DrcRepairParams) -> Verdict:
        groups = groups_of(start_of(view))
        return Verdict.of(
            *shape_findings(view, self.name, lambda layer, changes: _kept(params, layer, changes)),
            *label_findings(view, self.name),
            *net_findings(Connectivity(view), self.name, groups),
            self._too_large(view, params),
            *run_rules_on(view, view.rules),
        )

    def _too_large(self, view: LayoutView, params: DrcRepairParams) -> Finding | None:
        allowed, box = extent(start_of(view)).enlarged(params.margin), extent(view)
        if box.empty() or box.inside(allowed):
            return None
        message = f"the layout covers {Rect.from_db(box)}, no more than {Rect.from_db(allowed)} is allowed"
        return Finding(rule=self.name, message=message, place=Rect.from_db(box))

    def witness(self, params: DrcRepairParams, bench: Bench) -> Drawing:
        """Raises ValueError for a given layout that is clean, or whose nets could not be compared."""
        start = Edit(bench, ()).view
        if not run_rules_on(start, bench.rules):
            raise ValueError("the given layout breaks no rule")
        if has_floating_shapes(start, groups_of(start)):
            raise ValueError("a net of the given layout has no pin, so nothing would tell whether it is still there")
        return bench.solution

    def negatives(self, params: DrcRepairParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        return {
            **without_solution(bench, lambda edit: bool(run_rules_on(edit.view, bench.rules))),
            **changed_labels(bench),
            **changed_shapes(bench, params.layers),
            **changed_nets(bench, groups_of(Edit(bench, ()).view), params.layers),
            **chosen(
                {
                    "shape_on_no_net": _floating(params, bench),
                    "spur_one_dbu_wide": spurs(bench, params.layers),
                    "one_dbu_beyond_the_margin": _too_large(params, bench),
                }
            ),
        }

    def variants(self, params: DrcRepairParams) -> frozenset[str]:
        return REDRAWN


def _kept(params: DrcRepairParams, layer: Layer, changes: db.Region) -> db.Region:
    return db.Region() if layer in params.layers else changes


def _floating(params: DrcRepairParams, bench: Bench) -> Iterator[Drawing]:
    """A legal rectangle where nothing is near."""
    view, legal = Edit(bench, bench.solution).view, LegalShapes(bench)
    whole = extent(view)
    for layer in set(params.layers) & set(conductor_layers(view)):
        box = legal.box(layer)
        free = db.Region(whole)
        near = max(1, legal.limit(RuleKind.SPACE, layer))
        free -= view.region(layer).sized(near)
        for one in view.technology.connections:
            if one.cut is not None and layer in (one.bottom, one.top):
                free -= view.region(one.cut).sized(near)
            elif layer in (one.bottom, one.top):
                free -= view.region(one.top if layer == one.bottom else one.bottom).sized(near)
        for hole in free.each():
            for place in (hole.bbox().p1, hole.bbox().p2 - db.Vector(box.width(), box.height())):
                placed = box.moved(place.x, place.y)
                if (db.Region(placed) - free).is_empty():
                    yield (*bench.solution, rect(layer, placed))


def _too_large(params: DrcRepairParams, bench: Bench) -> Iterator[Drawing]:
    """The layer's outermost edges moved outward, just beyond what is allowed."""
    view = Edit(bench, bench.solution).view
    allowed = extent(Edit(bench, ()).view).enlarged(params.margin, params.margin)
    for layer in params.layers:
        for edge in outer_edges(view.region(layer)):
            room = _room(edge, allowed)
            if room >= 0:
                yield (*bench.solution, rect(layer, beside(edge, 0, edge.length(), room + 1)))


def _room(edge: db.Edge, allowed: db.Box) -> int:
    """From an edge of a polygon outward to the border of the box, dbu."""
    if edge.dx() == 0:
        return edge.x1 - allowed.left if edge.dy() > 0 else allowed.right - edge.x1
    return allowed.top - edge.y1 if edge.dx() > 0 else edge.y1 - allowed.bottom


CHECKER = DrcRepair()
