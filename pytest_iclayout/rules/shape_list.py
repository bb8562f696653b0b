"""Short shape lists: a layout as a line of text, for rules whose layouts are a few shapes.

``met1 0 0 1 0.14; via 0.2 0.02 0.35 0.17`` are two boxes.  See docs/rules.md for the other statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import klayout.db as db

from pytest_iclayout.technology.layers import Layer

TOP = "TOP"
"""Name of the cell that holds what stands outside of ``cell NAME {...}``."""
_TOKEN = re.compile(r'"[^"\n]*"|[{};\n]|[^\s{};"]+')
_TURNS = {
    "r0": (0, False), "r90": (1, False), "r180": (2, False), "r270": (3, False),
    "m0": (0, True), "m45": (1, True), "m90": (2, True), "m135": (3, True),
}  # fmt: skip


class ShapeListError(ValueError):
    """A shape list that is wrong; the message quotes the statement."""


@dataclass(frozen=True)
class ShapeList:
    """Text in µm, with the layers that it may name; ``dbu_um`` is the database unit in µm."""

    text: str
    layers: Mapping[str, Layer]
    dbu_um: float = 0.001

    def layout(self) -> db.Layout:
        """Raises ShapeListError."""
        return _Builder(self).build()

    def gds(self) -> bytes:
        """The same bytes each time. Raises ShapeListError."""
        options = db.SaveLayoutOptions()
        options.format = "GDS2"
        options.gds2_write_timestamps = False
        return bytes(self.layout().write_bytes(options))


class _Builder:
    def __init__(self, source: ShapeList) -> None:
        self._source = source
        self._layout = db.Layout()
        self._layout.dbu = source.dbu_um
        self._dbu = Decimal(str(source.dbu_um))
        self._cells: dict[str, db.Cell] = {}
        self._cell = self._layout.create_cell(TOP)
        self._top = self._cell

    def build(self) -> db.Layout:
        statement: list[str] = []
        for token in [*_TOKEN.findall(_without_comments(self._source.text)), ";"]:
            if token == "{":
                self._begin_cell(statement)
            elif token in (";", "\n", "}"):
                if statement:
                    self._draw(statement)
                if token == "}":
                    if self._cell is self._top:
                        raise ShapeListError("a } without a cell NAME {")
                    self._cell = self._top
            else:
                statement.append(token)
                continue
            statement = []
        if self._cell is not self._top:
            raise ShapeListError(f"cell {self._cell.name}: the }} is missing")
        return self._layout

    def _begin_cell(self, statement: list[str]) -> None:
        if len(statement) != 2 or statement[0] != "cell" or self._cell is not self._top:
            raise ShapeListError(
                f"{' '.join(statement)} {{: only cell NAME {{...}} has braces, and not in another cell"
            )
        name = statement[1]
        if name in self._cells or name == TOP:
            raise ShapeListError(f"cell {name}: there is one of that name already")
        self._cell = self._cells[name] = self._layout.create_cell(name)

    def _draw(self, words: list[str]) -> None:
        try:
            if words[0] == "put":
                self._put(words[1:])
            else:
                self._shape(words[0], words[1:])
        except (ValueError, IndexError, InvalidOperation) as error:
            reason = str(error) if type(error) in (ValueError, ShapeListError) else "not complete, or no number"
            raise ShapeListError(f"{' '.join(words)}: {reason}") from None

    def _shape(self, layer: str, words: list[str]) -> None:
        if layer not in self._source.layers:
            known = ", ".join(self._source.layers)
            raise ValueError(f"no layer {layer!r}; the rule has {known}")
        pair = self._source.layers[layer]
        shapes = self._cell.shapes(self._layout.layer(pair.layer, pair.datatype))
        if words and words[0] == "poly":
            hull, *holes = _split(words[1:], "hole")
            polygon = db.Polygon(self._points(hull, least=3), False)
            for hole in holes:
                polygon.insert_hole(self._points(hole, least=3))
            shapes.insert(polygon)
        elif words and words[0] == "path":
            ends = {"square": 0.5, "round": 0.5, "flush": 0.0}
            style = words[-1] if words[-1] in ends else "flush"
            points = self._points(words[2:-1] if words[-1] in ends else words[2:], least=2)
            width = self._dbu_of(words[1])
            half = int(width * ends[style])
            shapes.insert(db.Path(points, width, half, half, style == "round"))
        elif words and words[0] == "text":
            place = self._points(words[2:], least=1)[0]
            shapes.insert(db.Text(words[1].strip('"'), db.Trans(place.x, place.y)))
        else:
            left, bottom, right, top = (self._dbu_of(word) for word in _exactly(words, 4))
            if left >= right or bottom >= top:
                raise ValueError("a box is LEFT BOTTOM RIGHT TOP, with left < right and bottom < top")
            shapes.insert(db.Box(left, bottom, right, top))

    def _put(self, words: list[str]) -> None:
        """``put CELL X Y [r90|m45...] [xMAG] [array NX NY DX DY]``."""
        if len(words) < 3:
            raise ValueError("needs a cell and its place as X Y")
        name, x, y, *rest = words
        if name not in self._cells or self._cells[name] is self._cell:
            raise ValueError(f"no cell {name!r} before this; there are {', '.join(self._cells) or 'none'}")
        turn, magnification, array = (0, False), 1.0, None
        while rest:
            word, *rest = rest
            if word in _TURNS:
                turn = _TURNS[word]
            elif re.fullmatch(r"x[0-9.]+", word):
                magnification = float(word[1:])
            elif word == "array" and len(rest) >= 4:
                array, rest = rest[:4], rest[4:]
            else:
                raise ValueError(f"{word!r} is none of {', '.join(_TURNS)}, xFACTOR, array NX NY DX DY")
        where = db.ICplxTrans(magnification, turn[0] * 90.0, turn[1], self._dbu_of(x), self._dbu_of(y))
        index = self._cells[name].cell_index()
        if array is None:
            self._cell.insert(db.CellInstArray(index, where))
        else:
            right, up = db.Vector(self._dbu_of(array[2]), 0), db.Vector(0, self._dbu_of(array[3]))
            self._cell.insert(db.CellInstArray(index, where, right, up, int(array[0]), int(array[1])))

    def _points(self, words: list[str], least: int) -> list[db.Point]:
        points = [db.Point(*(self._dbu_of(part) for part in _exactly(word.split(","), 2))) for word in words]
        if len(points) < least:
            raise ValueError(f"needs at least {least} points as X,Y")
        return points

    def _dbu_of(self, text: str) -> int:
        value = Decimal(text) / self._dbu
        if value != int(value):
            raise ValueError(f"{text} µm is not on the grid of {self._dbu} µm")
        return int(value)


def _exactly(parts: list[str], number: int) -> list[str]:
    if len(parts) != number:
        raise ValueError(f"needs {number} numbers, has {len(parts)}")
    return parts


def _split(words: Iterable[str], at: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == at:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _without_comments(text: str) -> str:
    return "\n".join(line.partition("#")[0] for line in text.splitlines())
