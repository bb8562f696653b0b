"""Labels that stand in the layout itself: boxes that a rule must pass or fail in, and texts that name the rule.

One layout may hold hundreds of boxes.  A box lies on the layer of what must pass, of what must fail, or of boxes for
which a text says that.  The rule of a box is named by texts inside it, else by the nearest text of its row, to its
left, or of its column, above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import klayout.db as db
from pydantic import BaseModel, ConfigDict

from pytest_iclayout.drc.report_places import MarkerShape
from pytest_iclayout.rules.rule import RuleError
from pytest_iclayout.technology.layers import Layer

VERDICT_WORDS = {"pass": False, "fail": True}
"""Texts of rows and columns that say what the deck must do, in any case, and whether that is a violation."""


class MarkerLayers(BaseModel):
    """Where labels stand in layouts. ``boxes`` are marked neither way: a text of their row or column says which."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    passes: Layer | None = None
    fails: Layer | None = None
    boxes: Layer | None = None
    names: Layer | None = None
    rows: Layer | None = None
    columns: Layer | None = None

    @property
    def all(self) -> frozenset[Layer]:
        found = (self.passes, self.fails, self.boxes, self.names, self.rows, self.columns)
        return frozenset(layer for layer in found if layer is not None)


class MarkedBox(NamedTuple):
    """One box and one rule; ``box`` in dbu of the top cell."""

    rule: str
    violated: bool
    box: db.Box


class Marked(NamedTuple):
    boxes: tuple[MarkedBox, ...]
    warnings: tuple[str, ...]
    """What stands on marker layers and labels nothing."""


class _Text(NamedTuple):
    text: str
    at: db.Point


def read_marked(layout: db.Layout, layers: MarkerLayers, origin: str) -> Marked:
    """The labels of a layout, by rule, then by place.

    Raises RuleError, which names ``origin``, for shapes that are not boxes, texts that say two things of a box, and
    labels in a layout of several top cells.
    """
    if all(_shapes_on(layout, layer) == 0 for layer in layers.all):
        return Marked((), ())
    tops = layout.top_cells()
    if len(tops) != 1:
        raise RuleError(f"{origin}: has {len(tops)} top cells; labels on marker layers need a single one")
    return _Reader(layout, tops[0], layers, origin).read()


class _Reader:
    def __init__(self, layout: db.Layout, top: db.Cell, layers: MarkerLayers, origin: str) -> None:
        self._layout = layout
        self._top = top
        self._layers = layers
        self._origin = origin
        self._names = self._texts(layers.names)
        self._rows = self._texts(layers.rows)
        self._columns = self._texts(layers.columns)
        self._used: set[_Text] = set()
        self._nameless: list[db.Box] = []
        self._undecided: list[db.Box] = []

    def read(self) -> Marked:
        found: dict[tuple[str, _Edges], MarkedBox] = {}
        marked = ((self._layers.passes, {False}), (self._layers.fails, {True}), (self._layers.boxes, set[bool]()))
        for layer, said in marked:
            for box in self._boxes(layer):
                for one in self._labels(box, said):
                    if found.setdefault((one.rule, _edges(box)), one).violated != one.violated:
                        raise RuleError(f"{self._at(box)}: marked to pass and to fail {one.rule}")
        return Marked(tuple(found[key] for key in sorted(found)), tuple(self._warnings()))

    def _labels(self, box: db.Box, said: set[bool]) -> list[MarkedBox]:
        inside = [one for one in self._names if box.contains(one.at)]
        row = [one for one in self._rows if box.bottom <= one.at.y <= box.top and one.at.x <= box.left]
        column = [one for one in self._columns if box.left <= one.at.x <= box.right and one.at.y >= box.top]
        beside = [
            *self._nearest(box, row, [box.left - one.at.x for one in row]),
            *self._nearest(box, column, [one.at.y - box.top for one in column]),
        ]
        self._used.update(inside, beside)
        said = said | {VERDICT_WORDS[one.text.lower()] for one in beside if one.text.lower() in VERDICT_WORDS}
        names = {one.text for one in inside} or {one.text for one in beside if one.text.lower() not in VERDICT_WORDS}
        if len(said) > 1:
            raise RuleError(f"{self._at(box)}: marked to pass and to fail, by its layer or the texts beside and above")
        if not inside and len(names) > 1:
            raise RuleError(f"{self._at(box)}: {' and '.join(sorted(names))}: its row and its column name a rule each")
        if not names:
            self._nameless.append(box)
        elif not said:
            self._undecided.append(box)
        return [MarkedBox(name, violated, box) for name in sorted(names) for violated in said]

    def _nearest(self, box: db.Box, texts: Sequence[_Text], distances: Sequence[int]) -> list[_Text]:
        found = [one for one, distance in zip(texts, distances, strict=True) if distance == min(distances)]
        if len({one.text for one in found}) > 1:
            words = " and ".join(sorted({repr(one.text) for one in found}))
            raise RuleError(f"{self._at(box)}: {words} are as near to it; leave one text for each row and column")
        return found[:1]

    def _warnings(self) -> Iterator[str]:
        for boxes, what in ((self._nameless, "no text names the rule"), (self._undecided, "no text says pass or fail")):
            if boxes:
                yield f"{self._at(boxes[0])}{_more(boxes)}: {what}, so the box labels nothing"
        idle = [one for one in (*self._names, *self._rows, *self._columns) if one not in self._used]
        if idle:
            at = idle[0].at.to_dtype(self._layout.dbu)
            where = f"({at.x:.3f},{at.y:.3f}) µm"
            yield f"{self._origin}: text {idle[0].text!r} at {where}{_more(idle)}: belongs to no box"

    def _boxes(self, layer: Layer | None) -> list[db.Box]:
        """Sorted, each once.  Texts may share the layer."""
        found: dict[_Edges, db.Box] = {}
        for trans, shape in self._shapes(layer):
            if shape.is_text():
                continue
            polygon = trans * shape.polygon
            if not polygon.is_box():
                raise RuleError(f"{self._at(polygon.bbox())}: the shape on {layer} is no box, so it marks no region")
            found[_edges(polygon.bbox())] = polygon.bbox()
        return [found[key] for key in sorted(found)]

    def _texts(self, layer: Layer | None) -> list[_Text]:
        """Without those of nothing but space."""
        texts = {
            (shape.text_string.strip(), trans * (db.Point() + shape.text_pos))
            for trans, shape in self._shapes(layer)
            if shape.is_text() and shape.text_string.strip()
        }
        return [_Text(*one) for one in sorted(texts, key=lambda one: (one[0], one[1].x, one[1].y))]

    def _shapes(self, layer: Layer | None) -> Iterator[tuple[db.ICplxTrans, db.Shape]]:
        index = None if layer is None else self._layout.find_layer(layer.layer, layer.datatype)
        if index is not None:
            for found in self._top.begin_shapes_rec(index).each():
                yield found.trans(), found.shape()

    def _at(self, box: db.Box) -> str:
        return f"{self._origin}: box {in_um(box, self._layout.dbu)}"


