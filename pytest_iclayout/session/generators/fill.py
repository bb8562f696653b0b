"""Tiles that bring a region to a density."""

from __future__ import annotations

import math

from pydantic import Field

from pytest_iclayout.session.generators.limits import Limits
from pytest_iclayout.session.generators.parameters import Metal, Params
from pytest_iclayout.session.generators.shapes import Shapes, check_count, grid


class FillParams(Params):
    layer: Metal = Field(default="li1", description="of the tiles")
    region_width: int = Field(default=10_000, ge=600, le=1_000_000, description="of the filled region")
    region_height: int = Field(default=10_000, ge=600, le=1_000_000, description="of the filled region")
    tile: int = Field(default=400, ge=300, le=100_000, description="side of a tile")
    target_density_permille: int = Field(default=400, ge=1, le=900, description="covered share of a pitch's square")


def fill(params: FillParams, limits: Limits) -> Shapes:
    """Whole tiles from the region's lower-left corner, the origin, upward; none where none fits."""
    layer = limits.layer(params.layer)
    pitch = max(
        round(params.tile / math.sqrt(params.target_density_permille / 1000)), params.tile + limits.space(layer)
    )
    lefts, bottoms = (
        range(0, length - params.tile + 1, pitch) for length in (params.region_width, params.region_height)
    )
    check_count(len(lefts) * len(bottoms))
    return list(grid(layer, lefts, bottoms, params.tile))
