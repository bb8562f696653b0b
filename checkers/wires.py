"""Wires of constant width: their centre lines, exactly, from the polygons that they cover."""

from __future__ import annotations

from typing import NamedTuple

import klayout.db as db

from pytest_iclayout.geometry.intent import IntentNet, Terminal

Doubled = tuple[int, int]
"""A point in half dbu: the middle of an odd width lies between two grid points."""


class Wire(NamedTuple):
    """The centre line from end to end, in half dbu."""

    line: tuple[Doubled, ...]

    @property
    def length(self) -> int:
        """In half dbu."""
        pairs = zip(self.line, self.line[1:], strict=False)
        return sum(abs(x1 - x0) + abs(y1 - y0) for (x0, y0), (x1, y1) in pairs)

    @property
    def ends(self) -> tuple[Doubled, Doubled]:
        return self.line[0], self.line[-1]


def wire_of(polygon: db.Polygon, width: int) -> Wire | None:
    """The wire that covers a polygon, None for one that no path of this width with horizontal and vertical pieces,
    square corners and flat ends covers: one with branches, bulges, narrow places or loops, say.
    """
    if polygon.holes() or not polygon.is_rectilinear():
        return None
    points = [(point.x, point.y) for point in polygon.each_point_hull()]
    if len(points) == 4:
        return _straight(polygon.bbox(), width)
    convex = [_turns_right(*(points[(at + step) % len(points)] for step in (-1, 0, 1))) for at in range(len(points))]
    ends = [
        at for at, one in enumerate(points) if convex[at] and convex[_next(at, points)] and _side(at, points) == width
    ]
    if len(ends) != 2:
        return None
    first, last = ends
    count = last - first
    left = [first + 1 + step for step in range(count)]
    right = [(first - step) % len(points) for step in range(len(points) - count)]
    if len(left) != len(right) or not all(
        _is_bend(points[one], points[other], width) and convex[one] != convex[other]
        for one, other in list(zip(left, right, strict=True))[1:-1]
    ):
        return None
    wire = Wire(
        tuple(
            (points[one][0] + points[other][0], points[one][1] + points[other][1])
            for one, other in zip(left, right, strict=True)
        )
    )
    return wire if 2 * polygon.area() == width * wire.length else None


def coupled_length(one: db.Polygon, other: db.Polygon, gap: int) -> int:
    """Over how many dbu edges of two rectilinear polygons face each other at a distance of exactly ``gap`` dbu."""
    return sum(_facing(e, f, gap) for e in one.each_edge() for f in other.each_edge())


def joins(wire: Wire, net: IntentNet) -> bool:
    """Whether the middles of the two ends are in the regions of the net's two terminals or on their edges."""
    one, other = net.terminals
    start, end = wire.ends
    return (_is_in(start, one) and _is_in(end, other)) or (_is_in(end, one) and _is_in(start, other))


def _is_in(point: tuple[int, int], terminal: Terminal) -> bool:
    """Whether a point in half dbu is in the terminal's region or on its edge."""
    low, high = terminal.region.min, terminal.region.max
    return 2 * low.x <= point[0] <= 2 * high.x and 2 * low.y <= point[1] <= 2 * high.y


def _straight(box: db.Box, width: int) -> Wire | None:
    x, y = box.left + box.right, box.bottom + box.top
    if box.height() == width:
        return Wire(((2 * box.left, y), (2 * box.right, y)))
    if box.width() == width:
        return Wire(((x, 2 * box.bottom), (x, 2 * box.top)))
    return None


def _next(at: int, points: list[tuple[int, int]]) -> int:
    return (at + 1) % len(points)


def _side(at: int, points: list[tuple[int, int]]) -> int:
    """The length of the side that begins at a corner."""
    (x0, y0), (x1, y1) = points[at], points[_next(at, points)]
    return abs(x1 - x0) + abs(y1 - y0)


def _turns_right(before: tuple[int, int], here: tuple[int, int], after: tuple[int, int]) -> bool:
    """Hulls run clockwise: whether the corner points outward."""
    return (here[0] - before[0]) * (after[1] - here[1]) < (here[1] - before[1]) * (after[0] - here[0])


def _is_bend(one: tuple[int, int], other: tuple[int, int], width: int) -> bool:
    return abs(one[0] - other[0]) == width and abs(one[1] - other[1]) == width


def _facing(one: db.Edge, other: db.Edge, gap: int) -> int:
    if one.dy() == 0 == other.dy():
        # The inside lies to the right of an edge: an upper side runs to the right.
        above, below = (other, one) if one.x2 > one.x1 else (one, other)
        apart = above.y1 - below.y1 == gap and below.x2 > below.x1 and above.x2 < above.x1
        return max(0, min(one.bbox().right, other.bbox().right) - max(one.bbox().left, other.bbox().left)) * apart
    if one.dx() == 0 == other.dx():
        # A right side runs down.
        beyond, before = (other, one) if one.y2 < one.y1 else (one, other)
        apart = beyond.x1 - before.x1 == gap and before.y2 < before.y1 and beyond.y2 > beyond.y1
        return max(0, min(one.bbox().top, other.bbox().top) - max(one.bbox().bottom, other.bbox().bottom)) * apart
    return 0
