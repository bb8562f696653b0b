"""Questions about a layout, each with its exact answer."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from math import isqrt
from typing import Annotated, Literal

import klayout.db as db
from iclayout_checkers.layouts import separate_polygons
from iclayout_checkers.probes import PointRef
from pydantic import Field

from pytest_iclayout.checking.checker import Params
from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.placements import Placements
from pytest_iclayout.geometry.shapes import Point
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.layers import LayerRef

Truth = int | bool | str | tuple[int, ...] | tuple[str, ...]
"""A right answer: numbers are whole, in dbu or dbu² where they have a unit."""


class AmbiguousQuestionError(ValueError):
    """A question that the layout does not answer in one way only."""


class _Question(Params):
    key: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]

    def truth(self, nets: Connectivity) -> Truth:
        """The answer for the layout whose nets are given (nothing is extracted before it is asked for).

        Raises AmbiguousQuestionError.
        """
        raise NotImplementedError

    def refuse(self, why: str) -> AmbiguousQuestionError:
        return AmbiguousQuestionError(f"question {self.key}: {why}")

    def polygon_at(self, view: LayoutView, layer: LayerRef, point: Point) -> db.Polygon:
        """The merged shape with the point inside of it, which must be rectilinear."""
        polygons = separate_polygons(view.region(layer))
        found = [one for one in polygons if one.is_rectilinear() and _is_within(db.Region(one), point)]
        if len(found) != 1:
            raise self.refuse(f"({point.x}, {point.y}) is not inside one rectilinear shape of {view.describe(layer)}")
        return found[0]


class WidthAt(_Question):
    """The smaller one of the horizontal and the vertical chord through a point of a merged shape."""

    ask: Literal["width_at"]
    layer: LayerRef
    point: PointRef

    def truth(self, nets: Connectivity) -> int:
        polygon = self.polygon_at(nets.view, self.layer, self.point)
        x, y = self.point.x, self.point.y
        across = _chords(polygon, x, y)
        along = _chords(polygon.transformed(_SWAPPED), y, x)
        if {len(across), len(along)} != {1}:
            raise self.refuse("an edge of the shape lies in line with the point")
        return min(*across, *along)


class Count(_Question):
    """The number of merged shapes of a layer; shapes that meet in a corner only are two."""

    ask: Literal["count"]
    layer: LayerRef

    def truth(self, nets: Connectivity) -> int:
        return len(separate_polygons(nets.view.region(self.layer)))


class Area(_Question):
    """The area that a layer covers, in dbu²; what is covered twice counts once."""

    ask: Literal["area"]
    layer: LayerRef

    def truth(self, nets: Connectivity) -> int:
        return int(nets.view.region(self.layer).area())


class Spacing(_Question):
    """The smallest distance between the two merged shapes of a layer that hold the points a and b."""

    ask: Literal["spacing"]
    layer: LayerRef
    a: PointRef
    b: PointRef

    def truth(self, nets: Connectivity) -> int:
        one, other = (self.polygon_at(nets.view, self.layer, point) for point in (self.a, self.b))
        if one == other:
            raise self.refuse("a and b are in one shape")
        square = min(_distance_squared(e.bbox(), f.bbox()) for e in one.each_edge() for f in other.each_edge())
        if isqrt(square) ** 2 != square:
            raise self.refuse("the distance is no whole number of dbu")
        return isqrt(square)


class NetAt(_Question):
    """The text that names the net of the shape at a point."""

    ask: Literal["net_at"]
    layer: LayerRef
    point: PointRef

    def truth(self, nets: Connectivity) -> str:
        names = {
            reading.names[number]
            for reading in (nets.joined, nets.separate)
            for number in reading.under(self.point, [self.layer])
        }
        name = ",".join(names)
        if _NO_NAME.search(name):
            raise self.refuse(f"the net at ({self.point.x}, {self.point.y}) does not have one name")
        return name


class Connected(_Question):
    """Whether the shape at a and the shape at b belong to one net."""

    ask: Literal["connected"]
    layer_a: LayerRef
    a: PointRef
    layer_b: LayerRef
    b: PointRef

    def truth(self, nets: Connectivity) -> bool:
        found = set()
        for reading in (nets.joined, nets.separate):
            one, other = reading.under(self.a, [self.layer_a]), reading.under(self.b, [self.layer_b])
            if {len(one), len(other)} != {1}:
                raise self.refuse("a or b is not on one net")
            found.add(one == other)
        if len(found) != 1:
            raise self.refuse("it depends on whether a corner conducts")
        return found.pop()


class NetCount(_Question):
    """The number of nets that have a shape on a layer."""

    ask: Literal["nets"]
    layer: LayerRef

    def truth(self, nets: Connectivity) -> int:
        found = {sum(self.layer in one for one in reading.shapes) for reading in (nets.joined, nets.separate)}
        if len(found) != 1:
            raise self.refuse("it depends on whether a corner conducts")
        return found.pop()


class Cells(_Question):
    """How often a cell is placed, through all levels of hierarchy, members of arrays counted one by one."""

    ask: Literal["cells"]
    cell: Annotated[str, Field(min_length=1)]

    def truth(self, nets: Connectivity) -> int:
        layout = nets.view.layout
        if layout.cell(self.cell) is None:
            raise self.refuse(f"there is no cell {self.cell!r}")
        return Placements(layout, nets.view.cell).counts.get(layout.cell(self.cell).cell_index(), 0)


class BoundingBox(_Question):
    """Left, bottom, right and top of what a layer covers."""

    ask: Literal["bounding_box"]
    layer: LayerRef

    def truth(self, nets: Connectivity) -> tuple[int, ...]:
        box = nets.view.region(self.layer).bbox()
        if box.empty():
            raise self.refuse(f"{nets.view.describe(self.layer)} is empty")
        return (box.left, box.bottom, box.right, box.top)


class LayersAt(_Question):
    """The layers that cover a point, as ``LAYER/DATATYPE``, in the order of these numbers."""

    ask: Literal["layers_at"]
    point: PointRef

    def truth(self, nets: Connectivity) -> tuple[str, ...]:
        found = []
        for layer in nets.view.drawn_layers:
            region = nets.view.region(layer)
            if _is_within(region, self.point):
                found.append(str(layer))
            elif _is_near(region, self.point):
                raise self.refuse(f"the point is on an edge of {nets.view.describe(layer)}")
        return tuple(found)


Question = Annotated[
    WidthAt | Count | Area | Spacing | NetAt | Connected | NetCount | Cells | BoundingBox | LayersAt,
    Field(discriminator="ask"),
]

_NO_NAME = re.compile(r"^$|^\$|,")
"""A net without a text has a name that begins with a dollar sign; several texts stand with commas between them."""

_SWAPPED = db.Trans(db.Trans.M45)
"""x and y change places."""

_ABOVE_AND_BELOW = (True, False)


def truths_of(questions: tuple[Question, ...], view: LayoutView) -> dict[str, Truth]:
    """The right answers by key. Raises AmbiguousQuestionError."""
    nets = Connectivity(view)
    return {one.key: one.truth(nets) for one in questions}


def _around(region: db.Region, point: Point) -> int:
    """How much of the four dbu² around a point a region covers."""
    return int((region & db.Region(db.Box(point.x - 1, point.y - 1, point.x + 1, point.y + 1))).area())


def _is_within(region: db.Region, point: Point) -> bool:
    """Strictly: the outline does not belong to it."""
    return region.bbox().contains(point.to_db()) and _around(region, point) == 4


def _is_near(region: db.Region, point: Point) -> bool:
    return region.bbox().contains(point.to_db()) and _around(region, point) > 0


def _chords(polygon: db.Polygon, x: int, y: int) -> set[int]:
    """Lengths of the horizontal chord through a point just above y and just below: two where an edge is at y."""
    return {_chord(polygon, x, y, above) for above in _ABOVE_AND_BELOW}


def _chord(polygon: db.Polygon, x: int, y: int, above: bool) -> int:
    crossed = sorted(_crossings(polygon, y, above))
    right = bisect(crossed, x)
    return crossed[right] - crossed[right - 1]


def _crossings(polygon: db.Polygon, y: int, above: bool) -> Iterator[int]:
    for edge in polygon.each_edge():
        low, high = sorted((edge.y1, edge.y2))
        if low <= y < high if above else low < y <= high:
            yield edge.x1


def _distance_squared(one: db.Box, other: db.Box) -> int:
    """Of two boxes, or axis-parallel edges by their boxes; 0 where they touch."""
    dx = max(0, other.left - one.right, one.left - other.right)
    dy = max(0, other.bottom - one.top, one.bottom - other.top)
    return dx * dx + dy * dy
