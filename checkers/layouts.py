"""Pieces that several checkers share: what they count, and what their negatives are drawn from."""

from __future__ import annotations

from typing import Annotated

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import BeforeValidator

from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer, LayerRef
from pytest_iclayout.technology.models import Technology

Points = list[tuple[int, int]]
Shapes = list[tuple[Layer, db.Box]]
"""Rectangles, in dbu."""


def split_at(separator: str) -> BeforeValidator:
    """For a parameter that is a list in a table, and one text in a checker string."""
    return BeforeValidator(lambda value: value.split(separator) if isinstance(value, str) else value)


LayerRefs = Annotated[tuple[LayerRef, ...], split_at("+")]
"""Layers in a TOML file or a checker string: ``"65/20+66/20"``, or a list."""


def separate(region: db.Region) -> db.Region:
    """A merged region in which polygons that share nothing but a corner are separate ones.

    To KLayout it is merged already: filters take the polygons as they are, and join none of them at a corner.
    """
    return region.merged(True, 1)


def separate_polygons(region: db.Region) -> list[db.Polygon]:
    """The polygons of :func:`separate`, for layers of which few shapes are expected."""
    return list(separate(region).each())


def holes(polygon: db.Polygon) -> list[db.Polygon]:
    """What a polygon encloses without covering it."""
    return [db.Polygon(list(polygon.each_point_hole(number))) for number in range(polygon.holes())]


def other_layers(technology: Technology, *layers: Layer) -> SearchStrategy[Layer]:
    """A layer of the technology that is none of ``layers``; one that it does not declare if it has no other."""
    others = [entry.layer for entry in technology.layers if entry.layer not in layers]
    if others:
        return st.sampled_from(others)
    numbers = (Layer(layer=number, datatype=0) for number in range(65536))
    return st.just(next(layer for layer in numbers if layer not in technology))


def sizes(smallest: int = 1, largest: int = 100_000) -> SearchStrategy[tuple[int, int]]:
    """Width and height in dbu."""
    side = st.integers(smallest, largest)
    return st.tuples(side, side)


def sketch_of(shapes: Shapes) -> Sketch:
    """Rectangles in cell ``top``."""
    sketch = Sketch()
    for layer, box in shapes:
        sketch.rect(layer, box.left, box.bottom, box.right, box.top)
    return sketch


def bounding_box(boxes: list[db.Box]) -> db.Box:
    whole = db.Box()
    for box in boxes:
        whole += box
    return whole


def unplaced(drawing: Drawing) -> Drawing:
    """The same shapes in a cell that ``top``, now empty, does not place."""
    moved = Sketch().drawing
    for command in drawing:
        key = "name" if command.op == "create_cell" else "cell"
        if getattr(command, key) == "top":
            command = command.model_copy(update={key: "lost"})
        moved += (command,)
    return moved


def polygon_of_area(area: int, width: int) -> Points:
    """A rectangle of ``width`` dbu and whole rows that cover ``area`` dbu², the last row cut short to fit."""
    width = min(width, area)
    height, rest = divmod(area, width)
    if rest == 0:
        return [(0, 0), (width, 0), (width, height), (0, height)]
    return [(0, 0), (width, 0), (width, height), (rest, height), (rest, height + 1), (0, height + 1)]


def halves(box: db.Box, permille: int) -> tuple[db.Box, db.Box]:
    """Two boxes that abut and make up ``box``, cut across its longer side, which is 2 dbu or more."""
    if box.width() >= box.height():
        at = box.left + 1 + (box.width() - 2) * permille // 1000
        return db.Box(box.left, box.bottom, at, box.top), db.Box(at, box.bottom, box.right, box.top)
    at = box.bottom + 1 + (box.height() - 2) * permille // 1000
    return db.Box(box.left, box.bottom, box.right, at), db.Box(box.left, at, box.right, box.top)
