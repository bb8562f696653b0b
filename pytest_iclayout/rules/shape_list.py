"""Short shape lists: a layout as a line of text, for rules whose layouts are a few shapes.

``met1 0 0 1 0.14; via 0.2 0.02 0.35 0.17`` are two boxes.  See docs/rules.md for the other statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

import klayout.db as db

from pytest_iclayout.geometry.extent import ExtentError, measure
from pytest_iclayout.geometry.shapes import COORD_LIMIT
from pytest_iclayout.technology.layers import Layer

TOP = "TOP"
"""Name of the cell that holds what stands outside of ``cell NAME {...}``."""
STATEMENTS = ("put", "cell")
"""Words at the beginning of statements that begin with no layer."""
_TOKEN = re.compile(r'#[^\n]*|"[^"\n]*"|"[^\n]*|[{};\n]|[^\s{};"#]+')
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
_FACTOR = re.compile(r"x(\d+\.?\d*|\.\d+)", re.ASCII)
_FORMS = ("poly", "path", "text")
_ENDS = {"square": 0.5, "round": 0.5, "flush": 0.0}
"""By how much of its width a path is longer at its ends."""
_MOST_IN_A_ROW = 32767
"""Of an array in GDS."""
_LONGEST_TEXT = 1000
_LONGEST_QUOTE = 100
"""Characters of a wrong statement that are repeated: enough to find it."""
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
        self._may_reach_far = False
        """Paths and instances reach beyond the points that they are given by."""

    def build(self) -> db.Layout:
        statement: list[str] = []
        for token in [*_TOKEN.findall(self._source.text), ";"]:
            if token.startswith("#"):
                continue
            if token.startswith('"') and (token == '"' or not token.endswith('"')):
                raise ShapeListError(f'{_quoted([*statement, token])}: the " that ends the text is missing')
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
        for name, cell in self._cells.items():
            if cell.parent_cells() == 0:
                raise ShapeListError(f"cell {name}: is never put anywhere; write put {name} X Y, or leave the cell out")
        if self._may_reach_far:
            try:
                measure(self._layout, self._top)
            except ExtentError as error:
                raise ShapeListError(str(error)) from None
        return self._layout

    def _begin_cell(self, statement: list[str]) -> None:
        if len(statement) != 2 or statement[0] != "cell" or self._cell is not self._top:
            raise ShapeListError(
                f"{' '.join(statement)} {{: only cell NAME {{...}} has braces, and not in another cell"
            )
        name = statement[1]
        if not re.fullmatch(r"[\w$]+", name) or len(name) > _LONGEST_TEXT:
            raise ShapeListError(
                f"cell {_quoted([name])}: a cell's name is of letters, digits, _ and $, at most {_LONGEST_TEXT} of them"
            )
        if name in self._cells or name == TOP:
            raise ShapeListError(f"cell {name}: there is one of that name already")
        self._cell = self._cells[name] = self._layout.create_cell(name)

    def _draw(self, words: list[str]) -> None:
        try:
            if words[0] == "put":
                self._put(words[1:])
            elif words[0] == "cell":
                raise ValueError("a cell is written cell NAME { ... }")
            else:
                self._shape(words[0], words[1:])
        except ValueError as error:
            raise ShapeListError(f"{_quoted(words)}: {error}") from None

    def _shape(self, layer: str, words: list[str]) -> None:
        if layer not in self._source.layers:
            known = ", ".join(self._source.layers)
            raise ValueError(
                f"no layer {layer!r}; the rule has {known}; other statements are put and cell NAME {{...}}"
            )
        pair = self._source.layers[layer]
        shapes = self._cell.shapes(self._layout.layer(pair.layer, pair.datatype))
        form, *rest = words or [""]
        if form == "poly":
            shapes.insert(self._polygon(rest))
        elif form == "path":
            shapes.insert(self._path(rest))
            self._may_reach_far = True
        elif form == "text":
            shapes.insert(self._text(rest))
        elif form and not _NUMBER.fullmatch(form):
            raise ValueError(f"{form!r} is neither a number nor one of {', '.join(_FORMS)}")
        else:
            if len(words) != 4:
                raise ValueError(f"a box needs 4 numbers, LEFT BOTTOM RIGHT TOP, and has {len(words)}")
            left, bottom, right, top = (self._dbu_of(word) for word in words)
            if left >= right or bottom >= top:
                raise ValueError("a box is LEFT BOTTOM RIGHT TOP, with left < right and bottom < top")
            shapes.insert(db.Box(left, bottom, right, top))

    def _polygon(self, words: list[str]) -> db.Polygon:
        hull, *holes = _split(words, "hole")
        polygon = db.Polygon(self._points(hull, 3, "hole"), False)
        if polygon.num_points_hull() < 3:
            raise ValueError("the points of this polygon lie on a line")
        for hole in holes:
            polygon.insert_hole(self._points(hole, 3, "hole"))
        return polygon

    def _path(self, words: list[str]) -> db.Path:
        if not words:
            raise ValueError("a path is path WIDTH X,Y X,Y ..., with two or more points")
        width = self._dbu_of(words[0])
        if width <= 0:
            raise ValueError(f"the width of a path is above 0, not {words[0]}")
        style = words[-1] if words[-1] in _ENDS else None
        points = self._points(words[1:] if style is None else words[1:-1], 2, *_ENDS)
        half = int(width * _ENDS[style or "flush"])
        return db.Path(points, width, half, half, style == "round")

    def _text(self, words: list[str]) -> db.Text:
        if len(words) != 2:
            raise ValueError('a text is text "TEXT" X,Y')
        text = words[0].strip('"')
        if len(text) > _LONGEST_TEXT:
            raise ValueError(f"a text has at most {_LONGEST_TEXT} letters")
        (place,) = self._points(words[1:], 1)
        return db.Text(text, db.Trans(place.x, place.y))

    def _put(self, words: list[str]) -> None:
        """``put CELL X Y [r90|m45...] [xMAG] [array NX NY DX DY]``."""
        if len(words) < 3:
            raise ValueError("needs a cell and its place as X Y")
        name, x, y, *rest = words
        before = [one for one, cell in self._cells.items() if cell is not self._cell]
        if name not in before:
            raise ValueError(f"no cell {name!r} before this; there are {', '.join(before) or 'none'}")
        turn, magnification, array = (0, False), 1.0, None
        while rest:
            word, *rest = rest
            if word in _TURNS:
                turn = _TURNS[word]
            elif _FACTOR.fullmatch(word):
                magnification = float(word[1:])
                if not 0 < magnification <= COORD_LIMIT:
                    raise ValueError(f"a factor is above 0 and at most {COORD_LIMIT}, not {word[1:]}")
            elif word == "array" and len(rest) >= 4:
                array, rest = rest[:4], rest[4:]
            else:
                raise ValueError(f"{word!r} is none of {', '.join(_TURNS)}, xFACTOR, array NX NY DX DY")
        self._may_reach_far = True
        where = db.ICplxTrans(magnification, turn[0] * 90.0, turn[1], self._dbu_of(x), self._dbu_of(y))
        index = self._cells[name].cell_index()
        if array is None:
            self._cell.insert(db.CellInstArray(index, where))
        else:
            right, up = db.Vector(self._dbu_of(array[2]), 0), db.Vector(0, self._dbu_of(array[3]))
            self._cell.insert(db.CellInstArray(index, where, right, up, _count(array[0]), _count(array[1])))

    def _points(self, words: list[str], least: int, *others: str) -> list[db.Point]:
        """``others`` are what could stand there beside points."""
        points = []
        for word in words:
            x, comma, y = word.partition(",")
            if not comma:
                raise ValueError(f"{word!r} is no point X,Y" + (f" and none of {', '.join(others)}" if others else ""))
            points.append(db.Point(self._dbu_of(x), self._dbu_of(y)))
        if len(points) < least:
            raise ValueError(f"needs at least {least} points as X,Y")
        return points

    def _dbu_of(self, text: str) -> int:
        return _in_dbu(text, self._dbu)


@lru_cache(maxsize=4096)
def _in_dbu(text: str, dbu_um: Decimal) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is no number")
    value = Decimal(text) / dbu_um
    if abs(value) > COORD_LIMIT:
        raise ValueError(f"{text} µm is beyond ±{COORD_LIMIT * dbu_um} µm")
    if value != int(value):
        raise ValueError(f"{text} µm is not on the grid of {dbu_um} µm")
    return int(value)


def _count(text: str) -> int:
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII) or not 1 <= int(text) <= _MOST_IN_A_ROW:
        raise ValueError(f"an array has 1 to {_MOST_IN_A_ROW} columns and rows, not {text}")
    return int(text)


def _quoted(words: list[str]) -> str:
    text = " ".join(words)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 1]}…"


def _split(words: Iterable[str], at: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == at:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts
