"""Connectivity intent: which terminals belong together and which nets must stay apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.technology.layers import LayerRef


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Terminal(_Frozen):
    """A place on a conductor layer (dbu) that its net must cover in part."""

    name: str = Field(min_length=1)
    layer: LayerRef
    region: Rect


def require_area(net_name: str, terminals: Iterable[Terminal]) -> None:
    """Raises ValueError for a terminal whose region has no area: no shape could cover part of it."""
    for terminal in terminals:
        box = terminal.region.to_db()
        if box.width() == 0 or box.height() == 0:
            raise ValueError(f"terminal {terminal.name!r} of net {net_name!r} has a region without area")


class IntentNet(_Frozen):
    name: str = Field(min_length=1)
    terminals: tuple[Terminal, ...] = Field(min_length=1)


class ForbiddenPair(_Frozen):
    net_a: str
    net_b: str


class Intent(_Frozen):
    """The JSON form is the vocabulary's: ``{"nets": [...], "forbidden": [{"net_a", "net_b"}]}``."""

    nets: tuple[IntentNet, ...] = Field(min_length=1)
    forbidden: tuple[ForbiddenPair, ...] = ()

    @model_validator(mode="after")
    def _is_consistent(self) -> Intent:
        names = [net.name for net in self.nets]
        if len(set(names)) != len(names):
            raise ValueError("a net name is used twice")
        for pair in self.forbidden:
            for name in (pair.net_a, pair.net_b):
                if name not in names:
                    raise ValueError(f"forbidden names {name!r}, which is no net; nets are {', '.join(names)}")
            if pair.net_a == pair.net_b:
                raise ValueError(f"forbidden pairs net {pair.net_a!r} with itself")
        for net in self.nets:
            require_area(net.name, net.terminals)
        return self


@dataclass(frozen=True)
class Open:
    """A net whose terminals are not all on one extracted net; ``unreached`` are those apart from the first."""

    net: IntentNet
    unreached: tuple[Terminal, ...]


@dataclass(frozen=True)
class Short:
    """A forbidden pair that shares an extracted net, met at ``terminal`` of the second net."""

    pair: ForbiddenPair
    terminal: Terminal


@dataclass(frozen=True)
class IntentResult:
    opens: tuple[Open, ...]
    shorts: tuple[Short, ...]

    @property
    def ok(self) -> bool:
        return not self.opens and not self.shorts


def compare_with_intent(connectivity: Connectivity, intent: Intent) -> IntentResult:
    """Opens and shorts of a layout.

    A terminal is on every extracted net that covers some area of its region on its layer.  A net is
    open unless one extracted net is at all of its terminals.  A forbidden pair is short when any
    terminal of one and any of the other share an extracted net.
    """
    opens = tuple(Open(net, unreached) for net in intent.nets if (unreached := _unreached(connectivity, net)))
    by_name = {net.name: net for net in intent.nets}
    shorts = tuple(
        Short(pair, terminal)
        for pair in intent.forbidden
        if (terminal := _shared_terminal(connectivity, by_name[pair.net_a], by_name[pair.net_b]))
    )
    return IntentResult(opens, shorts)


def _unreached(connectivity: Connectivity, net: IntentNet) -> tuple[Terminal, ...]:
    nets_at = [connectivity.separate.at(one.layer, one.region) for one in net.terminals]
    if frozenset.intersection(*nets_at):
        return ()
    # Name what the first terminal's net does not reach; a terminal on nothing is named itself.
    first = nets_at[0]
    return (
        tuple(one for one, nets in zip(net.terminals, nets_at, strict=True) if not nets or not (nets & first))
        or net.terminals[1:]
    )


def _shared_terminal(connectivity: Connectivity, first: IntentNet, second: IntentNet) -> Terminal | None:
    nets = frozenset[int]().union(*(connectivity.joined.at(one.layer, one.region) for one in first.terminals))
    return next((one for one in second.terminals if nets & connectivity.joined.at(one.layer, one.region)), None)
