"""How much of a layer lies in each of the windows that a region is looked at through."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import copysign

import klayout.db as db

from pytest_iclayout.geometry.shapes import Rect


def windows(region: Rect, window: int, step: int) -> Iterator[db.Box]:
    """Squares of side ``window`` (dbu), the first one in the lower left corner, ``step`` dbu from one to the next."""
    for bottom in range(region.min.y, region.max.y - window + step, step):
        for left in range(region.min.x, region.max.x - window + step, step):
            yield db.Box(left, bottom, left + window, bottom + window)


class Coverage:
    """The merged shapes of a layer, found again by place."""

    def __init__(self, region: db.Region) -> None:
        self._shapes = db.Shapes()
        self._shapes.insert(region)

    def within(self, box: db.Box) -> int | Fraction:
        """The covered area in dbu², exactly: slanted edges are not moved to the grid where the box cuts them."""
        return sum(area_within(shape, box) for shape in self._shapes.each_touching(box))


def area_within(shape: db.Shape, box: db.Box) -> int | Fraction:
    polygon = shape.polygon
    if polygon.is_box():
        return int((polygon.bbox() & box).area())
    # Between each edge, kept within the box, and y = 0: added where the edge runs to the right, the polygon
    # below it (hulls are clockwise, holes are not), and taken away where it runs to the left.
    return sum(_below(edge, box) for edge in polygon.each_edge())


def _below(edge: db.Edge, box: db.Box) -> int | Fraction:
    left, right = max(min(edge.x1, edge.x2), box.left), min(max(edge.x1, edge.x2), box.right)
    if left >= right:
        return 0
    sign = int(copysign(1, edge.dx()))
    if edge.y1 == edge.y2:
        return sign * (right - left) * min(max(edge.y1, box.bottom), box.top)
    slope = Fraction(edge.y2 - edge.y1, edge.x2 - edge.x1)
    crossings = [edge.x1 + (side - edge.y1) / slope for side in (box.bottom, box.top)]
    first, last = Fraction(left), Fraction(right)
    ends = [first, *sorted(min(max(x, first), last) for x in crossings), last]
    low, high = Fraction(box.bottom), Fraction(box.top)
    heights = [min(max(edge.y1 + (x - edge.x1) * slope, low), high) for x in ends]
    pieces = zip(ends, ends[1:], heights, heights[1:], strict=False)
    return sign * sum((end - start) * (one + other) / 2 for start, end, one, other in pieces)
