"""frozen_edit: a change that is asked for, made where changes are allowed and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.generator_shapes import opened
from iclayout_checkers.given import label_findings, shape_findings, start_of
from iclayout_checkers.given_layouts import (
    Edit,
    beside,
    boxes_within,
    changed_labels,
    changed_shapes,
    chosen,
    outer_edges,
    rect,
    spurs,
    without_solution,
)
from iclayout_checkers.layouts import LayerRefs, separate_polygons
from iclayout_checkers.pin_layouts import changed_nets
from iclayout_checkers.pins import Group, groups_of, net_findings, pins_of
from iclayout_checkers.probes import PointRef
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.drc.engine import run_rules_on
from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer, LayerRef

Texts = Annotated[tuple[str, ...], Field(min_length=1)]


class FrozenEditParams(Params):
    """``area`` in dbu; the demands are ``cleared``, ``wire`` and ``nets``, at least one of them."""

    layers: Annotated[LayerRefs, Field(min_length=1)]
    """The layers that may change, in the area or out of it."""
    area: Rect
    where: Literal["inside", "outside"] = "inside"
    """Where they may change, seen from the area."""
    cleared: LayerRef | None = None
    """A layer that covers nothing within ``keep_out``."""
    keep_out: Rect | None = None
    wire: LayerRef | None = None
    """The layer of a wire that becomes ``width`` dbu wide wherever it may change."""
    at: PointRef | None = None
    """A point on this wire."""
    width: Annotated[int, Field(ge=2, le=1_000_000, strict=True)] | None = None
    nets: tuple[Texts, ...] = ()
    """The texts of labels, by the net that they are to be on; without it, nets stay as they are."""

    @model_validator(mode="after")
    def _is_consistent(self) -> FrozenEditParams:
        if (self.cleared is None) != (self.keep_out is None):
            raise ValueError("cleared and keep_out are given together or not at all")
        if len({self.wire is None, self.at is None, self.width is None}) > 1:
            raise ValueError("wire, at and width are given together or not at all")
        if self.cleared is None and self.wire is None and not self.nets:
            raise ValueError("nothing is asked for; give cleared, wire or nets")
        if strange := {self.cleared, self.wire} - {None, *self.layers}:
            raise ValueError(f"{strange.pop()} must change, but is not among layers")
        texts = [text for group in self.nets for text in group]
        if len(set(texts)) < len(texts):
            raise ValueError("nets has a text twice")
        for area in (self.area, self.keep_out):
            if area is not None and area.to_db().area() == 0:
                raise ValueError(f"the rectangle {area} has no area")
        return self


class FrozenEdit:
    """The demand is fulfilled, no rule of the set in force is broken, and nothing changed where all is frozen.

    Labels stay; pins are connected as the task says, or as they were.
    """

    name = "frozen_edit"
    needs_rules = needs_start = needs_solution = True
    params_model = FrozenEditParams

    def check(self, view: LayoutView, params: FrozenEditParams) -> Verdict:
        start = start_of(view)
        return Verdict.of(
            *shape_findings(view, self.name, lambda layer, changes: _frozen(params, layer, changes)),
            *label_findings(view, self.name),
            *net_findings(Connectivity(view), self.name, _groups(start, params), floating=True),
            self._left_over(view, params),
            *self._narrow(view, start, params),
            *run_rules_on(view, view.rules),
        )

    def _left_over(self, view: LayoutView, params: FrozenEditParams) -> Finding | None:
        if params.cleared is None or params.keep_out is None:
            return None
        left = view.region(params.cleared) & db.Region(params.keep_out.to_db())
        if left.is_empty():
            return None
        message = f"{view.describe(params.cleared)}: nothing may be left within {params.keep_out}"
        return Finding(rule=self.name, message=message, layer=params.cleared, place=Rect.from_db(left.bbox()))

    def _narrow(self, view: LayoutView, start: LayoutView, params: FrozenEditParams) -> list[Finding]:
        if params.wire is None or params.width is None:
            return []
        before, now = _wire(start, params), _wire(view, params)
        named = view.describe(params.wire)
        gone = before - now
        if not gone.is_empty():
            message = f"{named}: the wire does not cover all that it covered"
            return [Finding(rule=self.name, message=message, layer=params.wire, place=Rect.from_db(gone.bbox()))]
        narrow = _free(params, now - opened(now, params.width, params.width))
        message = f"{named}: the wire is narrower than {params.width} dbu"
        return [
            Finding(rule=self.name, message=message, layer=params.wire, place=Rect.from_db(part.bbox()))
            for part in narrow.each()
        ]

    def witness(self, params: FrozenEditParams, bench: Bench) -> Drawing:
        """Raises ValueError for a given layout that is as asked for, or whose pins could not be compared."""
        start = Edit(bench, ()).view
        if params.wire is not None and _wire(start, params).is_empty():
            raise ValueError(f"the given layout has no wire on layer {params.wire} at the point")
        nets = net_findings(Connectivity(start), self.name, _groups(start, params), floating=True)
        if not nets and self._left_over(start, params) is None and not self._narrow(start, start, params):
            raise ValueError("the given layout is what is asked for")
        return bench.solution

    def negatives(self, params: FrozenEditParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        start = Edit(bench, ()).view
        found = {
            **without_solution(bench, lambda edit: bool(run_rules_on(edit.view, bench.rules))),
            **changed_labels(bench),
            **changed_shapes(bench, params.layers),
            **changed_nets(bench, _groups(start, params), params.layers),
            **chosen(
                {
                    "grown_by_one_dbu_where_frozen": _grown(params, bench),
                    "cut_by_one_dbu_where_frozen": _cut(params, bench),
                    "wire_one_dbu_too_narrow": _narrowed(params, bench),
                    "spur_one_dbu_wide": spurs(bench, params.layers),
                }
            ),
        }
        if params.cleared is not None and params.keep_out is not None:
            layer = params.cleared
            left = boxes_within(params.keep_out.to_db())
            found["left_over_in_the_keep_out"] = left.map(lambda box: (*bench.solution, rect(layer, box)))
        return found

    def variants(self, params: FrozenEditParams) -> frozenset[str]:
        return REDRAWN


def _free(params: FrozenEditParams, region: db.Region) -> db.Region:
    """The part of a region that lies where changes are allowed."""
    area = db.Region(params.area.to_db())
    return region & area if params.where == "inside" else region - area


def _frozen(params: FrozenEditParams, layer: Layer, changes: db.Region) -> db.Region:
    return changes - _free(params, changes) if layer in params.layers else changes


def _groups(start: LayoutView, params: FrozenEditParams) -> tuple[Group, ...]:
    """The pins that are to be connected. Raises ValueError where ``nets`` has not just the labels of the pins."""
    if not params.nets:
        return groups_of(start)
    pins = pins_of(start)
    texts = {text for group in params.nets for text in group}
    if wrong := texts ^ {pin.text for pin in pins}:
        raise ValueError(
            f"nets and the pins of the given layout do not have the same labels: {', '.join(sorted(wrong))}"
        )
    return tuple(frozenset(pin for pin in pins if pin.text in group) for group in params.nets)


def _wire(view: LayoutView, params: FrozenEditParams) -> db.Region:
    """The polygon of the wire; empty where none is at the point."""
    assert params.wire is not None
    assert params.at is not None
    point, found = params.at.to_db(), db.Region()
    for polygon in separate_polygons(view.region(params.wire)):
        if polygon.inside(point):
            found.insert(polygon)
    return found


def _reaches_frozen(params: FrozenEditParams, box: db.Box) -> bool:
    """Whether a part of a box lies where nothing may change: worked out apart from ``check``, which may be wrong."""
    area = params.area.to_db()
    return not box.inside(area) if params.where == "inside" else box.overlaps(area)


def _grown(params: FrozenEditParams, bench: Bench) -> Iterator[Drawing]:
    view = Edit(bench, bench.solution).view
    for layer in params.layers:
        for edge in outer_edges(view.region(layer)):
            strip = beside(edge, 0, edge.length(), 1)
            if _reaches_frozen(params, strip):
                yield (*bench.solution, rect(layer, strip))


def _cut(params: FrozenEditParams, bench: Bench) -> Iterator[Drawing]:
    view = Edit(bench, bench.solution).view
    for layer in params.layers:
        for edge in outer_edges(view.region(layer))[:8]:
            edit = Edit(bench, bench.solution).cut(layer, beside(edge, 0, edge.length(), -1))
            gone = view.region(layer) - edit.view.region(layer)
            if any(_reaches_frozen(params, part.bbox()) for part in gone.each() if part.is_box()):
                yield edit.drawing


def _narrowed(params: FrozenEditParams, bench: Bench) -> Iterator[Drawing]:
    """A strip of one dbu along an edge of the wire cut off, where edges that face each other come too near.

    Only what leaves all that the wire covered before.
    """
    if params.wire is None or params.width is None:
        return
    before = _wire(Edit(bench, ()).view, params)
    for edge in outer_edges(_wire(Edit(bench, bench.solution).view, params)):
        edit = Edit(bench, bench.solution).cut(params.wire, beside(edge, 0, edge.length(), -1))
        wire = _wire(edit.view, params)
        pairs = wire.width_check(params.width, False, db.Metrics.Projection)
        near = [pair.polygon(0).bbox() for pair in pairs.each() if pair.polygon(0).is_box()]
        if (before - wire).is_empty() and any(_is_free(params, box) for box in near):
            yield edit.drawing


def _is_free(params: FrozenEditParams, box: db.Box) -> bool:
    """Whether a part of a box lies where changes are allowed."""
    area = params.area.to_db()
    return box.overlaps(area) if params.where == "inside" else not box.inside(area)


CHECKER = FrozenEdit()
