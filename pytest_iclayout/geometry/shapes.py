"""Points, rectangles and transforms: the argument shapes of layout commands (all in dbu)."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import klayout.db as db
from pydantic import BaseModel, ConfigDict, Field, model_validator

COORD_LIMIT = 2**30 - 1
"""Largest coordinate in dbu.  KLayout holds 32-bit coordinates: half the range keeps every width,
pitch and sum of two coordinates representable, so that nothing wraps around silently."""

Coord = Annotated[int, Field(ge=-COORD_LIMIT, le=COORD_LIMIT, strict=True)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Point(_Frozen):
    x: Coord
    y: Coord

    def to_db(self) -> db.Point:
        return db.Point(self.x, self.y)


class Rect(_Frozen):
    """An axis-parallel rectangle. ``min`` is the lower-left corner; it may be degenerate (a place)."""

    min: Point
    max: Point

    @model_validator(mode="after")
    def _is_ordered(self) -> Rect:
        if self.min.x > self.max.x or self.min.y > self.max.y:
            raise ValueError("min must be the lower-left and max the upper-right corner")
        return self

    @classmethod
    def of(cls, left: int, bottom: int, right: int, top: int) -> Rect:
        return cls(min=Point(x=left, y=bottom), max=Point(x=right, y=top))

    @classmethod
    def from_db(cls, box: db.Box) -> Rect:
        return cls.of(box.left, box.bottom, box.right, box.top)

    def to_db(self) -> db.Box:
        return db.Box(self.min.x, self.min.y, self.max.x, self.max.y)

    def __str__(self) -> str:
        return f"({self.min.x},{self.min.y};{self.max.x},{self.max.y})"


class Orientation(str, Enum):
    """Mirror across the x axis first, then rotate counter-clockwise by the number."""

    R0 = "r0"
    R90 = "r90"
    R180 = "r180"
    R270 = "r270"
    MIRROR_X = "mirror_x"
    MIRROR_X90 = "mirror_x90"
    MIRROR_X180 = "mirror_x180"
    MIRROR_X270 = "mirror_x270"

    @property
    def quarter_turns(self) -> int:
        return list(Orientation).index(self) % 4

    @property
    def mirrored(self) -> bool:
        return self.value.startswith("mirror")


class Transform(_Frozen):
    """Magnify by ``mag_num / mag_den``, mirror and rotate, then displace by (dx, dy) dbu."""

    orientation: Orientation = Orientation.R0
    mag_num: int = Field(default=1, ge=1, le=1_000_000, strict=True)
    mag_den: int = Field(default=1, ge=1, le=1_000_000, strict=True)
    dx: Coord = 0
    dy: Coord = 0

    @property
    def is_magnifying(self) -> bool:
        return self.mag_num != self.mag_den

    def to_db(self) -> db.ICplxTrans:
        return db.ICplxTrans(
            self.mag_num / self.mag_den,
            90.0 * self.orientation.quarter_turns,
            self.orientation.mirrored,
            self.dx,
            self.dy,
        )
