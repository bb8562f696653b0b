"""Nets of a layout by klayout.db.LayoutToNetlist, on true polygons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, product

import klayout.db as db

from pytest_iclayout.geometry.shapes import Point, Rect
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

    def under(self, point: Point, layers: Iterable[Layer]) -> frozenset[int]:
        """Nets with a shape at a point (dbu) on one of ``layers``; the outline belongs to the shape."""
        here, wanted = point.to_db(), tuple(layers)
        return frozenset(
            number
            for number, by_layer in enumerate(self.shapes)
            if any(_holds(by_layer[layer], here) for layer in wanted if layer in by_layer)
        )


Parts = tuple[db.Region, ...]
"""The shapes of a layer, in as many regions as it takes to keep apart what may not be joined."""


@dataclass(frozen=True)
class Connectivity:
    """Nets of one view, under two readings of a corner contact.

    Two shapes of a layer that share nothing but a corner may conduct or not once made.  KLayout
    joins them; that reading (``joined``) decides about shorts.  Under the other one (``separate``)
    they are not joined; it decides about opens.  So no verdict rests on a corner.
    """

    view: LayoutView
    labels: frozenset[str] | None = None
    """The texts that name nets; None: all."""

    @cached_property
    def joined(self) -> Nets:
        conductors = {layer: (region,) for layer, region in self.conductors.items()}
        return self._extract(conductors, {layer: (region,) for layer, region in self.cuts.items()})

    @cached_property
    def separate(self) -> Nets:
        conductors = {layer: _apart_at_corners(region) for layer, region in self.conductors.items()}
        cuts = {layer: _apart_at_corners(region) for layer, region in self.cuts.items()}
        if all(len(parts) == 1 for parts in (*conductors.values(), *cuts.values())):
            return self.joined
        return self._extract(conductors, cuts)

    @property
    def has_corner_contacts(self) -> bool:
        """Whether the two readings may differ."""
        regions = (*self.conductors.values(), *self.cuts.values())
        return any(_apart(region).count() != region.count() for region in regions)

    def _extract(self, conductors: Mapping[Layer, Parts], cuts: Mapping[Layer, Parts]) -> Nets:
        conductors, cuts = drawn_parts(conductors), drawn_parts(cuts)
        engine = connected_engine(self.view, conductors, cuts, self.labels)
        engine.extract_netlist()
        return _collect(engine, conductors)

    @cached_property
    def cuts(self) -> dict[Layer, db.Region]:
        """The layers of cuts."""
        cuts = {one.cut for one in self.view.technology.connections if one.cut is not None}
        return {cut: self.view.region(cut) for cut in sorted(cuts)}

    @cached_property
    def conductors(self) -> dict[Layer, db.Region]:
        """The layers of conductors, each without what interrupts it."""
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


def connected_engine(
    view: LayoutView,
    conductors: Mapping[Layer, Parts],
    cuts: Mapping[Layer, Parts],
    labels: frozenset[str] | None = None,
) -> db.LayoutToNetlist:
    """An engine that knows what connects, before it extracts: devices may still be added.

    ``labels`` are the texts that may name nets (None: all).  The regions belong to the engine afterwards.
    """
    # Flat mode: a net that never leaves a subcell still belongs to the top cell's picture.
    engine = db.LayoutToNetlist(view.cell.name, view.layout.dbu)
    for layer, parts in conductors.items():
        for region in parts:
            _register(engine, region)
            _attach_labels(engine, view, layer, region, labels)
    for parts in cuts.values():
        for region in parts:
            _register(engine, region)
    for connection in view.technology.connections:
        bottom, top = conductors[connection.bottom], conductors[connection.top]
        if connection.cut is None:
            _join(engine, bottom, top)
        else:
            _join(engine, bottom, cuts[connection.cut])
            _join(engine, cuts[connection.cut], top)
    return engine


def drawn_parts(layers: Mapping[Layer, Parts]) -> dict[Layer, Parts]:
    """Without empty regions: most layers of a technology are empty, and each costs as much as a drawn one."""
    return {layer: tuple(part for part in parts if not part.is_empty()) for layer, parts in layers.items()}


def _register(engine: db.LayoutToNetlist, region: db.Region) -> None:
    engine.register(region, "")
    engine.connect(region)


def _join(engine: db.LayoutToNetlist, lower: Parts, upper: Parts) -> None:
    # KLayout also joins layers that merely touch.  Through the pieces that both layers cover only
    # an overlap joins: a cut beside a wire is no contact.
    for below, above in product(lower, upper):
        shared = below & above
        if not shared.is_empty():
            _register(engine, shared)
            engine.connect(below, shared)
            engine.connect(shared, above)


def _attach_labels(
    engine: db.LayoutToNetlist, view: LayoutView, layer: Layer, region: db.Region, wanted: frozenset[str] | None
) -> None:
    entry = view.technology.entry(layer)
    label_layers = {layer} | ({entry.label} if entry is not None and entry.label is not None else set())
    for label_layer in sorted(label_layers):
        texts = view.texts(label_layer)
        if wanted is not None:
            texts = db.Texts([text for text in texts.each() if text.string in wanted])
        if not texts.is_empty():
            engine.register(texts, "")
            engine.connect(region, texts)


def _collect(engine: db.LayoutToNetlist, conductors: Mapping[Layer, Parts]) -> Nets:
    names: list[str] = []
    shapes: list[dict[Layer, db.Region]] = []
    for circuit in engine.netlist().each_circuit():
        for net in circuit.each_net():
            by_layer: dict[Layer, db.Region] = {}
            for layer, parts in conductors.items():
                found = db.Region()
                for region in parts:
                    found += engine.shapes_of_net(net, region, True)
                if not found.is_empty():
                    by_layer[layer] = found
            if by_layer:
                names.append(str(net.expanded_name()))
                shapes.append(by_layer)
    return Nets(tuple(names), tuple(shapes), tuple(conductors))


def _apart_at_corners(region: db.Region) -> Parts:
    """The polygons of a merged region such that within one part none touches another.

    One part, the region itself, where no two share a corner, which is the rule.
    """
    coherent = _apart(region)
    if coherent.count() == region.count():
        return (region,)
    whole = set(region.each())
    split = [polygon for polygon in coherent.each() if polygon not in whole]
    parts = [db.Region([polygon for polygon in coherent.each() if polygon in whole])]
    for polygon, part in zip(split, _coloring(_neighbours(split)), strict=True):
        if part == len(parts):
            parts.append(db.Region())
        parts[part].insert(polygon)
    return tuple(parts)


def _apart(region: db.Region) -> db.Region:
    """Polygons that meet in a corner kept apart."""
    coherent = region.dup()
    coherent.min_coherence = True
    coherent.merge()
    return coherent


def _neighbours(polygons: Sequence[db.Polygon]) -> list[set[int]]:
    """For each polygon, those that it meets in a corner: one of theirs, or one of its own on their edge."""
    # No edge is twice in merged polygons, with its direction.
    owner = {edge: number for number, polygon in enumerate(polygons) for edge in polygon.each_edge()}
    borders = db.Shapes()
    for edge in owner:
        borders.insert(edge)
    found: list[set[int]] = [set() for _ in polygons]
    for edge, number in owner.items():
        for shape in borders.each_touching(db.Box(edge.p1, edge.p1)):
            other = owner[shape.edge]
            if other != number and _is_on(edge.p1, shape.edge):
                found[number].add(other)
                found[other].add(number)
    return found


def _holds(region: db.Region, point: db.Point) -> bool:
    return any(
        polygon.bbox().contains(point)
        and (
            polygon.inside(point)
            or any(edge.bbox().contains(point) and _is_on(point, edge) for edge in polygon.each_edge())
        )
        for polygon in region.each()
    )


def _is_on(point: db.Point, edge: db.Edge) -> bool:
    """Exactly, for a point in the edge's box; KLayout's own test misses corners of slanted polygons."""
    return (edge.x2 - edge.x1) * (point.y - edge.y1) == (edge.y2 - edge.y1) * (point.x - edge.x1)


def _coloring(neighbours: Sequence[set[int]]) -> list[int]:
    """Numbers from 0, different for neighbours, each the lowest that is free."""
    colors: list[int] = []
    for near in neighbours:
        taken = {colors[other] for other in near if other < len(colors)}
        colors.append(next(color for color in count() if color not in taken))
    return colors
