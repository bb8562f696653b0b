"""Unit cells in a grid, arranged as they should be and nearly so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Shapes, unplaced

from pytest_iclayout.geometry.shapes import Orientation
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

Unit = tuple[str, int, int, Orientation]
"""A letter, its place in dbu, and how it is turned."""


@dataclass(frozen=True)
class Arrangement:
    """Rows of letters from the top, without the dummies that begin and end each of them."""

    rows: tuple[str, ...]
    cells: dict[str, str]
    unit: tuple[tuple[Layer, db.Box], ...]
    dummy: str | None
    column_pitch: int
    row_pitch: int
    ordered: bool
    """Whether the rows are a pattern, so that any other order is wrong."""

    @property
    def full_rows(self) -> tuple[str, ...]:
        end = self.dummy or ""
        return tuple(f"{end}{row}{end}" for row in self.rows)

    @property
    def units(self) -> list[Unit]:
        return [
            (letter, column * self.column_pitch, -row * self.row_pitch, Orientation.R0)
            for row, letters in enumerate(self.full_rows)
            for column, letter in enumerate(letters)
        ]

    @property
    def drawing(self) -> Drawing:
        return self.drawn(self.units)

    def drawn(
        self, units: Sequence[Unit], shapes: dict[str, Shapes] | None = None, top: Shapes | None = None
    ) -> Drawing:
        """``shapes`` replaces what the cells of some letters hold, ``top`` is drawn beside the units."""
        sketch = Sketch()
        for letter, name in self.cells.items():
            sketch.include(_cell(name, (shapes or {}).get(letter, list(self.unit))))
        for letter, x, y, orientation in units:
            sketch.place(self.cells[letter], x, y, orientation)
        for layer, box in top or []:
            sketch.rect(layer, box.left, box.bottom, box.right, box.top)
        return sketch.drawing


def matched_negatives(
    arranged: Arrangement, others: Sequence[Layer], long_runs: tuple[str, ...] | None
) -> dict[str, SearchStrategy[Drawing]]:
    """``others`` are layers that the unit is not drawn on; ``long_runs`` an arrangement with too long a run."""
    units, unit = arranged.units, list(arranged.unit)
    number, letter = st.integers(0, len(units) - 1), st.sampled_from(sorted(arranged.cells))
    shape, by = st.integers(0, len(unit) - 1), st.sampled_from([-1, 1])
    beyond = max(x for _, x, _, _ in units) + arranged.column_pitch

    def changed(change: Callable[[Unit], Unit]) -> SearchStrategy[Drawing]:
        return number.map(lambda n: arranged.drawn([*units[:n], change(units[n]), *units[n + 1 :]]))

    def with_shapes(change: Callable[[int, int], Shapes]) -> SearchStrategy[Drawing]:
        return st.builds(lambda one, n, by: arranged.drawn(units, {one: change(n, by)}), letter, shape, by)

    def grown(n: int, by: int) -> Shapes:
        layer, box = unit[n]
        return [*unit[:n], (layer, db.Box(box.left, box.bottom, box.right + by, box.top)), *unit[n + 1 :]]

    def exchanged(pair: tuple[int, int]) -> Drawing:
        a, b = pair
        letters = {a: units[b][0], b: units[a][0]}
        return arranged.drawn([(letters.get(n, one[0]), *one[1:]) for n, one in enumerate(units)])

    def renamed(n: int, by: int) -> Drawing:
        names = sorted(set(arranged.cells) - {units[n][0]})
        other = names[n % len(names)] if names else units[n][0]
        return arranged.drawn([*units[:n], (other, *units[n][1:]), *units[n + 1 :]])

    def stray(layer: Layer, y: int) -> Drawing:
        return arranged.drawn(units, top=[(layer, db.Box(-100, y, -99, y + 1))])

    found = {
        "nothing_drawn": st.just(Sketch().drawing),
        "cells_not_placed": st.just(arranged.drawn([])),
        "only_in_a_cell_that_is_not_placed": st.just(unplaced(arranged.drawing)),
        "shapes_without_instances": st.just(
            arranged.drawn([], top=[(layer, box.moved(x, y)) for _, x, y, _ in units for layer, box in unit])
        ),
        "one_missing": number.map(lambda n: arranged.drawn([*units[:n], *units[n + 1 :]])),
        "one_too_many": letter.map(lambda one: arranged.drawn([*units, (one, beyond, 0, Orientation.R0)])),
        "one_twice_on_its_place": number.map(lambda n: arranged.drawn([*units, units[n]])),
        "one_a_dbu_off_in_x": changed(lambda one: (one[0], one[1] + 1, *one[2:])),
        "one_a_dbu_off_in_y": changed(lambda one: (*one[:2], one[2] - 1, one[3])),
        "one_turned": st.builds(
            lambda n, turn: arranged.drawn([*units[:n], (*units[n][:3], turn), *units[n + 1 :]]),
            number,
            st.sampled_from([one for one in Orientation if one is not Orientation.R0]),
        ),
        "one_moved_beyond_the_end": number.map(
            lambda n: (
                arranged.drawn([*units[:n], *units[n + 1 :], (units[n][0], beyond, *units[n][2:])])
                if units[n][1] > 0
                else arranged.drawn(units[1:])
            )
        ),
        "pitch_a_dbu_off": by.map(lambda by: replace(arranged, column_pitch=arranged.column_pitch + by).drawing),
        "unit_of_one_device_a_dbu_off": with_shapes(grown),
        "unit_of_one_device_lacks_a_shape": with_shapes(lambda n, by: [*unit[:n], *unit[n + 1 :]]),
        "units_lack_a_shape": shape.map(
            lambda n: arranged.drawn(units, {one: [*unit[:n], *unit[n + 1 :]] for one in arranged.cells})
        ),
        "unit_of_one_device_moved_by_a_dbu": with_shapes(
            lambda n, by: [(layer, box.moved(by, 0)) for layer, box in unit]
        ),
    } | {
        f"stray_shape_on_the_{which}_layer_of_the_unit": st.builds(stray, st.just(layer), st.integers(-10_000, 10_000))
        for which, layer in (("first", unit[0][0]), ("last", unit[-1][0]))
    }
    if others:
        found["unit_of_one_device_with_a_shape_more"] = st.builds(
            lambda one, layer: arranged.drawn(units, {one: [*unit, (layer, unit[0][1])]}),
            letter,
            st.sampled_from(list(others)),
        )
    if len(arranged.cells) > 1:
        found["one_of_another_cell"] = st.builds(renamed, number, by)
        pairs = [(a, b) for a, b in combinations(range(len(units)), 2) if units[a][0] != units[b][0]]
        found["two_exchanged"] = st.sampled_from(pairs).map(exchanged)
        for axis, line in ((1, "column"), (2, "row")):
            alike = [
                (a, b)
                for a, b in pairs
                if units[a][axis] == units[b][axis] and arranged.dummy not in (units[a][0], units[b][0])
            ]
            if alike:
                found[f"two_exchanged_in_a_{line}"] = st.sampled_from(alike).map(exchanged)
        grouped = "".join(sorted("".join(arranged.rows)))
        columns = len(arranged.rows[0])
        rows = tuple(grouped[n : n + columns] for n in range(0, len(grouped), columns))
        if len(set(grouped)) > 1:
            found["devices_side_by_side"] = st.just(replace(arranged, rows=rows).drawing)
    row = arranged.rows[0]
    middles = {Fraction(sum(_columns(row, one)), row.count(one)) for one in set(row) - {arranged.dummy}}
    if len(arranged.rows) > 1 and len(middles) > 1:
        # Without the crossing: no run is longer than it was, and each device has its units.
        found["every_row_like_the_first"] = st.just(replace(arranged, rows=(row,) * len(arranged.rows)).drawing)
    if arranged.row_pitch:
        found["row_pitch_a_dbu_off"] = by.map(lambda by: replace(arranged, row_pitch=arranged.row_pitch + by).drawing)
    if arranged.dummy is not None:
        found["without_dummies"] = st.just(replace(arranged, dummy=None).drawing)
        found["dummies_at_one_end"] = st.just(arranged.drawn(_dummies_last(arranged)))
        if len(arranged.rows) > 1:
            found["dummies_at_opposite_ends"] = st.just(arranged.drawn(_dummies_at_opposite_ends(arranged)))
    if long_runs is not None:
        found["run_too_long"] = st.just(replace(arranged, rows=long_runs).drawing)
    if arranged.ordered and len(set("".join(arranged.rows))) > 1:
        found["pattern_of_exchanged_letters"] = st.just(_letters_exchanged(arranged).drawing)
    return found


def _columns(row: str, letter: str) -> list[int]:
    return [column for column, found in enumerate(row) if found == letter]


def _cell(name: str, shapes: Shapes) -> Sketch:
    sketch = Sketch(name)
    for layer, box in shapes:
        sketch.rect(layer, box.left, box.bottom, box.right, box.top)
    return sketch


def _dummies_last(arranged: Arrangement) -> list[Unit]:
    """Both dummies of each row at its right end."""
    end = arranged.dummy or ""
    rows = replace(arranged, dummy=None, rows=tuple(f"{row}{end}{end}" for row in arranged.rows))
    return rows.units


def _dummies_at_opposite_ends(arranged: Arrangement) -> list[Unit]:
    """Both dummies at the right end of the upper rows and at the left end of the lower ones: half a turn leaves that
    as it is, so the centroids are still common.
    """
    ends, half = 2 * (arranged.dummy or ""), len(arranged.rows) // 2
    upper, lower = arranged.rows[:half], arranged.rows[-half:]
    middle = arranged.full_rows[half:-half]
    rows = (*(f"{row}{ends}" for row in upper), *middle, *(f"{ends}{row}" for row in lower))
    return replace(arranged, dummy=None, rows=rows).units


def _letters_exchanged(arranged: Arrangement) -> Arrangement:
    first, second = sorted(set("".join(arranged.rows)))[:2]
    table = str.maketrans({first: second, second: first})
    return replace(arranged, rows=tuple(row.translate(table) for row in arranged.rows))
