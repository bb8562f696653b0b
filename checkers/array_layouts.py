"""Cells placed in a grid, and in what is nearly one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import sizes, unplaced

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.geometry.shapes import Orientation
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer

Places = list[tuple[int, int]]

_SIDE = 200


class Grid(NamedTuple):
    """Columns along x, rows along y; pitches in dbu."""

    columns: int
    rows: int
    column_pitch: int
    row_pitch: int

    @property
    def places(self) -> Places:
        return [
            (column * self.column_pitch, row * self.row_pitch)
            for row in range(self.rows)
            for column in range(self.columns)
        ]

    def as_array(self, bench: Bench) -> Drawing:
        """A cell with a square, in one array."""
        return self.array_of(Sketch("part").rect(bench.technology.layers[0].layer, 0, 0, _SIDE, _SIDE))

    def array_of(self, part: Sketch, orientation: Orientation = Orientation.R0) -> Drawing:
        return Sketch().include(part).array("part", *self, orientation).drawing

    def of(self, part: Sketch, single: bool) -> Drawing:
        return singles(part, self.places) if single else self.array_of(part)


def singles(part: Sketch, places: Places) -> Drawing:
    """An instance of a cell on each place."""
    sketch = Sketch().include(part)
    for place in places:
        sketch.place("part", *place)
    return sketch.drawing


def array_negatives(
    grid: Grid, column_pitch: int | None, row_pitch: int | None, bench: Bench
) -> dict[str, SearchStrategy[Drawing]]:
    """Grids with one thing wrong.  A pitch of None: there is one column (row) only."""
    layer, single = st.sampled_from([entry.layer for entry in bench.technology.layers]), st.booleans()
    parts = st.builds(lambda layer, size: Sketch("part").rect(layer, 0, 0, *size), layer, sizes(1, 5000))
    number = st.integers(0, grid.columns * grid.rows - 1)
    last = (grid.columns * grid.column_pitch, 0) if column_pitch else (0, grid.rows * grid.row_pitch)

    def drawn(other: Grid) -> SearchStrategy[Drawing]:
        return st.builds(lambda part, one: other.of(part, one), parts, single)

    def hollow(draw: Callable[[Sketch, Layer], Sketch]) -> SearchStrategy[Drawing]:
        return st.builds(lambda layer, one: grid.of(draw(Sketch("part"), layer), one), layer, single)

    def at(change: Callable[[Places, int], Places]) -> SearchStrategy[Drawing]:
        return st.builds(lambda part, n: singles(part, change(grid.places, n)), parts, number)

    found: dict[str, SearchStrategy[Drawing]] = {
        "nothing_drawn": st.just(Sketch().drawing),
        "not_placed": parts.map(lambda part: Sketch().include(part).drawing),
        "only_in_a_cell_that_is_not_placed": drawn(grid).map(unplaced),
        "shapes_without_instances": st.builds(lambda layer: _flat(grid, layer), layer),
        "cell_without_shapes": hollow(lambda part, layer: part),
        "cell_with_a_shape_without_area": hollow(lambda part, layer: part.rect(layer, 0, 0, 100, 0)),
        "cell_with_a_label_only": hollow(lambda part, layer: part.label(layer, "A", 0, 0)),
        "one_missing": at(lambda places, n: [*places[:n], *places[n + 1 :]]),
        "one_too_many": parts.map(lambda part: singles(part, [*grid.places, last])),
        "one_more_on_the_same_place": at(lambda places, n: [*places, places[n]]),
        "one_on_the_place_of_another": at(lambda places, n: [*places[:n], *places[n + 1 :], places[n - 1]]),
        "one_a_dbu_off_in_x": at(lambda places, n: [*places[:n], (places[n][0] + 1, places[n][1]), *places[n + 1 :]]),
        "one_a_dbu_off_in_y": at(lambda places, n: [*places[:n], (places[n][0], places[n][1] - 1), *places[n + 1 :]]),
        "one_turned": st.builds(
            lambda part, n, turn: _with_one_turned(part, grid.places, n, turn),
            parts,
            number,
            st.sampled_from([one for one in Orientation if one is not Orientation.R0]),
        ),
        "one_of_another_cell": st.builds(
            lambda part, layer, n: _with_another(part, layer, grid.places, n), parts, layer, number
        ),
    }
    for name, pitch, key in (("column", column_pitch, "column_pitch"), ("row", row_pitch, "row_pitch")):
        if pitch is not None:
            found[f"{name}_pitch_a_dbu_too_large"] = drawn(grid._replace(**{key: pitch + 1}))
            if pitch > 1:
                found[f"{name}_pitch_a_dbu_too_small"] = drawn(grid._replace(**{key: pitch - 1}))
    if column_pitch != row_pitch:
        turned = Grid(grid.rows, grid.columns, grid.row_pitch, grid.column_pitch)
        found["columns_and_rows_exchanged"] = drawn(turned)
        found["array_turned"] = parts.map(lambda part: grid.array_of(part, Orientation.R90))
    if column_pitch is not None and row_pitch is not None:
        count = grid.columns * grid.rows
        found["one_moved_to_a_further_column"] = parts.map(lambda part: singles(part, [*grid.places[:-1], last]))
        found["all_in_one_row"] = drawn(Grid(count, 1, column_pitch, 0))
        found["all_in_one_column"] = drawn(Grid(1, count, 0, row_pitch))
    elif grid.columns * grid.rows % 2 == 0 and grid.columns * grid.rows > 2:
        half = grid.columns * grid.rows // 2
        two = Grid(half, 2, grid.column_pitch, 500) if column_pitch else Grid(2, half, 500, grid.row_pitch)
        found["in_two_rows_or_columns"] = drawn(two)
    return found


def _flat(grid: Grid, layer: Layer) -> Drawing:
    sketch = Sketch()
    for x, y in grid.places:
        sketch.rect(layer, x, y, x + _SIDE, y + _SIDE)
    return sketch.drawing


def _with_one_turned(part: Sketch, places: Places, number: int, orientation: Orientation) -> Drawing:
    sketch = Sketch().include(part)
    for n, place in enumerate(places):
        sketch.place("part", *place, orientation if n == number else Orientation.R0)
    return sketch.drawing


def _with_another(part: Sketch, layer: Layer, places: Places, number: int) -> Drawing:
    sketch = Sketch().include(part).include(Sketch("other").rect(layer, 0, 0, _SIDE, _SIDE))
    for n, place in enumerate(places):
        sketch.place("other" if n == number else "part", *place)
    return sketch.drawing
