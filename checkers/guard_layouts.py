"""Transistors in a row within a ring of body contacts that tracks of metal cross."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import klayout.db as db
from iclayout_checkers.device_layouts import CUT, DeviceRow, Label, Piece, RowPlan
from iclayout_checkers.generator_shapes import square
from iclayout_checkers.layouts import bounding_box
from iclayout_checkers.ring_layouts import Ring

from pytest_iclayout.technology.layers import Layer

TAP = 410
"""dbu; the width of the ring's tap: a cut with 120 dbu on every side."""
MARGIN = 40
"""dbu; by how much the tap is wider than the metal on either side."""
IMPLANT = 130
"""dbu; how far the implant reaches beyond the tap."""
WELL = 250
"""dbu; how far the well reaches beyond the tap."""
_GAP = 500
"""dbu; from the transistors to the ring."""
_OUT = 1000
"""dbu; how far tracks reach beyond the ring."""
_PITCH = 1000
"""dbu; from cut to cut along a ring, where nothing else is asked for."""


class Guard(NamedTuple):
    """A ring: what it is drawn on, one over the other."""

    tap: Ring
    metal: Ring

    @classmethod
    def around(cls, hole: db.Box) -> Guard:
        return cls(Ring.around(hole, TAP), Ring.around(hole.enlarged(MARGIN, MARGIN), TAP - 2 * MARGIN))

    @property
    def line(self) -> db.Box:
        """Where the middle of the tap runs."""
        return self.tap.hole.enlarged(TAP // 2, TAP // 2)


@dataclass(frozen=True)
class GuardPlan(RowPlan):
    """``reach``: from a cut of the ring to the place beyond it that is farthest from both it and the next one."""

    reach: int | None = None

    @property
    def net(self) -> str:
        """That of the bodies and of the ring."""
        return self.netlist.devices[0].body

    @property
    def is_nmos(self) -> bool:
        return self.netlist.devices[0].kind == "NMOS"

    @property
    def pitch(self) -> int:
        """From the middle of a cut of the ring to that of the next one."""
        return _PITCH if self.reach is None else CUT + 2 * self.reach

    @property
    def guard(self) -> Guard:
        """Around the row with all its taps, on a multiple of the pitch each side."""
        row = RowPlan.row(self)
        tracks = bounding_box([one.box for one in row.of("track")])
        content = bounding_box([one.box for one in row.pieces if one.role not in ("track", "well")])
        content += db.Box(content.left, tracks.bottom, content.right, tracks.top)
        hole = content.enlarged(_GAP, _GAP)
        width, height = (-(-(side + TAP) // self.pitch) * self.pitch - TAP for side in (hole.width(), hole.height()))
        return Guard.around(db.Box(hole.left, hole.bottom, hole.left + width, hole.bottom + height))

    def row(self) -> DeviceRow:
        return self.guarded(self.guard)

    @property
    def witness(self) -> DeviceRow:
        """The row with a further label on the ring, which names no pin."""
        row, bar = self.row(), self.guard.metal.bars[0].center()
        return row.labelled([*row.labels, Label("ring", self.stack.li, bar.x, bar.y)])

    def guarded(self, guard: Guard, *, taps: bool = False) -> DeviceRow:
        """The row with a ring; ``taps``: and with the taps that a row without a ring has."""
        row = RowPlan.row(self)
        bare = [one for one in row.pieces if one.role != "well" and (taps or not _is_of_a_tap(one))]
        rings = [
            *_bars("ring_tap", Piece("", self.layers.tap, db.Box()), guard.tap),
            *_bars("ring_metal", Piece("", self.stack.li, db.Box()), guard.metal),
            *_bars("ring_implant", Piece("", self.implant, db.Box()), grown(guard.tap, IMPLANT)),
            *(Piece("ring_cut", self.stack.licon, square(CUT, *place)) for place in self.cuts(guard.line)),
            *self.ties(guard, self.net),
        ]
        if not self.is_nmos:
            around = [one.box for one in bare if one.role in ("diff", "tap")]
            whole = bounding_box([guard.tap.outside, *around])
            rings.append(Piece("ring_well", self.layers.nwell, whole.enlarged(WELL, WELL)))
        whole = bounding_box([guard.tap.outside, *(one.box for one in bare)])
        left, right = whole.left - _OUT, whole.right + _OUT
        tracks = [
            one._replace(box=db.Box(left, one.box.bottom, right, one.box.top)) for one in bare if one.role == "track"
        ]
        labels = tuple(one._replace(x=left + 200) for one in row.labels)
        return DeviceRow((*(one for one in bare if one.role != "track"), *tracks, *rings), labels)

    @property
    def implant(self) -> Layer:
        """That of the ring."""
        return self.layers.p_implant if self.is_nmos else self.layers.n_implant

    def cuts(self, line: db.Box) -> list[tuple[int, int]]:
        """The middles of cuts along the sides of a box, at the corners too."""
        xs = [*range(line.left, line.right, self.pitch), line.right]
        ys = [*range(line.bottom, line.top, self.pitch), line.top][1:-1]
        return [
            *((x, y) for y in (line.bottom, line.top) for x in xs),
            *((x, y) for x in (line.left, line.right) for y in ys),
        ]

    def ties(self, guard: Guard, net: str) -> list[Piece]:
        """Cuts between the metal of the ring and the track of a net, at the left and at the right."""
        bars, y = guard.metal.bars, self.track_places[net]
        return [
            Piece("ring_tie", self.stack.mcon, square(CUT, bar.center().x, y), finger=number)
            for number, bar in enumerate(bars[2:])
        ]


def grown(ring: Ring, by: int) -> Ring:
    """A ring that reaches farther, inward and outward."""
    return Ring.around(ring.hole.enlarged(-by, -by), ring.thickness + 2 * by)


def redrawn(row: DeviceRow, role: str, boxes: Iterable[db.Box]) -> DeviceRow:
    """The row with other boxes in place of all pieces of a role."""
    old = row.of(role)
    return row.replaced(old, [old[0]._replace(box=box, finger=number) for number, box in enumerate(boxes)])


def _bars(role: str, piece: Piece, ring: Ring) -> list[Piece]:
    return [piece._replace(role=role, box=bar, finger=number) for number, bar in enumerate(ring.bars)]


def _is_of_a_tap(piece: Piece) -> bool:
    return piece.role in ("tap", "tap_implant") or piece.terminal == "B"
