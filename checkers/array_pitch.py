"""array_pitch: one cell placed in a regular grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isqrt
from typing import Annotated

from hypothesis.strategies import SearchStrategy
from iclayout_checkers.array_layouts import Grid, array_negatives
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import MOVED, PLACED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.placements import PER_DBU, Placement, Placements
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing

Pitch = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]


class ArrayPitchParams(Params):
    """``instances`` is the number of placements, exactly; the pitches are in dbu, of columns along x, of rows
    along y.  With one pitch the array is a single row or column, with both it has two of each or more.
    """

    instances: Annotated[int, Field(ge=2, le=1000, strict=True)]
    col_pitch: Pitch | None = None
    row_pitch: Pitch | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> ArrayPitchParams:
        if self.col_pitch is None and self.row_pitch is None:
            raise ValueError("col_pitch, row_pitch or both are required")
        if self.col_pitch is not None and self.row_pitch is not None and _rows(self.instances) == 1:
            raise ValueError(f"instances {self.instances} make no grid of at least two columns and two rows")
        return self


class ArrayPitch:
    """One cell that holds shapes, in itself or below, is placed so often, all alike, in a full regular grid.

    By total transformations: neither does it matter whether arrays or single instances place it, nor in
    how many levels of hierarchy.
    """

    name = "array_pitch"
    params_model = ArrayPitchParams

    def check(self, view: LayoutView, params: ArrayPitchParams) -> Verdict:
        placements = Placements(view.layout, view.cell)
        holding = placements.holding_shapes
        places = placements.distinct(params.instances)
        as_many = [index for index in holding if placements.counts[index] == params.instances]
        if any(_is_grid(places[index], params) for index in as_many):
            return Verdict()
        return Verdict.of(self._finding(params, placements))

    def _finding(self, params: ArrayPitchParams, placements: Placements) -> Finding:
        what = [_described(params)]
        for index in sorted(placements.holding_shapes):
            count = placements.counts[index]
            kind = "not in such a grid" if count == params.instances else "placed"
            what.append(f"{placements.layout.cell(index).name} is {kind} {count} time(s)")
        if len(what) == 1:
            what.append("no cell that holds a shape is placed")
        return Finding(rule=self.name, message="; ".join(what), required=params.instances)

    def witness(self, params: ArrayPitchParams, bench: Bench) -> Drawing:
        return _grid(params).as_array(bench)

    def negatives(self, params: ArrayPitchParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        return array_negatives(_grid(params), params.col_pitch, params.row_pitch, bench)

    def variants(self, params: ArrayPitchParams) -> frozenset[str]:
        # A quarter turn makes columns of rows.
        return (MOVED - {"rotate"}) | PLACED


def _rows(instances: int) -> int:
    """Of the grid that is nearest to a square; 1 for a prime number."""
    return next(rows for rows in range(isqrt(instances), 0, -1) if instances % rows == 0)


def _grid(params: ArrayPitchParams) -> Grid:
    count, columns, rows = params.instances, params.col_pitch, params.row_pitch
    if columns is None:
        return Grid(1, count, 0, rows or 0)
    if rows is None:
        return Grid(count, 1, columns, 0)
    return Grid(count // _rows(count), _rows(count), columns, rows)


def _is_grid(places: Iterable[Placement], params: ArrayPitchParams) -> bool:
    places = set(places)
    if len(places) != params.instances or len({one[2:] for one in places}) > 1:
        return False
    columns, rows = sorted({one.x for one in places}), sorted({one.y for one in places})
    # As many places as crossings, and none twice: every crossing is taken.
    if len(columns) * len(rows) != len(places):
        return False
    return _is_regular(columns, params.col_pitch) and _is_regular(rows, params.row_pitch)


def _is_regular(lines: list[int], pitch: int | None) -> bool:
    """Whether places along an axis keep the pitch; without a pitch there is but one, with one two or more."""
    if pitch is None:
        return len(lines) == 1
    return len(lines) > 1 and all(lines[n] == lines[0] + n * pitch * PER_DBU for n in range(len(lines)))


def _described(params: ArrayPitchParams) -> str:
    given = [("column pitch", params.col_pitch), ("row pitch", params.row_pitch)]
    pitches = ", ".join(f"{name} {pitch} dbu" for name, pitch in given if pitch is not None)
    return f"exactly {params.instances} instances of one cell required, {pitches}"


CHECKER = ArrayPitch()
