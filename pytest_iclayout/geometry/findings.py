"""A finding: what a rule or a checker found, and where."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.technology.layers import Layer

MAX_FINDINGS = 100
"""As many of one layout are told of one by one; the others are counted."""


class Finding(BaseModel):
    """One violation. ``measured`` and ``required`` are in dbu, dbu² for areas, or plain counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    message: str
    layer: Layer | None = None
    measured: float | None = None
    required: float | None = None
    place: Rect | None = None

    def __str__(self) -> str:
        where = f" at {self.place} dbu" if self.place is not None else ""
        return f"{self.rule}: {self.message}{where}"
