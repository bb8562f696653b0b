"""Wires of constant width: their centre lines, exactly, from the polygons that they cover."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import klayout.db as db

from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.intent import IntentNet, Terminal
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.layers import Layer

Doubled = tuple[int, int]
"""A point in half dbu: the middle of an odd width lies between two grid points."""

_TURNS = (db.Trans.R0, db.Trans.R90, db.Trans.R180, db.Trans.R270)


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
    if not polygon.is_rectilinear():
        return None
    edges = list(polygon.each_edge())
    first = next((at for at, edge in enumerate(edges) if edge.length() == width and _is_outward(edges, at)), None)
    if first is None:
        return None
    # From an end on, the corners come in pairs, one to each side of the centre line.
    corners = [(edge.x2, edge.y2) for edge in edges[first:] + edges[:first]]
    half = len(corners) // 2
    pairs = zip(corners[:half], reversed(corners[half:]), strict=True)
    line = tuple((x0 + x1, y0 + y1) for (x0, y0), (x1, y1) in pairs)
    twice_as_large = db.Region(polygon.transformed(db.ICplxTrans(2)))
    return Wire(line) if (_covered(line, width) ^ twice_as_large).is_empty() else None


def _is_outward(edges: list[db.Edge], at: int) -> bool:
    """Whether both ends of an edge are corners that point outward."""
    before, here, after = (edges[(at + step) % len(edges)].d() for step in (-1, 0, 1))
    return bool(before.vprod_sign(here) == here.vprod_sign(after) == -1)


def _covered(line: tuple[Doubled, ...], width: int) -> db.Region:
    """What a wire covers, in half dbu: its pieces, each but the last one to the far side of the bend at its end."""
    points, region = [db.Point(*one) for one in line], db.Region()
    for piece in pairwise(points):
        path = db.Path(list(piece), 2 * width)
        path.end_ext = width if piece[1] != points[-1] else 0
        region.insert(path)
    return region


def coupled_length(one: db.Polygon, other: db.Polygon, gap: int) -> int:
    """Over how many dbu edges of two rectilinear polygons face each other at a distance of exactly ``gap`` dbu."""
    return sum(_below(one.transformed(turn), other.transformed(turn), gap) for turn in _TURNS)


def _below(one: db.Polygon, other: db.Polygon, gap: int) -> int:
    """Over how many dbu upper edges of one polygon lie ``gap`` dbu below lower edges of another one."""
    # The inside lies to the right of an edge: an upper one runs to the right, a lower one to the left.  Of others,
    # none of what follows is positive.
    return sum(
        max(0, min(e.x2, f.x1) - max(e.x1, f.x2))
        for e in one.each_edge()
        for f in other.each_edge()
        if f.y1 - e.y1 == gap
    )


def joins(wire: Wire, net: IntentNet) -> bool:
    """Whether the middles of the two ends are in the regions of the net's two terminals or on their edges."""
    one, other = net.terminals
    start, end = wire.ends
    return (_is_in(start, one) and _is_in(end, other)) or (_is_in(end, one) and _is_in(start, other))


def layer_finding(rule: str, view: LayoutView, layer: Layer, message: str, place: db.Box | None) -> Finding:
    """What is wrong with the layer that the wires are on."""
    return Finding(
        rule=rule,
        message=f"{view.describe(layer)}: {message}",
        layer=layer,
        place=None if place is None else Rect.from_db(place),
    )


def _is_in(point: tuple[int, int], terminal: Terminal) -> bool:
    """Whether a point in half dbu is in the terminal's region or on its edge."""
    low, high = terminal.region.min, terminal.region.max
    return 2 * low.x <= point[0] <= 2 * high.x and 2 * low.y <= point[1] <= 2 * high.y