_Edges: TypeAlias = tuple[int, int, int, int]


def _edges(box: db.Box) -> _Edges:
    return (box.left, box.bottom, box.right, box.top)


def _more(found: Sequence[object]) -> str:
    return f" and {len(found) - 1} more" if len(found) > 1 else ""


def _shapes_on(layout: db.Layout, layer: Layer) -> int:
    index = layout.find_layer(layer.layer, layer.datatype)
    return 0 if index is None else sum(cell.shapes(index).size() for cell in layout.each_cell())


def in_um(box: db.Box, dbu_um: float) -> str:
    """A box as people are told of it."""
    left, bottom, right, top = (edge * dbu_um for edge in _edges(box))
    return f"({left:.3f},{bottom:.3f};{right:.3f},{top:.3f}) µm"


def assign(markers: Iterable[MarkerShape], boxes: Sequence[db.Box]) -> list[list[db.Box]]:
    """For each box the bounding boxes of the markers that count for it.

    A marker counts for every box that it overlaps; one that overlaps none, for every box that it touches.  So a marker
    on the common edge of two boxes belongs to both, and one inside a box not to its neighbour.
    """
    found: list[list[db.Box]] = [[] for _ in boxes]
    search = db.Shapes()
    numbers: dict[_Edges, list[int]] = {}
    for number, box in enumerate(boxes):
        if _edges(box) not in numbers:
            search.insert(box)
        numbers.setdefault(_edges(box), []).append(number)
    for marker in markers:
        bounds = marker.bbox()
        near = [one.box for one in search.each_touching(bounds) if _touches(marker, one.box)]
        for box in [one for one in near if _touches(marker, one.enlarged(-1, -1))] or near:
            for number in numbers[_edges(box)]:
                found[number].append(bounds)
    return found


def _touches(marker: MarkerShape, box: db.Box) -> bool:
    if box.empty():  # a box of 1 dbu made smaller
        return False
    if isinstance(marker, db.Polygon):
        return bool(marker.touches(box))
    if not marker.bbox().touches(box):
        return False
    # Neither box keeps them apart; then only the edge's own line can.
    sides = {
        marker.side_of(corner)
        for corner in (box.p1, box.p2, db.Point(box.left, box.top), db.Point(box.right, box.bottom))
    }
    return marker.is_degenerate() or sides not in ({1}, {-1})
