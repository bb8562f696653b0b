"""Frames of several conductors around a die, joined by rings of cuts."""

from __future__ import annotations

from typing import Literal

import klayout.db as db
from pydantic import Field

from pytest_iclayout.session.generators.limits import Cut, Limits
from pytest_iclayout.session.generators.parameters import Params, refuse
from pytest_iclayout.session.generators.shapes import Drawn, Shapes, check_count, frame, square

_STACKS = {"li1_met1": ("mcon",), "up_to_met2": ("mcon", "via"), "up_to_met3": ("mcon", "via", "via2")}


class SealRingParams(Params):
    stack: Literal["li1_met1", "up_to_met2", "up_to_met3"] = Field(
        default="up_to_met3", description="conductors, from li1 upward"
    )
    die_width: int = Field(default=100_000, ge=900, le=4_000_000, description="of the die, frames included")
    die_height: int = Field(default=100_000, ge=900, le=4_000_000, description="of the die, frames included")
    ring_width: int = Field(default=900, ge=300, le=100_000, description="of the frames' strips")


def seal_ring(params: SealRingParams, limits: Limits) -> Shapes:
    """The frames from li1 upward, then the cuts.  The die's lower-left corner is at the origin.

    The cuts of a level stand along the middle line of the frames, one at each corner, at equal steps
    (to 1 dbu) that are the least which the rules allow.
    """
    cuts = [limits.cut(name) for name in _STACKS[params.stack]]
    conductors = [cuts[0].bottom, *(cut.top for cut in cuts)]
    width, height, ring = params.die_width, params.die_height, params.ring_width
    space = max(limits.space(layer) for layer in conductors)
    if min(width, height) < 2 * ring + space:
        most = (min(width, height) - space) // 2
        raise refuse("ring_width", f"{ring} leaves no hole in a die of {width} x {height}; up to {most} does")
    check_count(sum(2 * (width + height - 2 * ring) // cut.pitch for cut in cuts))
    inner = db.Box(ring, ring, width - ring, height - ring)
    shapes = [shape for layer in conductors for shape in frame(layer, inner, ring)]
    for cut in cuts:
        shapes.extend(_ring_of_cuts(params, cut))
    return shapes


def _ring_of_cuts(params: SealRingParams, cut: Cut) -> Shapes:
    low = (params.ring_width - cut.size) // 2
    across, up = params.die_width - params.ring_width, params.die_height - params.ring_width
    lefts, bottoms = _steps(low, across, cut.pitch), _steps(low, up, cut.pitch)
    places = [
        *((left, bottom) for bottom in (low, low + up) for left in lefts),
        *((left, bottom) for left in (low, low + across) for bottom in bottoms[1:-1]),
    ]
    return [Drawn(cut.layer, square(left, bottom, cut.size)) for left, bottom in places]


def _steps(start: int, length: int, pitch: int) -> list[int]:
    count = length // pitch
    return [start + length * number // count for number in range(count + 1)]
