"""Picking few shapes out of millions without a Python object for each."""

from __future__ import annotations

import heapq
from typing import Any

import klayout.db as db


def first_by_place(shapes: db.Region | db.EdgePairs | db.Edges, most: int) -> list[Any]:
    """At most ``most`` of the shapes: those furthest left, then lowest, in that order.

    The same ones in whatever order KLayout gives them, which depends on how the layout was drawn.
    """
    return heapq.nsmallest(most, shapes.each(), key=_place)


def _place(shape: db.Polygon | db.EdgePair | db.Edge) -> tuple[int, int, int, int]:
    box = shape.bbox()
    return box.left, box.bottom, box.right, box.top


def of_another_size(shapes: db.Region, width: int, height: int) -> db.Region:
    """Those polygons of a merged region that are no axis-parallel rectangles of that size (dbu).

    Each polygon is taken as it is, also where it meets another one in a corner.
    """
    found = _as_they_are(shapes).non_rectangles()
    found += _as_they_are(_as_they_are(shapes).with_bbox_width(width, True)).rectangles()
    low_or_high = _as_they_are(_as_they_are(shapes).with_bbox_height(height, True)).rectangles()
    found += _as_they_are(low_or_high).with_bbox_width(width, False)
    return _as_they_are(found)


def _as_they_are(polygons: db.Region) -> db.Region:
    # Polygons that KLayout does not know to be merged its filters would merge first, and join at corners.
    taken = polygons.dup()
    taken.merged_semantics = False
    return taken
