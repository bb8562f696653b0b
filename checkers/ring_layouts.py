"""Rectangular rings of four bars: whole, and open in some place."""

from __future__ import annotations

from typing import NamedTuple

import klayout.db as db


class Ring(NamedTuple):
    """A rectangular ring around a hole, drawn as four bars, each of which ends on the next one."""

    width: int
    height: int
    thickness: int
    """At least 2 dbu, of the hole at least 5."""
    left: int = 0
    bottom: int = 0
    """Of its outside."""

    @classmethod
    def around(cls, hole: db.Box, thickness: int) -> Ring:
        return cls(hole.width(), hole.height(), thickness, hole.left - thickness, hole.bottom - thickness)

    @property
    def hole(self) -> db.Box:
        left, bottom = self.left + self.thickness, self.bottom + self.thickness
        return db.Box(left, bottom, left + self.width, bottom + self.height)

    @property
    def outside(self) -> db.Box:
        return self.hole.enlarged(self.thickness, self.thickness)

    @property
    def bars(self) -> list[db.Box]:
        """Bottom, top, left, right; the latter two stand between the former."""
        hole, outside = self.hole, self.outside
        return [
            db.Box(outside.left, outside.bottom, outside.right, hole.bottom),
            db.Box(outside.left, hole.top, outside.right, outside.top),
            db.Box(outside.left, hole.bottom, hole.left, hole.top),
            db.Box(hole.right, hole.bottom, outside.right, hole.top),
        ]

    @property
    def corners_only(self) -> list[db.Box]:
        """All four bars as long as the hole."""
        hole, bars = self.hole, self.bars
        return [
            db.Box(hole.left, bars[0].bottom, hole.right, bars[0].top),
            db.Box(hole.left, bars[1].bottom, hole.right, bars[1].top),
            *bars[2:],
        ]

    @property
    def halves(self) -> list[db.Box]:
        """Two angles, bottom and left, top and right, that meet at two corners of the hole."""
        hole, (bottom, top, left, right) = self.hole, self.bars
        return [
            db.Box(bottom.left, bottom.bottom, hole.right, bottom.top),
            left,
            db.Box(hole.left, top.bottom, top.right, top.top),
            right,
        ]

    def without(self, side: int) -> list[db.Box]:
        return [bar for number, bar in enumerate(self.bars) if number != side]

    def with_gap(self, side: int, permille: int) -> list[db.Box]:
        bar, at = self.bars[side], self._place(side, permille)
        if side < 2:
            pieces = [db.Box(bar.left, bar.bottom, at, bar.top), db.Box(at + 1, bar.bottom, bar.right, bar.top)]
        else:
            pieces = [db.Box(bar.left, bar.bottom, bar.right, at), db.Box(bar.left, at + 1, bar.right, bar.top)]
        return [*self.without(side), *pieces]

    def with_corner(self, side: int, permille: int) -> list[db.Box]:
        """The bar in two pieces, each half as thick near the other one, that meet in the bar's middle."""
        bar, at, middle = self.bars[side], self._place(side, permille), self.bars[side].center()
        if side < 2:
            pieces = [
                db.Box(bar.left, bar.bottom, at - 1, bar.top),
                db.Box(at - 1, bar.bottom, at, middle.y),
                db.Box(at, middle.y, at + 1, bar.top),
                db.Box(at + 1, bar.bottom, bar.right, bar.top),
            ]
        else:
            pieces = [
                db.Box(bar.left, bar.bottom, bar.right, at - 1),
                db.Box(bar.left, at - 1, middle.x, at),
                db.Box(middle.x, at, bar.right, at + 1),
                db.Box(bar.left, at + 1, bar.right, bar.top),
            ]
        return [*self.without(side), *pieces]

    def _place(self, side: int, permille: int) -> int:
        """Along a bar, over the hole, two dbu or more from its ends."""
        low, high = (self.hole.left, self.hole.right) if side < 2 else (self.hole.bottom, self.hole.top)
        return low + 2 + (high - low - 4) * permille // 1000
