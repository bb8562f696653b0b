"""Pads along the four sides of a die."""

from __future__ import annotations

import klayout.db as db
from pydantic import Field

from pytest_iclayout.session.generators.limits import Limits
from pytest_iclayout.session.generators.parameters import Params, refuse
from pytest_iclayout.session.generators.shapes import Drawn, Shapes, check_count, fitted, grid, square

_CUTS_A_SIDE = 8
"""Cuts along the side of a power pad: a wide pad filled with cuts would be tens of thousands of shapes."""


class PadRingParams(Params):
    die_width: int = Field(default=200_000, ge=10_000, le=4_000_000, description="of the die")
    die_height: int = Field(default=200_000, ge=10_000, le=4_000_000, description="of the die")
    pad_pitch: int = Field(default=100_000, ge=600, le=1_000_000, description="from pad to pad along a side")
    pad_size: int = Field(default=60_000, ge=300, le=500_000, description="side of a pad")
    power_pads: int = Field(
        default=4, ge=0, le=4096, description="how many pads, counted from the first, are power pads"
    )


def pad_ring(params: PadRingParams, limits: Limits) -> Shapes:
    """All pads, then the plate and the cuts of each power pad.  The die's lower-left corner is at the origin.

    Pads are counted along the lower, the right, the upper and the left side, and stand in the middle of
    their side, which begins and ends a pad and a space away from the die's corners.
    """
    cut = limits.cut("via2")
    pads = _pads(params, limits.space(cut.top))
    power = pads[: params.power_pads]
    fitting = (params.pad_size - 2 * cut.enclosure - cut.size) // cut.pitch + 1
    # Where not even one cut has its enclosure, one is in the middle all the same: a power pad is joined.
    count = min(max(1, fitting), _CUTS_A_SIDE)
    check_count(len(pads) + len(power) * (1 + count * count))
    shapes = [Drawn(cut.top, pad) for pad in pads]
    for pad in power:
        shapes.append(Drawn(cut.bottom, pad))
        lefts, bottoms = (
            fitted(start, params.pad_size, cut.size, cut.pitch, most=count) for start in (pad.left, pad.bottom)
        )
        shapes.extend(grid(cut.layer, lefts, bottoms, cut.size))
    return shapes


def _pads(params: PadRingParams, space: int) -> list[db.Box]:
    size, width, height = params.pad_size, params.die_width, params.die_height
    if params.pad_pitch < size + space:
        raise refuse("pad_pitch", f"{params.pad_pitch} does not keep pads of {size} apart; {size + space} or more does")
    if min(width, height) < 2 * size + space:
        raise refuse("pad_size", f"pads of {size} on both sides do not fit a die of {width} x {height}")
    corner = size + space
    along = fitted(corner, width - 2 * corner, size, params.pad_pitch)
    up = fitted(corner, height - 2 * corner, size, params.pad_pitch)
    if not along and not up:
        raise refuse("pad_size", f"no pad of {size} fits between the corners of a die of {width} x {height}")
    check_count(2 * (len(along) + len(up)))
    return [
        *(square(left, 0, size) for left in along),
        *(square(width - size, bottom, size) for bottom in up),
        *(square(left, height - size, size) for left in reversed(along)),
        *(square(0, bottom, size) for bottom in reversed(up)),
    ]
