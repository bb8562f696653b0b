"""Pins: labels on conductors, and the nets that they are on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import klayout.db as db

from pytest_iclayout.geometry.connectivity import Connectivity, Nets, conductor_layers
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Point, Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.layers import Layer


class Pin(NamedTuple):
    """A label, and the conductor that its layer belongs to. Labels of one text at two places are two pins."""

    layer: Layer
    text: str
    x: int
    y: int

    @property
    def point(self) -> Point:
        return Point(x=self.x, y=self.y)

    @property
    def place(self) -> Rect:
        return Rect.of(self.x, self.y, self.x, self.y)

    def __str__(self) -> str:
        return f"{self.text!r} at ({self.x}, {self.y})"


Group = frozenset[Pin]
"""The pins of one net."""


def pins_of(view: LayoutView) -> tuple[Pin, ...]:
    """The labels that stand on a conductor's own layer or on its label layer, sorted."""
    labels = {entry.layer: entry.label for entry in view.technology.layers}
    found = set()
    for layer in conductor_layers(view):
        for label_layer in {layer, labels.get(layer) or layer}:
            texts = view.texts(label_layer)
            found |= {Pin(layer, text.string, text.trans.disp.x, text.trans.disp.y) for text in texts.each()}
    return tuple(sorted(found))


def groups_of(view: LayoutView) -> tuple[Group, ...]:
    """The pins by the net that they are on.

    Raises ValueError where a pin is on no shape of its conductor, and where a corner contact leaves open
    which pins are connected: then no later layout could be compared.
    """
    connectivity = Connectivity(view)
    groups = _grouped(view, connectivity.joined)
    if _grouped(view, connectivity.separate) != groups:
        raise ValueError("the given layout connects pins by nothing but a corner")
    return tuple(sorted(groups, key=sorted))


def net_findings(
    connectivity: Connectivity, rule: str, groups: Sequence[Group], *, floating: bool = False
) -> list[Finding]:
    """Pins that are on no shape, pins of a group that are not connected, groups that are; nets without a pin, too,
    unless they may be (``floating``).

    Opens by the reading that keeps corner contacts apart, shorts by the one that joins them.
    """
    view, apart, joined = connectivity.view, connectivity.separate, connectivity.joined
    on = _nets_of_pins(apart, groups)
    findings = _opens(view, rule, groups, on)
    findings += _shorts(rule, groups, _nets_of_pins(joined, groups))
    if not floating:
        findings += [_floating(view, rule, shapes) for shapes in _without_pin(apart, on)]
    return findings


def has_floating_shapes(view: LayoutView, groups: Sequence[Group]) -> bool:
    """Whether a net holds none of the pins."""
    nets = Connectivity(view).separate
    return bool(_without_pin(nets, _nets_of_pins(nets, groups)))


def are_apart(view: LayoutView, groups: Sequence[Group]) -> bool:
    """Whether pins of one group are on different nets, or on none, even where corners connect."""
    on = _nets_of_pins(Connectivity(view).joined, groups)
    return any(not frozenset.intersection(*(on[pin] for pin in group)) for group in groups)


def _grouped(view: LayoutView, nets: Nets) -> set[Group]:
    on: dict[int, set[Pin]] = {}
    for pin in pins_of(view):
        numbers = nets.under(pin.point, (pin.layer,))
        if len(numbers) != 1:
            raise ValueError(f"pin {pin} of the given layout is on {len(numbers)} nets of {view.describe(pin.layer)}")
        on.setdefault(next(iter(numbers)), set()).add(pin)
    return {frozenset(pins) for pins in on.values()}


OnNets = Mapping[Pin, frozenset[int]]


def _nets_of_pins(nets: Nets, groups: Sequence[Group]) -> OnNets:
    return {pin: nets.under(pin.point, (pin.layer,)) for group in groups for pin in group}


def _without_pin(nets: Nets, on: OnNets) -> list[dict[Layer, db.Region]]:
    """The nets that hold none of the pins, by their shapes on each conductor."""
    held = frozenset[int]().union(*on.values())
    return [shapes for number, shapes in enumerate(nets.shapes) if number not in held]


def _opens(view: LayoutView, rule: str, groups: Sequence[Group], on: OnNets) -> list[Finding]:
    findings = []
    for group in groups:
        held = {pin: on[pin] for pin in sorted(group) if on[pin]}
        for pin in sorted(group - held.keys()):
            message = f"pin {pin} is on no shape of {view.describe(pin.layer)}"
            findings.append(Finding(rule=rule, message=message, layer=pin.layer, place=pin.place))
        if held and not frozenset.intersection(*held.values()):
            names = ", ".join(str(pin) for pin in held)
            findings.append(Finding(rule=rule, message=f"pins that belong together are not connected: {names}"))
    return findings


def _shorts(rule: str, groups: Sequence[Group], on: OnNets) -> list[Finding]:
    numbers = [frozenset[int]().union(*(on[pin] for pin in group)) for group in groups]
    return [
        Finding(rule=rule, message=f"pins that must be apart are connected: {min(groups[one])}, {min(groups[other])}")
        for one, other in combinations(range(len(groups)), 2)
        if numbers[one] & numbers[other]
    ]


def _floating(view: LayoutView, rule: str, shapes: Mapping[Layer, db.Region]) -> Finding:
    layer = min(shapes)
    message = f"{view.describe(layer)}: a shape is on no net that has a pin"
    return Finding(rule=rule, message=message, layer=layer, place=Rect.from_db(shapes[layer].bbox()))
