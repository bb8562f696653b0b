"""Structures whose resistance tells about a process."""

from __future__ import annotations

from itertools import cycle
from typing import Literal

import klayout.db as db
from pydantic import Field

from pytest_iclayout.session.generators.limits import Limits
from pytest_iclayout.session.generators.parameters import Metal, Params
from pytest_iclayout.session.generators.shapes import Drawn, Shapes, square

_CUTS = {"li1": "mcon", "met1": "via", "met2": "via2", "met3": "via2"}
"""The cuts of a contact chain: those above the layer; for the highest one, those below."""


class StructureParams(Params):
    kind: Literal["van_der_pauw", "contact_chain", "comb", "serpentine"] = Field(
        default="van_der_pauw", description="of the structure"
    )
    layer: Metal = Field(default="li1", description="conductor of the structure")
    feature_width: int = Field(default=400, ge=300, le=50_000, description="of lines, and of spaces between them")
    feature_length: int = Field(default=2000, ge=300, le=500_000, description="of an arm, finger, leg or link")
    count: int = Field(default=8, ge=2, le=128, description="fingers, legs or contacts; van_der_pauw has none")


def structure(params: StructureParams, limits: Limits) -> Shapes:
    """The lower-left corner of the first line is at the origin, or that of the structure."""
    if params.kind == "contact_chain":
        return _contact_chain(params, limits)
    layer = limits.layer(params.layer)
    gap = max(params.feature_width, limits.space(layer))
    boxes = {"van_der_pauw": _van_der_pauw, "comb": _comb, "serpentine": _serpentine}[params.kind](params, gap)
    return [Drawn(layer, box) for box in boxes]


def _van_der_pauw(params: StructureParams, _: int) -> list[db.Box]:
    """A Greek cross: four arms of equal length at a square."""
    width, length = params.feature_width, params.feature_length
    whole = 2 * length + width
    return [db.Box(0, length, whole, length + width), db.Box(length, 0, length + width, whole)]


def _comb(params: StructureParams, gap: int) -> list[db.Box]:
    """Two spines with fingers in turn, a gap apart everywhere: two nets. Fingers are side by side over the length."""
    width, length = params.feature_width, params.feature_length
    lefts = _lefts(params, gap)
    upper = width + length + 2 * gap
    spines = [db.Box(0, low, lefts[-1] + width, low + width) for low in (0, upper)]
    fingers = [
        db.Box(left, width, left + width, upper - gap)
        if number % 2 == 0
        else db.Box(left, width + gap, left + width, upper)
        for number, left in enumerate(lefts)
    ]
    return [*spines, *fingers]


def _serpentine(params: StructureParams, gap: int) -> list[db.Box]:
    """Legs a gap apart, joined in turn above and below: one line from end to end."""
    width, length = params.feature_width, params.feature_length
    upper = width + length
    legs = [db.Box(left, 0, left + width, upper + width) for left in _lefts(params, gap)]
    turns = [
        db.Box(leg.right, low, leg.right + gap, low + width)
        for leg, low in zip(legs[:-1], cycle((upper, 0)), strict=False)
    ]
    return [*legs, *turns]


def _lefts(params: StructureParams, gap: int) -> list[int]:
    return [number * (params.feature_width + gap) for number in range(params.count)]


def _contact_chain(params: StructureParams, limits: Limits) -> Shapes:
    """Links on two conductors in turn, a contact where they meet.

    At both ends a link of the other conductor reaches outward, for a probe and because a contact needs both.
    """
    cut = limits.cut(_CUTS[params.layer])
    layer = limits.layer(params.layer)
    other = cut.bottom if layer == cut.top else cut.top
    width, step = params.feature_width, params.feature_length + params.feature_width
    links = [
        Drawn(other if number % 2 == 0 else layer, db.Box(left, 0, left + step + width, width))
        for number, left in enumerate(range(-step, params.count * step, step))
    ]
    margin = (width - cut.size) // 2
    contacts = [
        Drawn(cut.layer, square(left + margin, margin, cut.size)) for left in range(0, params.count * step, step)
    ]
    return [*links, *contacts]
