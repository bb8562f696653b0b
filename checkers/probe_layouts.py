"""What the checkers with two probes draw: two plates, each under one probe, joined in the ways that count or not."""

from __future__ import annotations

from dataclasses import dataclass

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Shapes
from iclayout_checkers.probes import probed_layers

from pytest_iclayout.geometry.shapes import Point
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Connection, Technology

_AROUND = 100
"""dbu; how far the plates reach beyond the probes."""
_PREFERRED = ("met1", "li1")
"""Layers to draw on where a task names none."""


def drawing_layer(technology: Technology, layer: Layer | None) -> Layer:
    """The conductor to draw on. Raises ValueError as ``probed_layers`` does."""
    conductors = probed_layers(technology, layer)
    named = {technology.name_of(one): one for one in conductors}
    return next((named[name] for name in _PREFERRED if name in named), conductors[0])


def other_conductors(technology: Technology, layer: Layer) -> SearchStrategy[Layer]:
    """A conductor that is not the given one: every technology with connections has two."""
    return st.sampled_from([one for one in probed_layers(technology, None) if one != layer])


def connection_with_cut(technology: Technology, layer: Layer) -> Connection | None:
    """A connection of the layer through a cut, None when there is none."""
    return next(
        (one for one in technology.connections if one.cut is not None and layer in (one.bottom, one.top)),
        None,
    )


@dataclass(frozen=True)
class TwoPlates:
    """Plates on ``layer`` under two different points, ``at`` dbu (as a permille) apart from the lower one.

    Drawn along the axis on which the points are farther apart, called u here, the other one v; turned at
    the end where that is y.
    """

    low: Point
    high: Point
    layer: Layer
    permille: int = 500

    @classmethod
    def of(cls, a: Point, b: Point, layer: Layer, permille: int = 500) -> TwoPlates:
        turned = abs(a.y - b.y) > abs(a.x - b.x)
        low, high = sorted((a, b), key=lambda one: one.y if turned else one.x)
        return cls(low, high, layer, permille)

    def apart(self, gap: int = 1) -> Shapes:
        """Two plates with 1 dbu between them, or with ``gap`` 0 abutting: then they are one."""
        return self._placed((self.layer, self._low_plate()), (self.layer, self._high_plate(gap)))

    def whole(self) -> Shapes:
        """One plate under both points."""
        return self._placed((self.layer, self._low_plate() + self._high_plate(0)))

    def under(self, point: Point) -> Shapes:
        """The plate of one point alone."""
        return self.apart()[:1] if point == self.low else self.apart()[1:]

    def meeting_in_a_corner(self) -> Shapes:
        """Plates 1 dbu apart, farther above the points, where tabs of theirs touch in a corner."""
        cut, left, right, bottom, top = self._bounds()
        layer, edge = self.layer, top - _AROUND + 10
        return self._placed(
            (layer, db.Box(left, bottom, cut, top)),
            (layer, db.Box(cut, edge + 20, cut + 1, edge + 40)),
            (layer, db.Box(cut + 1, bottom, right, edge)),
            (layer, db.Box(cut + 2, edge, right, top)),
            (layer, db.Box(cut + 1, edge + 40, cut + 2, edge + 60)),
        )

    def bridged(self, other: Layer, cut: Layer | None, missing: int | None = None, aside: int | None = None) -> Shapes:
        """Plates 1 dbu apart, a bridge over the gap on ``other``, and a cut at either end of it.

        The cut number ``missing`` is left out; the cut number ``aside`` only touches the bridge.
        """
        _, left, right, _, top = self._bounds()
        base, u0, u1 = top - _AROUND, left + _AROUND, right - _AROUND
        cuts = [db.Box(u0 - 60, base + 20, u0 - 30, base + 50), db.Box(u1 + 30, base + 20, u1 + 60, base + 50)]
        shapes: Shapes = [(other, db.Box(u0 - 70, base + 10, u1 + 70, base + 60))]
        for number, box in enumerate(cuts):
            if cut is not None and number != missing:
                shapes.append((cut, box.moved(0, 40) if number == aside else box))
        return self.apart() + self._placed(*shapes)

    def pads(self, count: int, point: Point) -> Shapes:
        """So many different rectangles of the layer on a point's plate, all on the far side from the gap."""
        _, left, right, bottom, _ = self._bounds()
        sizes = [(1 + number % 90, 1 + number // 90) for number in range(count)]
        if point == self.low:
            boxes = [db.Box(left, bottom, left + width, bottom + height) for width, height in sizes]
        else:
            boxes = [db.Box(right - width, bottom, right, bottom + height) for width, height in sizes]
        return self._placed(*((self.layer, box) for box in boxes))

    def bystanders(self, count: int, gap: int) -> Shapes:
        """So many shapes of the layer, apart from the plates and from each other."""
        _, left, _, bottom, _ = self._bounds()
        box = db.Box(left, bottom - gap - 50, left + 30, bottom - gap)
        return self._placed(*((self.layer, box.moved(0, -number * (50 + gap))) for number in range(count)))

    @property
    def _turned(self) -> bool:
        return abs(self.low.y - self.high.y) > abs(self.low.x - self.high.x)

    def _bounds(self) -> tuple[int, int, int, int, int]:
        """Where the lower plate ends, then the left, right, bottom and top of all, as u and v."""
        ends = [(one.y, one.x) if self._turned else (one.x, one.y) for one in (self.low, self.high)]
        (u0, v0), (u1, v1) = ends
        cut = u0 + (u1 - 1 - u0) * self.permille // 1000
        return cut, u0 - _AROUND, u1 + _AROUND, min(v0, v1) - _AROUND, max(v0, v1) + _AROUND

    def _low_plate(self) -> db.Box:
        cut, left, _, bottom, top = self._bounds()
        return db.Box(left, bottom, cut, top)

    def _high_plate(self, gap: int) -> db.Box:
        cut, _, right, bottom, top = self._bounds()
        return db.Box(cut + gap, bottom, right, top)

    def _placed(self, *shapes: tuple[Layer, db.Box]) -> Shapes:
        if not self._turned:
            return list(shapes)
        return [(layer, db.Box(box.bottom, box.left, box.top, box.right)) for layer, box in shapes]
