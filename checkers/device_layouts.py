"""Transistors in a row below tracks of metal, a track a net: whole, and with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple

import klayout.db as db

from pytest_iclayout.geometry.mos import TERMINALS, Mos, MosNetlist
from pytest_iclayout.geometry.mos_extraction import MosLayers
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Connection, Technology

CUT = 170
"""dbu; the side of every cut."""
_LI = 330
"""dbu; the width of strips, tracks and pads: a cut with 80 dbu on every side."""
_END = 800
"""dbu; how far diffusion reaches on either side of a channel."""
_REACH = 200
"""dbu; how far poly reaches beyond diffusion."""
_IMPLANT = 130
"""dbu; how far an implant reaches beyond its diffusion."""
_TAP = 400
"""dbu; the side of a tap."""
_PITCH = 700
"""dbu; from track to track."""


class Stack(NamedTuple):
    """What joins transistors: the first cut, the conductor on it, a further cut, and the metal on that."""

    licon: Layer
    li: Layer
    mcon: Layer
    metal: Layer
    label: Layer
    """Texts here name nets of the metal."""

    @classmethod
    def of(cls, layers: MosLayers, technology: Technology) -> Stack:
        """Raises ValueError for a technology whose connections do not reach two conductors above the layers."""
        first = [_above(one, technology) for one in (layers.diff, layers.poly, layers.tap)]
        if None in first or len({(one.cut, one.top) for one in first if one}) != 1:
            raise ValueError(
                f"technology {technology.name} joins diffusion, tap and poly by no one cut to one conductor"
            )
        lower = first[0]
        upper = None if lower is None else _above(lower.top, technology)
        if lower is None or upper is None or lower.cut is None or upper.cut is None:
            raise ValueError(f"technology {technology.name} has no second conductor above diffusion")
        entry = technology.entry(upper.top)
        label = entry.label if entry is not None and entry.label is not None else upper.top
        return cls(lower.cut, lower.top, upper.cut, upper.top, label)


def _above(layer: Layer, technology: Technology) -> Connection | None:
    return next((one for one in technology.connections if one.bottom == layer and one.cut is not None), None)


class Piece(NamedTuple):
    """A rectangle with what it is for; ``device`` -1 is the substrate's tap, ``terminal`` one of D, G, S, B."""

    role: str
    layer: Layer
    box: db.Box
    device: int = -1
    finger: int = 0
    terminal: str = ""
    net: str = ""


class Label(NamedTuple):
    text: str
    layer: Layer
    x: int
    y: int


@dataclass(frozen=True)
class DeviceRow:
    """Pieces and labels; every change gives another row."""

    pieces: tuple[Piece, ...]
    labels: tuple[Label, ...]

    @property
    def drawing(self) -> Drawing:
        sketch = Sketch()
        for one in self.pieces:
            sketch.rect(one.layer, one.box.left, one.box.bottom, one.box.right, one.box.top)
        for label in self.labels:
            sketch.label(label.layer, label.text, label.x, label.y)
        return sketch.drawing

    def of(self, *roles: str) -> list[Piece]:
        return [one for one in self.pieces if one.role in roles]

    def device(self, number: int) -> list[Piece]:
        return [one for one in self.pieces if one.device == number]

    def replaced(self, old: Iterable[Piece], new: Iterable[Piece] = ()) -> DeviceRow:
        gone = list(old)
        return replace(self, pieces=(*(one for one in self.pieces if one not in gone), *new))

    def changed(self, old: Iterable[Piece], change: Callable[[db.Box], db.Box]) -> DeviceRow:
        gone = list(old)
        return self.replaced(gone, [one._replace(box=change(one.box)) for one in gone])

    def plus(self, *pieces: Piece) -> DeviceRow:
        return replace(self, pieces=(*self.pieces, *pieces))

    def labelled(self, labels: Iterable[Label]) -> DeviceRow:
        return replace(self, labels=tuple(labels))

    @property
    def box(self) -> db.Box:
        whole = db.Box()
        for one in self.pieces:
            whole += one.box
        return whole


