"""What a technology says of a layer of cuts."""

from __future__ import annotations

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind, Technology

_CUT_SIDE = 170
"""dbu; where the rules in force name no size for the cut."""


def joined(via: Layer, technology: Technology, role: str) -> tuple[Layer, ...]:
    """The conductors that the technology joins by the via, on one side of it: ``bottom`` or ``top``."""
    layers = (getattr(one, role) for one in technology.connections if one.cut == via)
    return tuple(dict.fromkeys(layers))


def cut_side(via: Layer, bench: Bench) -> int:
    """The side in dbu that the rules in force ask of a cut."""
    sized = (RuleKind.EXACT_SIZE, RuleKind.WIDTH)
    values = [rule.value for rule in bench.rules if rule.layer == via and rule.kind in sized]
    return max(values, default=_CUT_SIDE)
