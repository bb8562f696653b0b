"""A closed ring around a region."""

from __future__ import annotations

import klayout.db as db
from pydantic import Field

from pytest_iclayout.session.generators.limits import Limits
from pytest_iclayout.session.generators.parameters import Metal, Params
from pytest_iclayout.session.generators.shapes import Shapes, check_count, fitted, frame, grid


class GuardRingParams(Params):
    layer: Metal = Field(default="li1", description="conductor of the ring")
    region_width: int = Field(default=2000, ge=300, le=1_000_000, description="of the region within")
    region_height: int = Field(default=2000, ge=300, le=1_000_000, description="of the region within")
    ring_width: int = Field(default=400, ge=300, le=1_000_000, description="of the ring's strips")
    taps: bool = Field(default=True, description="a row of licon1 cuts along the lower strip; li1 only")


def guard_ring(params: GuardRingParams, limits: Limits) -> Shapes:
    """The region's lower-left corner is at the origin.  No taps where a strip is too narrow to enclose them."""
    layer = limits.layer(params.layer)
    inner = db.Box(0, 0, params.region_width, params.region_height)
    shapes = frame(layer, inner, params.ring_width)
    if params.layer == "li1" and params.taps:
        cut = limits.layer("licon1")
        size, margin = limits.size(cut), limits.enclosure(cut, layer)
        lefts = fitted(
            margin - params.ring_width,
            params.region_width + 2 * (params.ring_width - margin),
            size,
            size + limits.space(cut),
        )
        check_count(len(lefts))
        bottoms = fitted(margin - params.ring_width, params.ring_width - 2 * margin, size, size, most=1)
        shapes.extend(grid(cut, lefts, bottoms, size))
    return shapes
