"""matched_array: unit cells of several devices in a grid, with one common centroid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations, groupby, permutations
from typing import Annotated

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.matched_layouts import Arrangement, matched_negatives
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import MOVED, PLACED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.placements import PER_DBU, Placement, Placements
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer, LayerRef

Pitch = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]
Count = Annotated[int, Field(ge=1, le=100, strict=True)]
Letter = Annotated[str, Field(pattern=r"^[A-Z]$")]
CellName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]


class UnitShape(Params):
    """A rectangle of the unit, in the coordinates of its cell (dbu): ``rect`` is [x0, y0, x1, y1]."""

    layer: LayerRef
    rect: tuple[int, int, int, int]

    @model_validator(mode="after")
    def _has_area(self) -> UnitShape:
        if self.rect[0] >= self.rect[2] or self.rect[1] >= self.rect[3]:
            raise ValueError(f"{list(self.rect)} is no rectangle; write [x0, y0, x1, y1] with x0 < x1 and y0 < y1")
        return self


class MatchedArrayParams(Params):
    """``cells`` gives each letter its cell, ``dummy`` is the letter of dummies.

    Either ``pattern`` says what stands where, in rows from the top and without the dummies; or ``counts`` says
    how many units each device has in how many ``rows``, and where they stand is free.
    """

    cells: dict[Letter, CellName] = Field(min_length=1)
    unit: tuple[UnitShape, ...] = Field(min_length=1)
    pattern: tuple[str, ...] | None = None
    counts: dict[Letter, Count] | None = None
    rows: Count | None = None
    max_run: Count | None = None
    dummy: Letter | None = None
    column_pitch: Pitch
    row_pitch: Pitch | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> MatchedArrayParams:
        if len(set(self.cells.values())) < len(self.cells) or "top" in self.cells.values():
            raise ValueError("cells are different ones, none of them named top")
        if (self.pattern is None) == (self.counts is None) or (self.counts is None) != (self.rows is None):
            raise ValueError("pattern is required, or counts and rows")
        if self.pattern is not None and len({len(row) for row in self.pattern} | {0}) != 2:
            raise ValueError("pattern has rows of one length")
        if set(self.devices) != set(self.cells) - {self.dummy} or self.dummy not in (None, *self.cells):
            raise ValueError("cells has the letters of all devices and of the dummy, and no others")
        if sum(self.devices.values()) % self.row_count:
            raise ValueError(f"{sum(self.devices.values())} units do not fill {self.row_count} rows")
        if (self.row_count > 1) != (self.row_pitch is not None):
            raise ValueError("row_pitch is for several rows")
        return self

    @property
    def devices(self) -> dict[str, int]:
        """How many units each device has."""
        if self.counts is not None:
            return dict(self.counts)
        letters = "".join(self.pattern or ())
        return {letter: letters.count(letter) for letter in sorted(set(letters))}

    @property
    def row_count(self) -> int:
        return self.rows if self.rows is not None else len(self.pattern or ())

    @property
    def columns(self) -> int:
        """Without the dummies."""
        return sum(self.devices.values()) // self.row_count

    @property
    def shapes(self) -> dict[Layer, db.Region]:
        found: dict[Layer, db.Region] = {}
        for one in self.unit:
            found.setdefault(one.layer, db.Region()).insert(db.Box(*one.rect))
        return {layer: region.merged() for layer, region in found.items()}


Rows = tuple[str, ...]
"""Letters from the top row down, each from left to right."""


class MatchedArray:
    """Every unit of every device is the same piece of layout, turned alike, at one pitch; no device has its
    centroid anywhere else than the others.

    By total transformations: neither arrays for single instances nor levels of hierarchy make a difference.
    """

    name = "matched_array"
    params_model = MatchedArrayParams

    def check(self, view: LayoutView, params: MatchedArrayParams) -> Verdict:
        findings = [*self._units(view, params), *self._stray(view, params)]
        places, complaints = self._places(view, params)
        return Verdict.of(*findings, *complaints, *([] if complaints else self._arrangement(places, params)))

    def _units(self, view: LayoutView, params: MatchedArrayParams) -> Iterator[Finding]:
        """Each cell holds the unit, the whole unit and nothing but the unit."""
        expected = params.shapes
        for name in params.cells.values():
            cell = view.layout.cell(name)
            if cell is None:
                yield Finding(rule=self.name, message=f"there is no cell {name}")
            else:
                drawn = _drawn(view.layout, cell)
                for layer in sorted(drawn.keys() | expected.keys()):
                    differs = drawn.get(layer, db.Region()) ^ expected.get(layer, db.Region())
                    if not differs.is_empty():
                        yield self._unlike(view, name, layer, differs.bbox())

    def _unlike(self, view: LayoutView, name: str, layer: Layer, place: db.Box) -> Finding:
        message = f"cell {name} differs from the unit on {view.describe(layer)}, in its own coordinates"
        return Finding(rule=self.name, message=message, layer=layer, place=Rect.from_db(place))

    def _places(self, view: LayoutView, params: MatchedArrayParams) -> tuple[dict[tuple[int, int], str], list[Finding]]:
        """The letter at each column and row of the grid, counted from the lower left corner."""
        placements = Placements(view.layout, view.cell)
        counts = dict(params.devices)
        if params.dummy is not None:
            counts[params.dummy] = 2 * params.row_count
        placed = Counter({view.layout.cell_name(index): number for index, number in placements.counts.items()})
        # More places than that are more placements, too.
        most = max(counts.values())
        distinct = {view.layout.cell_name(index): places for index, places in placements.distinct(most).items()}
        found: dict[Placement, str] = {}
        complaints = []
        for letter, count in counts.items():
            name = params.cells[letter]
            places = distinct.get(name, ())
            if placed[name] != count or len(places) != count:
                message = f"cell {name} is placed {placed[name]} time(s), required are {count} different places"
                complaints.append(Finding(rule=self.name, message=message, measured=placed[name], required=count))
            found |= dict.fromkeys(places, letter)
        if complaints:
            return {}, complaints
        if len({place[2:] for place in found}) > 1 or any(place.magnification != 1 for place in found):
            return {}, [Finding(rule=self.name, message="units are turned, mirrored or magnified unlike each other")]
        grid = self._grid(found, params)
        if grid is None:
            columns = params.columns + (2 if params.dummy is not None else 0)
            message = f"units do not fill a grid of {columns} column(s) and {params.row_count} row(s) at the pitch"
            return {}, [Finding(rule=self.name, message=message)]
        return grid, []

    def _grid(self, found: Mapping[Placement, str], params: MatchedArrayParams) -> dict[tuple[int, int], str] | None:
        left, bottom = min(place.x for place in found), min(place.y for place in found)
        across, up = params.column_pitch * PER_DBU, (params.row_pitch or params.column_pitch) * PER_DBU
        columns = params.columns + (2 if params.dummy is not None else 0)
        wanted = {(column, row) for column in range(columns) for row in range(params.row_count)}
        grid = {}
        for place, letter in found.items():
            column, beside = divmod(place.x - left, across)
            row, above = divmod(place.y - bottom, up)
            if beside or above:
                return None
            grid[column, row] = letter
        # As many as crossings: none is on another's.
        return grid if set(grid) == wanted and len(found) == len(wanted) else None

    def _arrangement(self, grid: Mapping[tuple[int, int], str], params: MatchedArrayParams) -> Iterator[Finding]:
        rows = _rows(grid)
        shown = "/".join(rows)
        if params.dummy is not None:
            if any(row[0] != params.dummy or row[-1] != params.dummy for row in rows):
                message = f"rows are {shown}; each begins and ends with a dummy, {params.dummy}"
                yield Finding(rule=self.name, message=message)
                return
            rows = tuple(row[1:-1] for row in rows)
        if params.pattern is not None and rows != params.pattern:
            message = f"rows are {shown}; the pattern is {'/'.join(params.pattern)}"
            yield Finding(rule=self.name, message=message)
        longest = longest_run(rows)
        if params.max_run is not None and longest > params.max_run:
            message = f"rows are {shown}; {longest} units of one device stand side by side"
            yield Finding(rule=self.name, message=message, measured=longest, required=params.max_run)
        for one, other in combinations(params.devices, 2):
            if not same_centroid(rows, one, other):
                yield Finding(rule=self.name, message=f"rows are {shown}; {one} and {other} have different centroids")

    def _stray(self, view: LayoutView, params: MatchedArrayParams) -> Iterator[Finding]:
        """What is on the unit's layers and in none of the unit cells."""
        cells = [view.layout.cell(name) for name in params.cells.values()]
        units = [cell.cell_index() for cell in cells if cell is not None]
        for layer in params.shapes:
            index = view.layout.find_layer(layer.layer, layer.datatype)
            if index is not None:
                shapes = view.cell.begin_shapes_rec(index)
                shapes.unselect_cells(units)
                region = db.Region(shapes)
                if region.area() > 0:
                    message = f"{view.describe(layer)} has shapes outside the unit cells"
                    yield Finding(rule=self.name, message=message, layer=layer, place=Rect.from_db(region.bbox()))

    def witness(self, params: MatchedArrayParams, bench: Bench) -> Drawing:
        return _arranged(params).drawing

    def negatives(self, params: MatchedArrayParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        others = [entry.layer for entry in bench.technology.layers if entry.layer not in params.shapes]
        return matched_negatives(_arranged(params), others, _long_runs(params))

    def variants(self, params: MatchedArrayParams) -> frozenset[str]:
        # A quarter turn makes columns of rows, and a pattern reads in one direction.
        return (MOVED - {"rotate"}) | PLACED


def _drawn(layout: db.Layout, cell: db.Cell) -> dict[Layer, db.Region]:
    """What a cell holds on each layer of the layout."""
    return {
        Layer(layer=info.layer, datatype=info.datatype): db.Region(cell.begin_shapes_rec(layout.layer(info)))
        for info in layout.layer_infos()
    }


def _rows(grid: Mapping[tuple[int, int], str]) -> Rows:
    columns, rows = (1 + max(place[axis] for place in grid) for axis in (0, 1))
    return tuple("".join(grid[column, row] for column in range(columns)) for row in reversed(range(rows)))


def longest_run(rows: Rows) -> int:
    """The most equal letters next to each other in a row."""
    return max(len(list(run)) for row in rows for _, run in groupby(row))


def same_centroid(rows: Rows, one: str, other: str) -> bool:
    """Exactly, in whole numbers: the sums of columns and of rows, each times the other's count."""
    places = {
        letter: [(x, y) for y, row in enumerate(rows) for x, found in enumerate(row) if found == letter]
        for letter in (one, other)
    }
    return all(
        sum(place[axis] for place in places[one]) * len(places[other])
        == sum(place[axis] for place in places[other]) * len(places[one])
        for axis in (0, 1)
    )


def _symmetric(params: MatchedArrayParams) -> Iterator[Rows]:
    """Arrangements that half a turn leaves as they are, which therefore have one centroid."""
    half = "".join(letter * (count // 2) for letter, count in params.devices.items())
    odd = "".join(letter for letter, count in params.devices.items() if count % 2)
    if len(odd) > 1:
        return
    seen = set()
    for order in permutations(half):
        if order not in seen:
            seen.add(order)
            letters = "".join(order)
            whole = letters + odd + letters[::-1]
            yield tuple(whole[n : n + params.columns] for n in range(0, len(whole), params.columns))


def _arranged(params: MatchedArrayParams) -> Arrangement:
    """Raises ValueError where no arrangement is found, or the pattern has no common centroid."""
    if params.pattern is not None:
        rows: Rows | None = params.pattern
        if any(not same_centroid(params.pattern, *pair) for pair in combinations(params.devices, 2)):
            raise ValueError(f"the pattern {'/'.join(params.pattern)} has no common centroid")
        if params.max_run is not None and longest_run(params.pattern) > params.max_run:
            raise ValueError(f"the pattern {'/'.join(params.pattern)} has a run longer than {params.max_run}")
    else:
        most = params.max_run or params.columns
        rows = next((rows for rows in _symmetric(params) if longest_run(rows) <= most), None)
    if rows is None:
        raise ValueError("no arrangement that half a turn leaves as it is has such counts and runs")
    return Arrangement(
        rows=rows,
        cells=dict(params.cells),
        unit=tuple((one.layer, db.Box(*one.rect)) for one in params.unit),
        dummy=params.dummy,
        column_pitch=params.column_pitch,
        row_pitch=params.row_pitch or 0,
        ordered=params.pattern is not None,
    )


def _long_runs(params: MatchedArrayParams) -> Rows | None:
    """An arrangement with a common centroid and a run that is too long, if there is one."""
    if params.max_run is None or params.pattern is not None:
        return None
    return next((rows for rows in _symmetric(params) if longest_run(rows) > (params.max_run or 0)), None)


CHECKER = MatchedArray()
