"""How far a wire runs between shields, exactly, from horizontal and vertical edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import klayout.db as db
from iclayout_checkers.wires import Wire


class Stretch(NamedTuple):
    """A straight piece of a wire, from the middle of a bend to that of the next one.

    ``start`` and ``stop`` in dbu along the piece, rounded down where they are in a bend; ``middle``, across it, in
    half dbu.
    """

    is_horizontal: bool
    start: int
    stop: int
    middle: int

    @property
    def length(self) -> int:
        return self.stop - self.start

    @property
    def sides(self) -> tuple[Side, Side]:
        if self.is_horizontal:
            return Side(db.Trans.R0, self.middle), Side(db.Trans.M0, -self.middle)
        return Side(db.Trans.M45, self.middle), Side(db.Trans.R270, -self.middle)


class Side(NamedTuple):
    """One side of a stretch: ``turn`` brings its outside to the top, and the middle to ``middle`` (half dbu)."""

    turn: db.Trans
    middle: int

    def strip(self, start: int, stop: int, width: int, depth: int) -> db.Box:
        """``depth`` dbu outward from the wire's edge, in turned coordinates."""
        edge = (self.middle + width) // 2
        return db.Box(start, edge, stop, edge + depth)


def stretches(wire: Wire) -> Iterator[Stretch]:
    for (x0, y0), (x1, y1) in pairwise(wire.line):
        along = y0 == y1
        start, stop = sorted((x0, x1) if along else (y0, y1))
        yield Stretch(along, start // 2, stop // 2, y0 if along else x0)


def shielded_length(polygon: db.Polygon, wire: Wire, width: int, shield: db.Region, reach: int) -> int:
    """Over how many dbu of its stretches a wire has the shield on both sides.

    A place on a side has it where the way straight outward from the edge meets the shield within ``reach`` dbu, and
    not the wire itself before.  All edges are horizontal or vertical, and the shield does not overlap the wire.
    In a bend, the wire's other piece lies before all of the inner side: no place there has the shield on both sides.
    """
    own = db.Region(polygon)
    total = 0
    for stretch in stretches(wire):
        one, other = (_shielded(stretch, side, width, own, shield, reach) for side in stretch.sides)
        total += (one & other).area()
    return total


def covering(boxes: Iterable[db.Box]) -> db.Region:
    region = db.Region()
    for box in boxes:
        region.insert(box)
    return region


def _shielded(stretch: Stretch, side: Side, width: int, own: db.Region, shield: db.Region, reach: int) -> db.Region:
    """The shielded places of one side, as boxes one dbu high, in one row."""
    # One dbu more: what begins at exactly the reach would share an edge alone with the strip.
    strip = side.strip(stretch.start, stretch.stop, width, reach + 1)
    hidden = [db.Box(one.left, one.bottom, one.right, strip.top) for one in _boxes(own, side.turn, strip)]
    seen = covering(_boxes(shield, side.turn, strip)) - covering(hidden)
    return covering(db.Box(one.left, 2, one.right, 3) for one in _rectangles(seen)).merged()


def _boxes(region: db.Region, turn: db.Trans, strip: db.Box) -> list[db.Box]:
    return _rectangles(region.transformed(turn) & db.Region(strip))


def _rectangles(region: db.Region) -> list[db.Box]:
    return [one.bbox() for one in region.decompose_trapezoids_to_region().each()]
