"""One function a kind of design rule, on merged regions.

The measuring is KLayout's, with the defaults of its DRC language: euclidian metrics, edges at 90° or
more to each other ignored, touching edges reported with distance 0, so that shapes that meet in a
corner break width and space (https://www.klayout.de/doc/manual/drc_ref.html).  Where a rule says
more than KLayout's check of the same name does, the function's docstring says what.

Lengths are in dbu and areas in dbu².  With ``most``, no more places of a kind are told of one by one;
a last violation counts the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import klayout.db as db

from pytest_iclayout.geometry.picking import first_by_place, of_another_size

_ROUNDING = 1
"""dbu by which a crossing of slanted edges may be off: KLayout snaps it to the grid."""


_RESOLUTION = 0.001
"""Steps (dbu) in which measured lengths are told."""


class Violation(NamedTuple):
    """One place that breaks a rule. ``what`` is set where there is no single number to show."""

    measured: float | None
    place: db.Box
    what: str | None = None
    unlisted: int = 0
    """Of how many further places, all within ``place``, this stands in for."""


def width(layer: db.Region, value: int, most: int | None = None) -> list[Violation]:
    """Edges that face each other through the inside of a polygon, closer than ``value``."""
    return _measured(layer.width_check(value), value, most)


def space(layer: db.Region, value: int, most: int | None = None) -> list[Violation]:
    """Edges that face each other through the outside, closer than ``value``: notches included."""
    return _measured(layer.space_check(value), value, most)


def separation(
    layer: db.Region, other: db.Region, value: int, *, overlap_is_error: bool = True, most: int | None = None
) -> list[Violation]:
    """Edges of two layers that face each other through the outside, closer than ``value``.

    KLayout measures nothing between shapes that overlap, or of which one lies inside the other.
    With ``overlap_is_error`` each overlap, and each stretch or corner where both touch, is a
    violation of measured separation 0.
    """
    gaps = _measured(layer.separation_check(other, value), value, most)
    if not overlap_is_error:
        return gaps
    return [gap for gap in gaps if gap.measured != 0] + _contacts(layer, other, most)


class Drawn(NamedTuple):
    """The shapes of two layers as they were drawn, before merging."""

    inner: db.Region
    outer: db.Region


def enclosure(
    inner: db.Region,
    outer: db.Region,
    value: int,
    *,
    outside_is_error: bool = True,
    drawn: Drawn | None = None,
    most: int | None = None,
) -> list[Violation]:
    """Edges of ``inner`` that run inside ``outer`` with less than ``value`` to its edge.

    KLayout measures nothing where ``inner`` is not covered.  With ``outside_is_error`` each
    uncovered part is a violation, whose measured enclosure is minus the shorter side of the part's
    bounding box (how far a rectangle stands out over an edge).  Whether something is covered is
    told from the shapes as ``drawn``, where they are given: merging moves the crossings of slanted
    edges to the grid, for each layer by itself, which would leave slivers between two equal outlines.
    """
    inside, outside = drawn or (inner, outer)
    margins = _measured(inner.enclosed_check(outer, value), value, most) if value > 0 else []
    if not outside_is_error:
        return margins
    return margins + _told(inside - outside, _not_covered, most)


def _not_covered(part: db.Polygon) -> Violation:
    box = part.bbox()
    return Violation(-min(box.width(), box.height()), box, "not covered")


def extension(
    layer: db.Region, other: db.Region, value: int, *, outside_is_error: bool = True, most: int | None = None
) -> list[Violation]:
    """Crossings where ``layer`` reaches beyond ``other`` by less than ``value``.

    A crossing is a stretch of ``other``'s edge that runs inside ``layer``.  Edges of ``layer`` that
    lie along or beside ``other`` without a crossing are no concern of this rule, nor are edges that
    the straight way from the crossing reaches only through the outside of ``layer``.  With
    ``outside_is_error`` a ``layer`` that ends within ``other``, or flush with its edge, is a
    violation of measured extension 0.
    """
    meeting = layer.interacting(other)
    if meeting.is_empty():
        return []
    crossings = other.edges().inside_part(meeting)
    found = _measured(db.EdgePairs(_short_ends(meeting, crossings, value)), value, most) if value > 0 else []
    if outside_is_error:
        found += [
            Violation(0.0, gate.bbox(), "ends within it") for gate in _gates_with_an_end(meeting & other, crossings)
        ]
    return found


def area(layer: db.Region, value: int, most: int | None = None) -> list[Violation]:
    """Polygons of less than ``value`` dbu², their holes not counted."""
    return _told(layer.with_area(None, value, False), lambda polygon: Violation(polygon.area(), polygon.bbox()), most)


def hole_area(layer: db.Region, value: int, most: int | None = None) -> list[Violation]:
    """Holes of less than ``value`` dbu², what stands inside a hole counted as hole."""
    return area(layer.holes(), value, most)


def exact_size(layer: db.Region, value: int, most: int | None = None) -> list[Violation]:
    """Polygons that are not axis-parallel squares of side ``value``."""

    def wrong_size(polygon: db.Polygon) -> Violation:
        box = polygon.bbox()
        if not polygon.is_box():
            return Violation(None, box, "not an axis-parallel rectangle")
        side = max(box.width(), box.height(), key=lambda length: (abs(length - value), length))
        return Violation(side, box, f"size {box.width()} x {box.height()} dbu")

    return _told(of_another_size(layer, value, value), wrong_size, most)


def _told(
    places: db.Region | db.EdgePairs | db.Edges, violation: Callable[[Any], Violation], most: int | None
) -> list[Violation]:
    """A violation for each place; with ``most`` for the first ones by place, and one that counts the rest."""
    if most is None or places.count() <= most:
        return [violation(one) for one in places.each()]
    listed = [violation(one) for one in first_by_place(places, most)]
    return [*listed, Violation(None, places.bbox(), unlisted=places.count() - most)]


def _measured(pairs: db.EdgePairs, value: int, most: int | None) -> list[Violation]:
    # KLayout snaps the ends of slanted markers to the grid, which may carry them to or past the very
    # limit that the edges break.
    below = value - _RESOLUTION
    return _told(pairs, lambda pair: Violation(min(_distance(pair.first, pair.second), below), pair.bbox()), most)


def _distance(a: db.Edge, b: db.Edge) -> float:
    """Shortest distance of two edges, which KLayout's own method gives in whole dbu only.

    Cut off, not rounded: what is below a limit never shows as the limit.
    """
    if a.intersects(b):
        return 0.0
    return math.floor(_shortest_way(a, b).length * 1000) / 1000


class _Way(NamedTuple):
    length: float
    start: db.DPoint
    end: db.DPoint


def _shortest_way(a: db.Edge, b: db.Edge) -> _Way:
    """The shortest line between two edges that do not cross: one end of it is an end of an edge."""
    ways = []
    for point, edge in ((a.p1, b), (a.p2, b), (b.p1, a), (b.p2, a)):
        along = edge.d().sprod(point - edge.p1) / (edge.sq_length() or 1)
        share = min(max(along, 0.0), 1.0)
        foot = db.DPoint(edge.x1 + share * edge.dx(), edge.y1 + share * edge.dy())
        ways.append(_Way(math.sqrt(_distance_squared(point, edge)), db.DPoint(point.x, point.y), foot))
    return min(ways, key=lambda way: way.length)


def _distance_squared(point: db.Point, edge: db.Edge) -> float:
    dx, dy = edge.dx(), edge.dy()
    px, py = point.x - edge.x1, point.y - edge.y1
    along, length = px * dx + py * dy, dx * dx + dy * dy
    if along <= 0:
        return px * px + py * py
    if along >= length:
        return (px - dx) ** 2 + (py - dy) ** 2
    return (px * dy - py * dx) ** 2 / length


def _contacts(layer: db.Region, other: db.Region, most: int | None) -> list[Violation]:
    overlaps = layer & other
    # Borders that meet without an overlap beside them: abutting edges and shared corners.  Told by
    # edges, because KLayout's `interacting` of polygons misses some that share one slanted corner.
    touches = layer.edges().intersections(other.edges()).not_interacting(overlaps.edges())
    return [
        *_told(overlaps, lambda part: Violation(0.0, part.bbox(), "overlap"), most),
        *_told(touches, lambda edge: Violation(0.0, edge.bbox(), "touch"), most),
    ]


def _short_ends(layer: db.Region, crossings: db.Edges, value: int) -> list[db.EdgePair]:
    borders = layer.edges()
    if borders.enclosing_check(crossings, value).is_empty():
        return []
    found: list[db.EdgePair] = []
    for whole in borders.enclosing_check(crossings, value, True).each():
        border, crossing = whole.first, whole.second
        own = layer.interacting(db.Edges([crossing]))
        if _is_side(border, crossing) or not _has_edge(own, border):
            continue
        for pair in db.Edges([border]).enclosing_check(db.Edges([crossing]), value).each():
            if pair.first.intersects(pair.second) or _runs_inside(_shortest_way(pair.first, pair.second), own):
                found.append(pair)
    return found


def _has_edge(polygons: db.Region, edge: db.Edge) -> bool:
    return any(
        own.contains(edge.p1) and own.contains(edge.p2) for polygon in polygons.each() for own in polygon.each_edge()
    )


def _runs_inside(way: _Way, layer: db.Region) -> bool:
    # A strip, so that a way along a slanted border, which the grid may put outside by a dbu, counts as
    # inside: at most half the strip is outside then, and vanishes.  So does a gap of up to 6 dbu.
    strip = db.DPath([way.start, way.end], 10 * _ROUNDING).polygon().to_itype(1)
    return (db.Region(strip) - layer).sized(-3 * _ROUNDING).is_empty()


def _is_side(border: db.Edge, crossing: db.Edge) -> bool:
    """Whether the border runs through the crossing, as the long edges of a slanted line do."""
    if crossing.side_of(border.p1) * crossing.side_of(border.p2) >= 0:
        return False
    ends = ((crossing.p1, border), (crossing.p2, border))
    return min(_distance_squared(*end) for end in ends) <= _ROUNDING**2


def _gates_with_an_end(gates: db.Region, crossings: db.Edges) -> list[db.Polygon]:
    """Gates (overlaps) inside which the crossing layer ends.

    A line that passes through leaves on two separate stretches, and a ring has a hole.  What
    remains leaves on one stretch or none: there the border between the ends of that stretch tells.
    It turns by 180° around the end of a line, by 90° around a corner, and not at all where the layer
    runs over an end of the other one, or over all of it.
    """
    stretches = crossings.extended(_ROUNDING, _ROUNDING, _ROUNDING, _ROUNDING, True).merged()
    undecided = gates - gates.interacting(stretches, 2)
    return [gate for gate in undecided.each() if gate.holes() == 0 and _turn(gate, crossings) >= 90.0]


def _turn(gate: db.Polygon, crossings: db.Edges) -> float:
    """Degrees by which the hull turns, convex counted positive, at corners off the crossings."""
    near = list(crossings.interacting(db.Region(gate)).each())
    # Nothing is rounded where all edges are parallel to an axis: there an end 1 dbu within is an end.
    slack = 0 if gate.is_rectilinear() else _ROUNDING**2
    total = 0.0
    hull = list(gate.each_point_hull())
    for before, corner, after in zip(hull[-1:] + hull[:-1], hull, hull[1:] + hull[:1], strict=True):
        if all(_distance_squared(corner, edge) > slack for edge in near):
            incoming, outgoing = corner - before, after - corner
            # A hull runs clockwise: a convex corner is a right turn.
            total -= math.degrees(math.atan2(db.Vector.vprod(incoming, outgoing), incoming.sprod(outgoing)))
    return round(total, 6)
