"""MOS transistors of a layout, by klayout.db's device extraction, with exact channel sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import klayout.db as db

from pytest_iclayout.geometry.connectivity import Connectivity, Nets, Parts, connected_engine, drawn_parts
from pytest_iclayout.geometry.mos import TERMINALS, Mos, MosNetlist
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.layers import Layer

_SUBSTRATE = "SUBSTRATE"


class MosLayers(NamedTuple):
    """What a transistor is drawn with: ``tap`` contacts a well or the substrate, the implants give the kind."""

    diff: Layer
    tap: Layer
    poly: Layer
    nwell: Layer
    n_implant: Layer
    p_implant: Layer


class Flaw(NamedTuple):
    """Why a layout has no netlist to compare, and where."""

    message: str
    place: Rect | None = None


class Channel(NamedTuple):
    """One drawn channel, in dbu, before any are combined; ``width`` is the side along source and drain."""

    box: db.Box
    width: int
    length: int


class _Active(NamedTuple):
    """Diffusion with channels of one kind, in two layers that abut: channels, source and drain regions."""

    kind: str
    channels: db.Region
    ends: db.Region
    well: db.Region
    """What the body terminals are put on."""


@dataclass(frozen=True)
class MosExtraction:
    """The transistors of a view.  Nets are named by the texts that ``pins`` lists, any others are ignored.

    NMOS: diffusion in the n implant, outside the well and the p implant; its body is the substrate, which
    is one net.  PMOS: diffusion in the well and the p implant, outside the n implant; its body is the well.
    """

    view: LayoutView
    layers: MosLayers
    pins: tuple[str, ...]

    @cached_property
    def connectivity(self) -> Connectivity:
        return Connectivity(self.view)

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """Those that are rectangles which source and drain regions abut on two opposite sides, wholly."""
        return tuple(one for one in map(self._channel, self._crossings.each()) if one is not None)

    @cached_property
    def diffusion(self) -> db.Region:
        """The shapes with channels on them, channels included."""
        return self._region(self.layers.diff).interacting(self._crossings)

    @cached_property
    def flaws(self) -> tuple[Flaw, ...]:
        """What keeps the layout from being transistors; a layout with a flaw has no netlist."""
        found = [*self._flaws_of_channels(), *self._flaws_of_kinds(), *self._flaws_of_taps()]
        # The extractor's own complaints, last: those above say the same in other words.
        return tuple(found or self._flaws_of_the_extractor())

    @cached_property
    def netlist(self) -> MosNetlist:
        """Each drawn transistor by itself, without pins that name no net.  Meaningless where there are flaws."""
        names: dict[int, str] = {}
        pins = []
        for pin, nets in self.nets_of_pins.items():
            pins += [pin] if nets else []
            for number in nets:
                names.setdefault(number, pin)
        return MosNetlist(tuple(pins), tuple(self._devices(names)))

    @cached_property
    def nets_of_pins(self) -> dict[str, tuple[int, ...]]:
        """The extracted nets that each pin's label is on, by number."""
        found: dict[str, list[int]] = {pin: [] for pin in self.pins}
        for net in self._circuit.each_net():
            for pin in str(net.name).split(","):
                if pin in found:
                    found[pin].append(net.cluster_id)
        return {pin: tuple(numbers) for pin, numbers in found.items()}

    def hanging_by_a_corner(self) -> Iterator[Flaw]:
        """Nets that would fall into parts with terminals or pins of their own, were corner contacts cut."""
        if not self.connectivity.has_corner_contacts:
            return
        apart = self.connectivity.separate
        for number, nets in enumerate(self._parts_with_ports(apart)):
            if len(nets) > 1:
                box = db.Box()
                for shapes in self.connectivity.joined.shapes[number].values():
                    box += shapes.bbox()
                yield Flaw("a net hangs together by a corner only", Rect.from_db(box))

    def _parts_with_ports(self, apart: Nets) -> list[frozenset[int]]:
        """For each net of the joined reading, those of the other one that are parts of it and hold something."""
        joined, ports = self.connectivity.joined, self._ports(apart)
        return [
            frozenset(
                number
                for number in ports
                if any(
                    layer in whole and not (region & whole[layer]).is_empty()
                    for layer, region in apart.shapes[number].items()
                )
            )
            for whole in joined.shapes
        ]

    def _ports(self, nets: Nets) -> frozenset[int]:
        """Nets with a label of a pin, a terminal of a transistor, or a tap that something is joined to: by itself
        a tap is a piece of its body, which is one net whatever lies in it."""
        around = self._crossings.sized(1)
        found = set()
        for number, shapes in enumerate(nets.shapes):
            named = not set(nets.names[number].split(",")).isdisjoint(self.pins)
            touching = any(
                layer in shapes and not (shapes[layer] & around).is_empty()
                for layer in (self.layers.diff, self.layers.poly, self.layers.nwell)
            )
            if named or touching or (self.layers.tap in shapes and len(shapes) > 1):
                found.add(number)
        return frozenset(found)

    @cached_property
    def _crossings(self) -> db.Region:
        crossings = self._region(self.layers.diff) & self._region(self.layers.poly)
        crossings.min_coherence = True
        crossings.merge()
        return crossings

    @cached_property
    def _ends(self) -> db.Region:
        return self._region(self.layers.diff) - self._region(self.layers.poly)

    def _region(self, layer: Layer) -> db.Region:
        return self.view.region(layer)

    @cached_property
    def _actives(self) -> tuple[_Active, ...]:
        layers = self.layers
        nwell, n_implant, p_implant = map(self._region, self._doping)
        diff = self.diffusion
        n_diff = diff.inside(n_implant).outside(nwell + p_implant)
        p_diff = diff.inside(nwell & p_implant).outside(n_implant)
        poly = self._region(layers.poly)
        return (
            _Active("NMOS", n_diff & poly, n_diff - poly, db.Region()),
            _Active("PMOS", p_diff & poly, p_diff - poly, nwell.dup()),
        )

    @cached_property
    def taps(self) -> tuple[db.Region, db.Region]:
        """Those that contact a well, and those that contact the substrate."""
        tap = self._region(self.layers.tap)
        nwell, n_implant, p_implant = map(self._region, self._doping)
        return tap.inside(nwell & n_implant).outside(p_implant), tap.inside(p_implant).outside(nwell + n_implant)

    @cached_property
    def _engine(self) -> db.LayoutToNetlist:
        layers, (nmos, pmos), (in_well, in_substrate) = self.layers, self._actives, self.taps
        other_ends = self._ends - nmos.ends - pmos.ends
        conductors: dict[Layer, Parts] = {
            layer: (region.dup(),) for layer, region in self.connectivity.conductors.items()
        }
        # What devices are recognised by and what nets run on must be the same layers of the engine.
        poly = conductors[layers.poly][0]
        conductors |= {
            layers.diff: (nmos.ends, pmos.ends, other_ends),
            layers.tap: (in_well.dup(), in_substrate := in_substrate.dup()),
            layers.nwell: (pmos.well,),
        }
        drawn = drawn_parts(conductors)
        cuts = drawn_parts({layer: (region.dup(),) for layer, region in self.connectivity.cuts.items()})
        engine = connected_engine(self.view, drawn, cuts, frozenset(self.pins))
        engine.register(nmos.well, "substrate")
        engine.connect_global(nmos.well, _SUBSTRATE)
        if not in_substrate.is_empty():
            engine.connect_global(in_substrate, _SUBSTRATE)
        for active in (nmos, pmos):
            if not active.channels.is_empty():
                engine.register(active.channels, f"{active.kind} channels")
                roles: dict[str, db.ShapeCollection] = {
                    "SD": active.ends,
                    "G": active.channels,
                    "P": poly,
                    "W": active.well,
                    "tS": active.ends,
                    "tD": active.ends,
                    "tG": poly,
                    "tB": active.well,
                }
                engine.extract_devices(db.DeviceExtractorMOS4Transistor(active.kind), roles)
        engine.extract_netlist()
        return engine

    @property
    def _circuit(self) -> db.Circuit:
        (circuit,) = self._engine.netlist().each_circuit()
        return circuit

    def _devices(self, names: dict[int, str]) -> Iterator[Mos]:
        places = {one.box.center(): one.box for one in self.channels}
        for device in self._circuit.each_device():
            nets = [device.net_for_terminal(terminal) for terminal in TERMINALS]
            # A pin's name, or one that no pin can have.
            drain, gate, source, body = (names.get(net.cluster_id, f"${net.cluster_id}") for net in nets)
            trans = device.trans
            centre = db.Point(round(trans.disp.x / self.view.layout.dbu), round(trans.disp.y / self.view.layout.dbu))
            yield Mos(
                str(device.device_class().name),
                drain,
                gate,
                source,
                body,
                device.parameter("W"),
                device.parameter("L"),
                place=Rect.from_db(places.get(centre, db.Box(centre, centre))),
            )

    def _channel(self, polygon: db.Polygon) -> Channel | None:
        if not polygon.is_box():
            return None
        box = polygon.bbox()
        across = [self._abutted(side) for side in (_left(box), _right(box))]
        along = [self._abutted(side) for side in (_bottom(box), _top(box))]
        if across == [box.height()] * 2 and along == [0, 0]:
            return Channel(box, box.height(), box.width())
        if along == [box.width()] * 2 and across == [0, 0]:
            return Channel(box, box.width(), box.height())
        return None

    def _abutted(self, side: db.Edge) -> int:
        """How much of a channel's side a source or drain region abuts, in dbu."""
        return int(sum(edge.length() for edge in (self._end_edges & db.Edges([side])).each()))

    @cached_property
    def _end_edges(self) -> db.Edges:
        return self._ends.edges()

    def _flaws_of_channels(self) -> Iterator[Flaw]:
        if self._crossings.is_empty():
            yield Flaw(f"{self._name(self.layers.poly)} crosses {self._name(self.layers.diff)} nowhere")
        good = {one.box for one in self.channels}
        for polygon in self._crossings.each():
            if not polygon.is_box() or polygon.bbox() not in good:
                message = (
                    f"a channel is a rectangle where {self._name(self.layers.poly)} crosses "
                    f"{self._name(self.layers.diff)} from side to side, with diffusion on exactly two sides"
                )
                yield Flaw(message, Rect.from_db(polygon.bbox()))

    def _flaws_of_kinds(self) -> Iterator[Flaw]:
        known = self._actives[0].channels + self._actives[1].channels
        for polygon in (self._crossings - known).each():
            nwell, n_implant, p_implant = map(self._name, self._doping)
            message = (
                f"the diffusion around a channel lies neither within {n_implant}, apart from {p_implant} and "
                f"{nwell} (NMOS), nor within {p_implant} and {nwell}, apart from {n_implant} (PMOS)"
            )
            yield Flaw(message, Rect.from_db(polygon.bbox()))

    def _flaws_of_taps(self) -> Iterator[Flaw]:
        tap = self._region(self.layers.tap)
        if tap.is_empty():
            return
        in_well, in_substrate = self.taps
        for polygon in (tap - in_well - in_substrate).each():
            nwell, n_implant, p_implant = map(self._name, self._doping)
            message = (
                f"a {self._name(self.layers.tap)} shape lies neither within {nwell} and {n_implant}, apart from "
                f"{p_implant}, nor within {p_implant}, apart from {nwell} and {n_implant}"
            )
            yield Flaw(message, Rect.from_db(polygon.bbox()))
        for layer in (self.layers.diff, self.layers.poly):
            for polygon in tap.interacting(self._region(layer)).each():
                message = f"{self._name(self.layers.tap)} touches {self._name(layer)}"
                yield Flaw(message, Rect.from_db(polygon.bbox()))

    def _flaws_of_the_extractor(self) -> Iterator[Flaw]:
        for entry in self._engine.each_log_entry():
            if entry.severity == db.Severity.Error:
                yield Flaw(str(entry.message), Rect.from_db(entry.geometry.bbox().to_itype(self.view.layout.dbu)))

    @property
    def _doping(self) -> tuple[Layer, Layer, Layer]:
        return self.layers.nwell, self.layers.n_implant, self.layers.p_implant

    def _name(self, layer: Layer) -> str:
        return self.view.technology.name_of(layer)


def _left(box: db.Box) -> db.Edge:
    return db.Edge(box.left, box.bottom, box.left, box.top)


def _right(box: db.Box) -> db.Edge:
    return db.Edge(box.right, box.bottom, box.right, box.top)


def _bottom(box: db.Box) -> db.Edge:
    return db.Edge(box.left, box.bottom, box.right, box.bottom)


def _top(box: db.Box) -> db.Edge:
    return db.Edge(box.left, box.top, box.right, box.top)
