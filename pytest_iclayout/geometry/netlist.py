"""A netlist that a layout should have: which labels and terminals are on one net, and on different ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pytest_iclayout.geometry.connectivity import Connectivity, Nets
from pytest_iclayout.geometry.intent import Terminal, require_area


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ExpectedNet(_Frozen):
    """A net with its pins: labels, and terminals. Without any, the label is the net's name."""

    name: str = Field(min_length=1)
    labels: tuple[str, ...] = ()
    terminals: tuple[Terminal, ...] = ()

    @property
    def own_labels(self) -> tuple[str, ...]:
        return self.labels if self.labels or self.terminals else (self.name,)


class Netlist(_Frozen):
    """The JSON form is ``{"nets": [{"name", "labels"?, "terminals"?}]}``."""

    nets: tuple[ExpectedNet, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_consistent(self) -> Netlist:
        for what, values in (
            ("net name", [net.name for net in self.nets]),
            ("label", [label for net in self.nets for label in net.own_labels]),
        ):
            double = sorted(value for value, times in Counter(values).items() if times > 1)
            if double:
                raise ValueError(f"{what} {', '.join(double)} is used twice")
        for net in self.nets:
            for label in net.own_labels:
                if not label or "," in label or label.startswith("$"):
                    # KLayout names a net by its labels, joined with commas, and one without any by $ and a number.
                    raise ValueError(f"label {label!r} of net {net.name!r} is empty, has a comma or begins with $")
            pins = [*net.own_labels, *(terminal.name for terminal in net.terminals)]
            if len(set(pins)) != len(pins):
                raise ValueError(f"net {net.name!r} has two pins of one name")
            require_area(net.name, net.terminals)
        return self


@dataclass(frozen=True)
class Difference:
    """What the layout has otherwise.

    ``missing``: pins are on no net; ``open``: the pins of a net are on several; ``short``: pins of several
    nets are on one; ``unexpected``: a label names a net, but no expected one has it.
    """

    kind: Literal["missing", "open", "short", "unexpected"]
    nets: tuple[str, ...]
    pins: tuple[str, ...]


def compare_with_netlist(connectivity: Connectivity, expected: Netlist) -> tuple[Difference, ...]:
    """All differences: opens by the reading that keeps corner contacts apart, shorts by the one that joins them."""
    apart, joined = connectivity.separate, connectivity.joined
    return (*_within(apart, expected), *_between(joined, expected), *_unexpected(joined, expected))


def _within(nets: Nets, expected: Netlist) -> Iterator[Difference]:
    for net in expected.nets:
        found = _pins(nets, net)
        missing = tuple(pin for pin, numbers in found.items() if not numbers)
        present = [numbers for numbers in found.values() if numbers]
        if missing:
            yield Difference("missing", (net.name,), missing)
        # A label that stands on two nets is an open, too: a pin of each place.
        labels = [found[label] for label in net.own_labels]
        if present and (not frozenset.intersection(*present) or any(len(numbers) > 1 for numbers in labels)):
            yield Difference("open", (net.name,), tuple(pin for pin, numbers in found.items() if numbers))


def _between(nets: Nets, expected: Netlist) -> Iterator[Difference]:
    on: dict[int, dict[str, list[str]]] = {}
    for net in expected.nets:
        for pin, numbers in _pins(nets, net).items():
            for number in numbers:
                on.setdefault(number, {}).setdefault(net.name, []).append(pin)
    for _, by_net in sorted(on.items()):
        if len(by_net) > 1:
            yield Difference("short", tuple(by_net), tuple(pin for pins in by_net.values() for pin in pins))


def _unexpected(nets: Nets, expected: Netlist) -> Iterator[Difference]:
    known = {label for net in expected.nets for label in net.own_labels}
    drawn = {label for labels in _labels(nets) for label in labels}
    for label in sorted(drawn - known):
        yield Difference("unexpected", (), (label,))


def _pins(nets: Nets, net: ExpectedNet) -> dict[str, frozenset[int]]:
    """The extracted nets that each label or terminal is on."""
    labels = _labels(nets)
    found = {label: frozenset(number for number, own in enumerate(labels) if label in own) for label in net.own_labels}
    return {**found, **{one.name: nets.at(one.layer, one.region) for one in net.terminals}}


def _labels(nets: Nets) -> list[frozenset[str]]:
    return [frozenset() if name.startswith("$") else frozenset(name.split(",")) for name in nets.names]
