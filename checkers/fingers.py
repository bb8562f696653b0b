"""How two polygons interleave: fingers of two combs, found along lines across them.

Between two neighbouring corners, in x, the outline of polygons is nothing but straight edges, so all
lines along y there cross the same pieces in the same order: one line for each such slab is enough.  What
is computed is exact, also where slanted edges cross a slab between grid points.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby, pairwise
from typing import NamedTuple

import klayout.db as db

Number = int | Fraction


class _Edge(NamedTuple):
    """From left to right."""

    x1: int
    y1: int
    x2: int
    y2: int

    def at(self, x: Number) -> Number:
        """y at x."""
        if self.y1 == self.y2:
            return self.y1
        return self.y1 + Fraction(self.y2 - self.y1) * (x - self.x1) / (self.x2 - self.x1)


class _Piece(NamedTuple):
    """What a line crosses of one of the two polygons, between two edges."""

    owner: int
    lower: _Edge
    upper: _Edge


class _Slab(NamedTuple):
    left: int
    right: int
    pieces: list[_Piece]
    """From below."""


class _Crossing(NamedTuple):
    """A piece as a line crosses it, with what it is connected to on either side of the line.

    Connected parts have numbers, on each side of the line their own.
    """

    owner: int
    parts: Sequence[int]
    """To the left, and to the right."""


def interleaved_fingers(one: db.Polygon, other: db.Polygon) -> int:
    """How many fingers each of two combs has between and beside those of the other.

    Counted along a line parallel to an axis, on the best one: fingers of the one comb and of the other
    in turn.  A finger is a piece on the line that is connected to the spine of its comb, one connected
    part, on one side of the line, and that ends freely on the other; the spines are on different sides.
    The polygons must not overlap.
    """
    return max(
        _alternating(crossings, of_the_left)
        for turned in (False, True)
        for crossings in _crossings(_slabs([one, other], turned))
        for of_the_left in (0, 1)
    )


def _slabs(polygons: Sequence[db.Polygon], turned: bool) -> list[_Slab]:
    edges: list[tuple[_Edge, int]] = []
    for owner, polygon in enumerate(polygons):
        for edge in polygon.each_edge():
            ends = [(point.y, point.x) if turned else (point.x, point.y) for point in (edge.p1, edge.p2)]
            (x1, y1), (x2, y2) = sorted(ends)
            if x1 != x2:
                edges.append((_Edge(x1, y1, x2, y2), owner))
    edges.sort(reverse=True)
    corners = sorted({x for edge, _ in edges for x in (edge.x1, edge.x2)})
    slabs: list[_Slab] = []
    active: list[tuple[_Edge, int]] = []
    for left, right in pairwise(corners):
        active = [one for one in active if one[0].x2 > left]
        while edges and edges[-1][0].x1 == left:
            active.append(edges.pop())
        middle = Fraction(left + right, 2)
        active.sort(key=lambda one: one[0].at(middle))
        pairs = zip(active[::2], active[1::2], strict=True)
        slabs.append(_Slab(left, right, [_Piece(owner, lower, upper) for (lower, owner), (upper, _) in pairs]))
    return slabs


def _crossings(slabs: Sequence[_Slab]) -> Iterator[list[_Crossing]]:
    """What a line through each slab crosses, from below."""
    left, right = _connected(slabs), reversed(_connected(slabs[::-1]))
    for slab, *sides in zip(slabs, left, right, strict=True):
        yield [_Crossing(piece.owner, parts) for piece, *parts in zip(slab.pieces, *sides, strict=True)]


def _connected(slabs: Sequence[_Slab]) -> list[list[int]]:
    """For each slab, by what name each of its pieces is connected through it and the slabs before it.

    Pieces of two slabs are connected where they share a stretch of the line between them: a corner does not.
    """
    parents: list[int] = []

    def root(name: int) -> int:
        while parents[name] != name:
            parents[name] = parents[parents[name]]
            name = parents[name]
        return name

    result: list[list[int]] = []
    for number, slab in enumerate(slabs):
        names = list(range(len(parents), len(parents) + len(slab.pieces)))
        parents += names
        if number:
            for here, there in _shared(slab, slabs[number - 1]):
                parents[root(names[here])] = root(result[-1][there])
        result.append([root(name) for name in names])
    return result


def _shared(slab: _Slab, before: _Slab) -> Iterator[tuple[int, int]]:
    """Numbers of pieces of two neighbouring slabs that share a stretch of the line between them."""
    (x,) = {slab.left, slab.right} & {before.left, before.right}
    at = [0, 0]
    while at[0] < len(slab.pieces) and at[1] < len(before.pieces):
        one, other = slab.pieces[at[0]], before.pieces[at[1]]
        tops = one.upper.at(x), other.upper.at(x)
        if one.owner == other.owner and max(one.lower.at(x), other.lower.at(x)) < min(tops):
            yield at[0], at[1]
        at[tops.index(min(tops))] += 1


def _alternating(crossings: Sequence[_Crossing], of_the_left: int) -> int:
    """The least number of fingers of either comb that alternate, ``of_the_left`` having its spine on the left."""
    # With the owner: what is on the left of the line and what is on the right are numbered apart.
    seen = [
        ((one.owner, one.parts[one.owner != of_the_left]), (one.owner, one.parts[one.owner == of_the_left]))
        for one in crossings
    ]
    ends = Counter(tip for _, tip in seen)
    fingers = [spine for spine, tip in seen if ends[tip] == 1]
    spines = {frozenset(pair) for pair in pairwise(fingers)}
    return max((_in_turn(fingers, pair) for pair in spines), default=0)


def _in_turn(fingers: Sequence[tuple[int, int]], spines: frozenset[tuple[int, int]]) -> int:
    """How often the fingers of two spines take turns, by the one that has fewer."""
    turns = [owner for owner, _ in groupby(owner for owner, part in fingers if (owner, part) in spines)]
    return min(turns.count(0), turns.count(1))