@dataclass(frozen=True)
class RowPlan:
    """How a netlist becomes a row: each finger has diffusion of its own, each PMOS a well of its own.

    ``finger_width`` is the width of each finger in dbu (None: a transistor is one finger).
    """

    netlist: MosNetlist
    layers: MosLayers
    technology: Technology
    finger_width: int | None = None

    @property
    def stack(self) -> Stack:
        return Stack.of(self.layers, self.technology)

    def dbu(self, length_um: float) -> int:
        """Raises ValueError for a length that is no whole number of database units."""
        exact = length_um * self.technology.dbu_per_micron
        if abs(exact - round(exact)) > 1e-4:
            raise ValueError(f"{length_um:g} µm is no whole number of database units")
        return round(exact)

    def fingers(self, mos: Mos) -> list[int]:
        """The widths of the fingers in dbu. Raises ValueError where the width is no multiple of a finger's."""
        width, finger = self.dbu(mos.width_um), self.finger_width
        if finger is None:
            return [width]
        if width % finger:
            raise ValueError(f"the width of a transistor, {width} dbu, is no multiple of {finger} dbu")
        return [finger] * (width // finger)

    @property
    def substrate(self) -> str | None:
        """The net of the NMOS bodies. Raises ValueError where they are on several: the substrate is one net."""
        nets = {one.body for one in self.netlist.devices if one.kind == "NMOS"}
        if len(nets) > 1:
            raise ValueError(f"bodies of NMOS are on {' and '.join(sorted(nets))}, and the substrate is one net")
        return next(iter(nets), None)

    def needs_a_tap(self, net: str) -> bool:
        """Whether anything but one body is on the net."""
        pmos = [one for one in self.netlist.devices if one.kind == "PMOS" and one.body == net]
        others = any(net in one.nets[:3] for one in self.netlist.devices)
        return net in self.netlist.pins or others or len(pmos) + (net == self.substrate) > 1

    def row(self) -> DeviceRow:
        """The layout. Raises ValueError for a netlist that this cannot draw."""
        pieces: list[Piece] = []
        x = 0
        for number, mos in enumerate(self.netlist.devices):
            drawn = self.device(number, mos, x)
            pieces += drawn
            x = max(one.box.right for one in drawn) + 1500
        if self.substrate is not None and self.needs_a_tap(self.substrate):
            pieces += self.tap(-1, self.substrate, x, self.layers.p_implant)
        pieces += self._strips(pieces)
        ends = [one.box for one in pieces]
        left, right = min(box.left for box in ends) - 500, max(box.right for box in ends) + 500
        tracks = [
            Piece("track", self.stack.metal, db.Box(left, y - _LI // 2, right, y + _LI // 2), net=net)
            for net, y in self.track_places.items()
        ]
        labels = [
            Label(one.net, self.stack.label, left + 200, one.box.center().y)
            for one in tracks
            if one.net in self.netlist.pins
        ]
        return DeviceRow((*pieces, *tracks), tuple(labels))

    @property
    def track_places(self) -> dict[str, int]:
        """Where the middle of each net's track is, above everything else."""
        return {net: self.pad_place + 1000 + n * _PITCH for n, net in enumerate(self._wired)}

    @property
    def pad_place(self) -> int:
        """Where the middle of the gates' pads is: above the widest finger."""
        return max(width for one in self.netlist.devices for width in (*self.fingers(one), _TAP)) + 700

    @property
    def _wired(self) -> list[str]:
        """The nets but those of a body alone."""
        bodies = {one.body for one in self.netlist.devices}
        return [net for net in self.netlist.nets if net not in bodies or self.needs_a_tap(net)]

    def device(self, number: int, mos: Mos, x: int) -> list[Piece]:
        """Fingers from x on and, for a PMOS, the well around them with its tap."""
        layers, length, pieces = self.layers, self.dbu(mos.length_um), []
        for finger, width in enumerate(self.fingers(mos)):
            diff = db.Box(x, 0, x + 2 * _END + length, width)
            middle = diff.left + _END + length // 2
            gate = db.Box(diff.left + _END, -_REACH, diff.left + _END + length, self.pad_place)
            pad = _square(middle, self.pad_place, _LI)
            implant = layers.n_implant if mos.kind == "NMOS" else layers.p_implant
            own = [
                Piece("diff", layers.diff, diff),
                Piece("implant", implant, diff.enlarged(_IMPLANT, _IMPLANT)),
                Piece("poly", layers.poly, gate),
                Piece("pad", layers.poly, pad),
                *self._contact("S", mos.source, diff.left + 300, width // 2),
                *self._contact("G", mos.gate, middle, self.pad_place),
                *self._contact("D", mos.drain, diff.right - 300, width // 2),
            ]
            pieces += [one._replace(device=number, finger=finger) for one in own]
            x = diff.right + 900
        if mos.kind == "PMOS":
            if self.needs_a_tap(mos.body):
                pieces += self.tap(number, mos.body, x - 400, layers.n_implant)
            around = [one.box for one in pieces if one.role in ("diff", "tap")]
            whole = db.Box(around[0].left, 0, around[-1].right, max(box.top for box in around))
            pieces.append(Piece("well", layers.nwell, whole.enlarged(250, 250), number))
        return pieces

    def tap(self, number: int, net: str, x: int, implant: Layer) -> list[Piece]:
        box = db.Box(x, 0, x + _TAP, _TAP)
        own = [
            Piece("tap", self.layers.tap, box),
            Piece("tap_implant", implant, box.enlarged(_IMPLANT, _IMPLANT)),
            *self._contact("B", net, box.center().x, box.center().y),
        ]
        return [one._replace(device=number) for one in own]

    def _contact(self, terminal: str, net: str, x: int, y: int) -> list[Piece]:
        return [Piece("licon", self.stack.licon, _square(x, y, CUT), terminal=terminal, net=net)]

    def _strips(self, pieces: list[Piece]) -> list[Piece]:
        """From each contact up to its net's track, and the cut there."""
        found = []
        for one in pieces:
            if one.role == "licon":
                y, x = self.track_places[one.net], one.box.center().x
                strip = db.Box(x - _LI // 2, one.box.center().y - _LI // 2, x + _LI // 2, y + _LI // 2)
                found.append(one._replace(role="strip", layer=self.stack.li, box=strip))
                found.append(one._replace(role="mcon", layer=self.stack.mcon, box=_square(x, y, CUT)))
        return found


def _square(x: int, y: int, side: int) -> db.Box:
    return db.Box(x - side // 2, y - side // 2, x - side // 2 + side, y - side // 2 + side)


def same_terminals(one: MosNetlist, other: MosNetlist) -> bool:
    """Whether two netlists of as many transistors are the same circuit, by trying every assignment of the nets
    that are no pins; sizes must be equal.  For small circuits; it knows nothing of transistors in parallel.
    """
    if set(one.pins) != set(other.pins) or len(one.devices) != len(other.devices):
        return False
    inner = [net for net in one.nets if net not in one.pins]
    others = [net for net in other.nets if net not in other.pins]
    if len(inner) != len(others):
        return False
    wanted = sorted(_signature(mos, {}) for mos in other.devices)
    return any(
        sorted(_signature(mos, dict(zip(inner, names, strict=True))) for mos in one.devices) == wanted
        for names in permutations(others)
    )


def _signature(mos: Mos, names: dict[str, str]) -> tuple[str, ...]:
    net = {terminal: names.get(own, own) for terminal, own in zip(TERMINALS, mos.nets, strict=True)}
    return (mos.kind, mos.size, net["G"], net["B"], *sorted((net["S"], net["D"])))
