"""Netlists of MOS transistors: read from SPICE text, written as such, and compared by klayout.db."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import klayout.db as db

from pytest_iclayout.geometry.shapes import Rect

KINDS = ("NMOS", "PMOS")
TERMINALS = ("D", "G", "S", "B")
"""In the order of a SPICE line."""

_PIN = re.compile(r"[A-Z0-9_]+")


@dataclass(frozen=True)
class Mos:
    """One transistor: channel width and length in µm, its nets by name; ``place`` is the channel in a layout."""

    kind: str
    drain: str
    gate: str
    source: str
    body: str
    width_um: float
    length_um: float
    name: str = ""
    place: Rect | None = None

    @property
    def nets(self) -> tuple[str, str, str, str]:
        """In the order of ``TERMINALS``."""
        return self.drain, self.gate, self.source, self.body

    @property
    def size(self) -> str:
        return f"W={self.width_um:.6g}u L={self.length_um:.6g}u"

    def __str__(self) -> str:
        return f"{self.kind} {self.size}"


@dataclass(frozen=True)
class MosNetlist:
    """A circuit; every pin is a net, nets that are no pins may bear any name."""

    pins: tuple[str, ...]
    devices: tuple[Mos, ...]
    name: str = "TOP"

    @property
    def nets(self) -> tuple[str, ...]:
        """The pins first."""
        return tuple(dict.fromkeys((*self.pins, *(net for one in self.devices for net in one.nets))))

    def terminals(self, net: str) -> Counter[str]:
        """What is on a net, as ``NMOS drain/source``: drain and source of a transistor are the same thing."""
        kinds = {"D": "drain/source", "S": "drain/source", "G": "gate", "B": "body"}
        return Counter(
            f"{one.kind} {kinds[terminal]}"
            for one in self.devices
            for terminal, own in zip(TERMINALS, one.nets, strict=True)
            if own == net
        )

    def as_spice(self) -> str:
        lines = [f".subckt {self.name} {' '.join(self.pins)}"]
        lines += [f"M{n} {' '.join(one.nets)} {one.kind} {one.size}" for n, one in enumerate(self.devices, 1)]
        return "\n".join([*lines, ".ends"])

    @property
    def combined(self) -> MosNetlist:
        """Transistors in parallel, with the same channel length, made one in the first one's place: their
        widths add up.
        """
        netlist = _to_db(self)
        netlist.combine_devices()
        (circuit,) = netlist.each_circuit()
        places = {_device_name(number, one): one.place for number, one in enumerate(self.devices)}
        return replace(self, devices=tuple(replace(one, place=places.get(one.name)) for one in _devices(circuit)))


def same_circuit(one: MosNetlist, other: MosNetlist, tolerance_um: float) -> bool:
    """Whether both are the same circuit with the same pins; widths and lengths may differ by the tolerance.

    Transistors in parallel count as one, drain and source are exchangeable, names of devices and of nets
    that are no pins do not matter.
    """
    # Without a pin that the comparison could begin at, nothing would have to match.
    if set(one.pins) != set(other.pins):
        return False
    left, right = _to_db(one), _to_db(other)
    left.combine_devices()
    right.combine_devices()
    for netlist in (left, right):
        for device_class in netlist.each_device_class():
            # A sum of whole database units is inexact as a floating-point number.
            slack = tolerance_um + 1e-6
            width = db.EqualDeviceParameters(device_class.parameter_id("W"), slack, 0.0)
            length = db.EqualDeviceParameters(device_class.parameter_id("L"), slack, 0.0)
            device_class.equal_parameters = width + length
    comparer = db.NetlistComparer()
    # Names are no hints: a pin is bound by hand, any other net may have any name.
    comparer.dont_consider_net_names = True
    (a,), (b,) = left.each_circuit(), right.each_circuit()
    comparer.same_circuits(a, b)
    for pin in one.pins:
        comparer.same_nets(a.net_by_name(pin), b.net_by_name(pin), True)
    return bool(comparer.compare(left, right))


@lru_cache(maxsize=64)
def read_spice(text: str) -> MosNetlist:
    """Read one ``.subckt`` of M lines. Raises ValueError that says what is wrong and what is accepted."""
    netlist = db.Netlist()
    with tempfile.TemporaryDirectory(prefix="iclayout-") as folder:
        path = Path(folder) / "netlist.spice"
        # A SPICE file begins with a title line.
        path.write_text(f"* netlist\n{text}\n", encoding="utf-8")
        try:
            netlist.read(str(path), db.NetlistSpiceReader())
        except RuntimeError as error:
            raise ValueError(f"no SPICE text: {str(error).replace(str(path), 'netlist')}") from None
    for line in re.sub(r"\n\s*\+", " ", text).splitlines():
        # KLayout takes 100 µm for a size that is not given.
        if line.strip().upper().startswith("M") and not all(re.search(rf"\b{key}\s*=", line, re.I) for key in "WL"):
            raise ValueError(f"{line.strip()!r} has no W or L, as in W=1u L=0.15u")
    circuits = list(netlist.each_circuit())
    if len(circuits) != 1 or not list(circuits[0].each_pin()):
        raise ValueError("a netlist is one .subckt with pins and M lines up to .ends")
    (circuit,) = circuits
    for device in circuit.each_device():
        kind = device.device_class()
        if not isinstance(kind, db.DeviceClassMOS4Transistor) or kind.name not in KINDS:
            raise ValueError(
                f"device {device.name} is a {kind.name}; devices are M lines of model {' or '.join(KINDS)}"
            )
        if device.parameter("W") <= 0 or device.parameter("L") <= 0:
            raise ValueError(f"device {device.name} has a W or L that is not above 0")
    found = MosNetlist(
        tuple(pin.name() for pin in circuit.each_pin()), tuple(_devices(circuit)), name=str(circuit.name)
    )
    if not found.devices:
        raise ValueError("a netlist has at least one M line")
    for pin in found.pins:
        if not _PIN.fullmatch(pin):
            raise ValueError(f"pin {pin!r} is not letters, digits and underscores")
        if not found.terminals(pin):
            raise ValueError(f"pin {pin} is on no device")
    return found


def _devices(circuit: db.Circuit) -> Iterator[Mos]:
    for device in circuit.each_device():
        net = {name: _net_name(device.net_for_terminal(name)) for name in TERMINALS}
        yield Mos(
            str(device.device_class().name),
            net["D"],
            net["G"],
            net["S"],
            net["B"],
            device.parameter("W"),
            device.parameter("L"),
            name=str(device.expanded_name()),
        )


def _device_name(number: int, mos: Mos) -> str:
    return mos.name or f"M{number}"


def _net_name(net: db.Net | None) -> str:
    return "" if net is None else str(net.expanded_name())


def _to_db(one: MosNetlist) -> db.Netlist:
    netlist, circuit = db.Netlist(), db.Circuit()
    circuit.name = one.name
    netlist.add(circuit)
    classes = {}
    for kind in KINDS:
        classes[kind] = db.DeviceClassMOS4Transistor()
        classes[kind].name = kind
        netlist.add(classes[kind])
    nets = {name: circuit.create_net(name) for name in one.nets}
    for pin in one.pins:
        circuit.connect_pin(circuit.create_pin(pin), nets[pin])
    for number, mos in enumerate(one.devices):
        device = circuit.create_device(classes[mos.kind], _device_name(number, mos))
        for terminal, net in zip(TERMINALS, mos.nets, strict=True):
            device.connect_terminal(terminal, nets[net])
        device.set_parameter("W", mos.width_um)
        device.set_parameter("L", mos.length_um)
    return netlist
