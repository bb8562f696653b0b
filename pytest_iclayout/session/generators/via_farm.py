"""Two plates joined by a field of cuts."""

from __future__ import annotations

from typing import Literal

import klayout.db as db
from pydantic import Field

from pytest_iclayout.session.generators.limits import Limits
from pytest_iclayout.session.generators.parameters import Params
from pytest_iclayout.session.generators.shapes import Drawn, Shapes, around, grid


class ViaFarmParams(Params):
    cut: Literal["mcon", "via", "via2"] = Field(default="mcon", description="layer of the cuts")
    rows: int = Field(default=3, ge=1, le=256, description="of cuts")
    cols: int = Field(default=3, ge=1, le=256, description="of cuts")


def via_farm(params: ViaFarmParams, limits: Limits) -> Shapes:
    """The lower plate, the upper one, then the cuts, the first of which has its lower-left corner at the origin.

    A plate is larger than its enclosures ask where its area rule asks for more.
    """
    cut = limits.cut(params.cut)
    lefts, bottoms = ([number * cut.pitch for number in range(count)] for count in (params.cols, params.rows))
    field = db.Box(0, 0, lefts[-1] + cut.size, bottoms[-1] + cut.size)
    plates = []
    for layer, margin in ((cut.bottom, cut.in_bottom), (cut.top, cut.in_top)):
        sides = limits.grown(layer, field.width() + 2 * margin, field.height() + 2 * margin)
        plates.append(Drawn(layer, around(field, *sides)))
    return [*plates, *grid(cut.layer, lefts, bottoms, cut.size)]
