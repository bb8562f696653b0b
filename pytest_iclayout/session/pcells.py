"""Parameterised cells: typed parameters in, a cell's shapes out, one cell for each set of parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import klayout.db as db
from pydantic import Field

from pytest_iclayout.geometry.shapes import COORD_LIMIT
from pytest_iclayout.session.errors import CommandError, ErrorCode
from pytest_iclayout.session.generators.parameters import Params, refuse, validate_params
from pytest_iclayout.session.generators.shapes import Drawn, Shapes, square
from pytest_iclayout.technology.layers import Layer


class BoxPadParams(Params):
    outer: Layer = Field(description="layer of the outer square")
    inner: Layer = Field(description="layer of the inner square")
    width: int = Field(ge=1, le=COORD_LIMIT, description="side of the outer square")
    margin: int = Field(default=20, ge=0, le=COORD_LIMIT, description="of the inner square on every side")


def box_pad(params: BoxPadParams) -> Shapes:
    """An outer square with its lower-left corner at the origin and a concentric inner one."""
    if 2 * params.margin >= params.width:
        raise refuse("margin", f"{params.margin} on every side leaves nothing of a width of {params.width}")
    inner = square(params.margin, params.margin, params.width - 2 * params.margin)
    return [Drawn(params.outer, square(0, 0, params.width)), Drawn(params.inner, inner)]


@dataclass(frozen=True)
class PCell:
    """A parameter model and the pure function that draws."""

    params: type[Params]
    draw: Callable[[Any], Shapes]


PCELLS = {"box_pad": PCell(BoxPadParams, box_pad)}


@dataclass(frozen=True)
class Variant:
    """A PCell with its parameters: the name that its cell should have, and what is in it."""

    name: str
    shapes: Shapes

    @property
    def box(self) -> db.Box:
        return sum((shape.box for shape in self.shapes), db.Box())

    def is_drawn_in(self, layout: db.Layout, cell: db.Cell) -> bool:
        """Whether a cell holds exactly the shapes of this one."""
        found = [
            (info.layer, info.datatype, "text" if shape.is_text() else str(shape.polygon))
            for index, info in zip(layout.layer_indexes(), layout.layer_infos(), strict=True)
            for shape in cell.shapes(index).each()
        ]
        wanted = [(one.layer.layer, one.layer.datatype, str(db.Polygon(one.box))) for one in self.shapes]
        return cell.child_instances() == 0 and sorted(found) == sorted(wanted)


def variant(pcell: str, params: dict[str, Any]) -> Variant:
    """Raises CommandError (invalid_argument) for an unknown PCell or parameters that it does not take."""
    known = PCELLS.get(pcell)
    if known is None:
        raise CommandError(ErrorCode.INVALID_ARGUMENT, f"pcell: {pcell!r} is unknown; known are {', '.join(PCELLS)}")
    valid = validate_params(known.params, params)
    values = "-".join(_word(getattr(valid, name)) for name in type(valid).model_fields)
    return Variant(f"{pcell}${values}", known.draw(valid))


def _word(value: object) -> str:
    return f"{value.layer}_{value.datatype}" if isinstance(value, Layer) else str(value)
