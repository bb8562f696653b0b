"""GDS layers as they are named in tasks, commands and rules."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_TEXT_FORM = re.compile(r"(\d{1,5})/(\d{1,5})")


class Layer(BaseModel):
    """A GDS layer and datatype pair, each 0..65535 (a GDS II record holds 16 bits).

    Validates from ``{"layer": 68, "datatype": 20}``; see :data:`LayerRef` for the ``"68/20"`` form.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layer: int = Field(ge=0, le=65535, strict=True)
    datatype: int = Field(ge=0, le=65535, strict=True)

    def __str__(self) -> str:
        return f"{self.layer}/{self.datatype}"

    # As pydantic has them, for any model; layers are compared and looked up more than anything else.
    def __eq__(self, other: object) -> bool:
        if isinstance(other, Layer):
            return self.layer == other.layer and self.datatype == other.datatype
        return NotImplemented

    def __hash__(self) -> int:
        return self.layer << 16 | self.datatype

    def __lt__(self, other: Layer) -> bool:
        return (self.layer, self.datatype) < (other.layer, other.datatype)

    @classmethod
    def parse(cls, text: str) -> Layer:
        """Read the ``LAYER/DATATYPE`` form. Raises ValueError that says what is accepted."""
        match = _TEXT_FORM.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a layer; write LAYER/DATATYPE, for example 68/20")
        return cls(layer=int(match[1]), datatype=int(match[2]))


def _from_text(value: Any) -> Any:
    return Layer.parse(value) if isinstance(value, str) else value


LayerRef = Annotated[Layer, BeforeValidator(_from_text)]
"""A layer in a TOML file or a checker string: ``"68/20"``, or the table form."""
