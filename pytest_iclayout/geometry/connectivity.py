"""Nets of a layout by klayout.db.LayoutToNetlist, on true polygons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import klayout.db as db

from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.layers import Layer


@dataclass(frozen=True)
class Nets:
    """The extracted nets, numbered from 0 in KLayout's order, with their shapes a conductor layer."""

    names: tuple[str, ...]
    """Labels joined by commas, else KLayout's ``$1`` style."""
    shapes: tuple[dict[Layer, db.Region], ...]
    conductors: tuple[Layer, ...]

    def at(self, layer: Layer, place: Rect) -> frozenset[int]:
        """Nets that cover part of ``place`` on ``layer`` (by area: a shape that only touches its edge
        does not count)."""
        window = db.Region(place.to_db())
        return frozenset(
            number
            for number, by_layer in enumerate(self.shapes)
            if layer in by_layer and not (by_layer[layer] & window).is_empty()
        )


@dataclass(frozen=True)
class Connectivity:
    """Nets of one view, under two readings of a corner contact.

    Two shapes of a layer that share nothing but a corner may conduct or not once made.  KLayout
    joins them; that reading (``joined``) decides about shorts.  Under the other one (``separate``)
    such corners are cut apart; it decides about opens.  So no verdict rests on a corner.
    """

    view: LayoutView

    @cached_property
    def joined(self) -> Nets:
        return _extract(self.view, self._conductors, self._cuts)

    @cached_property
    def separate(self) -> Nets:
        conductors = {layer: _without_corner_contacts(region) for layer, region in self._conductors.items()}
        cuts = {layer: _without_corner_contacts(region) for layer, region in self._cuts.items()}
        untouched = (self._conductors, conductors), (self._cuts, cuts)
        if all(after[layer] is region for before, after in untouched for layer, region in before.items()):
            return self.joined
        return _extract(self.view, conductors, cuts)

    @cached_property
    def _cuts(self) -> dict[Layer, db.Region]:
        cuts = {one.cut for one in self.view.technology.connections if one.cut is not None}
        return {cut: self.view.region(cut) for cut in sorted(cuts)}

    @cached_property
    def _conductors(self) -> dict[Layer, db.Region]:
        technology = self.view.technology
        cut_by = {technology.layer_named(name): technology.layer_named(by) for name, by in technology.cut_by.items()}
        regions: dict[Layer, db.Region] = {}
        for layer in conductor_layers(self.view):
            region = self.view.region(layer)
            if layer in cut_by:
                region = region - self.view.region(cut_by[layer])
            regions[layer] = region
        return regions


def conductor_layers(view: LayoutView) -> tuple[Layer, ...]:
    """Layers that take part in the technology's connections as conductors, sorted."""
    return tuple(sorted({layer for one in view.technology.connections for layer in (one.bottom, one.top)}))


def _extract(view: LayoutView, conductors: dict[Layer, db.Region], cuts: dict[Layer, db.Region]) -> Nets:
    # Flat mode: a net that never leaves a subcell still belongs to the top cell's picture.
    engine = db.LayoutToNetlist(view.cell.name, view.layout.dbu)
    for layer, region in conductors.items():
        _register(engine, region)
        _attach_labels(engine, view, layer, region)
    for region in cuts.values():
        _register(engine, region)
    for connection in view.technology.connections:
        bottom, top = conductors[connection.bottom], conductors[connection.top]
        # KLayout also joins layers that merely touch.  Through the pieces that both layers cover only
        # an overlap joins: a cut beside a wire is no contact.
        if connection.cut is None:
            _join(engine, bottom, top)
        else:
            _join(engine, bottom, cuts[connection.cut])
            _join(engine, cuts[connection.cut], top)
    engine.extract_netlist()
    return _collect(engine, conductors)


def _register(engine: db.LayoutToNetlist, region: db.Region) -> None:
    engine.register(region, "")
    engine.connect(region)


def _join(engine: db.LayoutToNetlist, lower: db.Region, upper: db.Region) -> None:
    shared = lower & upper
    if not shared.is_empty():
        _register(engine, shared)
        engine.connect(lower, shared)
        engine.connect(shared, upper)


def _attach_labels(engine: db.LayoutToNetlist, view: LayoutView, layer: Layer, region: db.Region) -> None:
    entry = view.technology.entry(layer)
    label_layers = {layer} | ({entry.label} if entry is not None and entry.label is not None else set())
    for label_layer in sorted(label_layers):
        texts = view.texts(label_layer)
        if not texts.is_empty():
            engine.register(texts, "")
            engine.connect(region, texts)


def _collect(engine: db.LayoutToNetlist, conductors: dict[Layer, db.Region]) -> Nets:
    names: list[str] = []
    shapes: list[dict[Layer, db.Region]] = []
    for circuit in engine.netlist().each_circuit():
        for net in circuit.each_net():
            by_layer = {
                layer: found
                for layer, region in conductors.items()
                if not (found := engine.shapes_of_net(net, region, True)).is_empty()
            }
            if by_layer:
                names.append(str(net.expanded_name()))
                shapes.append(by_layer)
    return Nets(tuple(names), tuple(shapes), tuple(conductors))


def _without_corner_contacts(region: db.Region) -> db.Region:
    """The region with a 2 x 2 dbu square taken out at every corner that is the only contact of two parts.

    Returns the same object when there is none, which is the rule.
    """
    coherent = region.dup()
    coherent.min_coherence = True
    coherent.merge()
    if coherent.count() == region.count():
        return region
    # Raw polygons from here on: merging them again would join what touches.
    coherent.merged_semantics = False
    squares = db.Region()
    squares.merged_semantics = False
    for x, y in {(point.x, point.y) for polygon in coherent.each() for point in _vertices(polygon)}:
        squares.insert(db.Box(x - 1, y - 1, x + 1, y + 1))
    # A tip that touches the middle of an edge is a corner of one of the two parts only.
    return region - squares.interacting(coherent, 2)


def _vertices(polygon: db.Polygon) -> Iterable[db.Point]:
    yield from polygon.each_point_hull()
    for hole in range(polygon.holes()):
        yield from polygon.each_point_hole(hole)
