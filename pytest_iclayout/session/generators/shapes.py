"""Shapes that several generators draw, as boxes on layers (dbu)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import klayout.db as db

from pytest_iclayout.session.errors import CommandError, ErrorCode
from pytest_iclayout.technology.layers import Layer

MAX_SHAPES = 200_000
"""Shapes of one run of a generator: each becomes an element."""


class Drawn(NamedTuple):
    """One shape of a generator."""

    layer: Layer
    box: db.Box


Shapes = list[Drawn]


def check_count(count: int) -> None:
    """Raises CommandError (budget_exhausted) before that many shapes are made."""
    if count > MAX_SHAPES:
        raise CommandError(ErrorCode.BUDGET_EXHAUSTED, f"{count} shapes are more than {MAX_SHAPES} of one generator")


def frame(layer: Layer, inner: db.Box, width: int) -> Shapes:
    """A closed ring around a box: the lower and the upper strip with the corners, then the left and the right one."""
    outer = inner.enlarged(width, width)
    strips = (
        db.Box(outer.left, outer.bottom, outer.right, inner.bottom),
        db.Box(outer.left, inner.top, outer.right, outer.top),
        db.Box(outer.left, inner.bottom, inner.left, inner.top),
        db.Box(inner.right, inner.bottom, outer.right, inner.top),
    )
    return [Drawn(layer, strip) for strip in strips]


def square(left: int, bottom: int, size: int) -> db.Box:
    return db.Box(left, bottom, left + size, bottom + size)


def grid(layer: Layer, lefts: Sequence[int], bottoms: Sequence[int], size: int) -> Iterator[Drawn]:
    """Squares at all lefts, row by row from the lowest."""
    return (Drawn(layer, square(left, bottom, size)) for bottom in bottoms for left in lefts)


def fitted(start: int, length: int, size: int, pitch: int, most: int | None = None) -> list[int]:
    """Lower ends of as many pieces of a size as fit into a stretch at a pitch, in its middle; none if none fits."""
    count = 0 if length < size else (length - size) // pitch + 1
    count = count if most is None else min(count, most)
    begin = start + (length - size - (count - 1) * pitch) // 2
    return [begin + number * pitch for number in range(count)]


def around(inner: db.Box, width: int, height: int) -> db.Box:
    """A box of given sides, no less than those of the inner one, with that in its middle."""
    left, bottom = (width - inner.width()) // 2, (height - inner.height()) // 2
    return db.Box(inner.left - left, inner.bottom - bottom, inner.left - left + width, inner.bottom - bottom + height)
