"""Telling in words how an extracted circuit differs from the one that was asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pytest_iclayout.geometry.mos import KINDS, Mos, MosNetlist, same_circuit
from pytest_iclayout.geometry.mos_extraction import Flaw, MosExtraction


def differences(extraction: MosExtraction, wanted: MosNetlist, tolerance_um: float) -> Iterator[Flaw]:
    """None where the layout is the circuit.  The pins' names are those of its labels."""
    if extraction.flaws:
        yield from extraction.flaws
        return
    pins = list(_wrong_pins(extraction))
    yield from pins
    if pins:
        return
    yield from extraction.hanging_by_a_corner()
    if not same_circuit(extraction.netlist, wanted, tolerance_um):
        yield from _in_words(extraction.netlist.combined, wanted.combined, tolerance_um)


def _wrong_pins(extraction: MosExtraction) -> Iterator[Flaw]:
    on: dict[int, list[str]] = {}
    for pin, nets in extraction.nets_of_pins.items():
        if not nets:
            yield Flaw(f"no label {pin} stands on a shape of a conductor")
        if len(nets) > 1:
            yield Flaw(f"net {pin} is open: its label stands on {len(nets)} nets")
        for net in nets:
            on.setdefault(net, []).append(pin)
    for pins in on.values():
        if len(pins) > 1:
            yield Flaw(f"nets {' and '.join(pins)} are shorted")


def _in_words(found: MosNetlist, wanted: MosNetlist, tolerance_um: float) -> Iterator[Flaw]:
    yield from _devices(found, wanted, tolerance_um)
    for pin in wanted.pins:
        have, need = found.terminals(pin), wanted.terminals(pin)
        if have != need:
            yield Flaw(f"net {pin} joins {_listed(have)}; required: {_listed(need)}")
    inner = set(wanted.nets) - set(wanted.pins)
    alone = {net for net in inner if sum(wanted.terminals(net).values()) == 1}
    for net in sorted(set(found.nets) - set(found.pins)):
        terminals = found.terminals(net)
        if sum(terminals.values()) == 1 and not alone:
            yield Flaw(f"a terminal is open: {_listed(terminals)}")
    yield Flaw(f"the layout is, with transistors in parallel combined:\n{found.as_spice()}")


def _devices(found: MosNetlist, wanted: MosNetlist, tolerance_um: float) -> Iterator[Flaw]:
    for kind in KINDS:
        have = [one for one in found.devices if one.kind == kind]
        need = [one for one in wanted.devices if one.kind == kind]
        if len(have) != len(need):
            what = "missing" if len(have) < len(need) else "extra"
            yield Flaw(f"{what} device: {len(have)} {kind}, required {len(need)}")
            continue
        wrong, lacking = _unmatched(have, need, tolerance_um)
        for one, other in zip(wrong, lacking, strict=True):
            yield Flaw(f"wrong size: {one}, required {other.size}", one.place)


def _unmatched(have: list[Mos], need: list[Mos], tolerance_um: float) -> tuple[list[Mos], list[Mos]]:
    """Devices of either list without a counterpart of the same size in the other."""
    wrong, lacking = [], list(need)
    for one in have:
        match = next((other for other in lacking if _same_size(one, other, tolerance_um)), None)
        if match is None:
            wrong.append(one)
        else:
            lacking.remove(match)
    return wrong, lacking


def _same_size(one: Mos, other: Mos, tolerance_um: float) -> bool:
    slack = tolerance_um + 1e-6
    return abs(one.width_um - other.width_um) <= slack and abs(one.length_um - other.length_um) <= slack


def _listed(terminals: Counter[str]) -> str:
    named = [f"{count} {name}" if count > 1 else name for name, count in sorted(terminals.items())]
    return ", ".join(named) or "nothing"
