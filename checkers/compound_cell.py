"""compound_cell: a cell that is made up of instances of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import unplaced
from pydantic import Field

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import MOVED, PLACED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.placements import Placements, own_shapes
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer


class CompoundCellParams(Params):
    """``instances`` and ``min_shapes`` are least numbers."""

    instances: Annotated[int, Field(ge=1, le=1000, strict=True)]
    min_shapes: Annotated[int, Field(ge=1, le=10_000, strict=True)] = 1


class CompoundCell:
    """So many placements of cells that draw shapes themselves, members of arrays and all levels of hierarchy
    counted, and so many shapes in all of them together.

    What stands twice on one place is there once.  A shape is a merged polygon of one cell: pieces of one
    cell that abut are one shape, shapes of instances that abut (the rails of a row of cells, say) stay two.
    """

    name = "compound_cell"
    params_model = CompoundCellParams

    def check(self, view: LayoutView, params: CompoundCellParams) -> Verdict:
        placements = Placements(view.layout, view.cell)
        places = placements.distinct(max(params.instances, params.min_shapes))
        drawn = {index: count for index, count in placements.own_shapes.items() if count > 0}
        instances = sum(len(places[index]) for index in drawn)
        shapes = own_shapes(view.layout, view.cell)
        shapes += sum(len(places[index]) * count for index, count in drawn.items())
        findings = []
        if instances < params.instances:
            findings.append(self._too_few(instances, params.instances, "instance(s) of cells that hold shapes"))
        if shapes < params.min_shapes:
            findings.append(self._too_few(shapes, params.min_shapes, "shape(s)"))
        return Verdict.of(*findings)

    def _too_few(self, count: int, required: int, what: str) -> Finding:
        message = f"{count} {what}, at least {required} required"
        return Finding(rule=self.name, message=message, measured=count, required=required)

    def witness(self, params: CompoundCellParams, bench: Bench) -> Drawing:
        layer = bench.technology.layers[0].layer
        # One shape at least stands beside the instances where as many are asked for that they can do without it.
        each = max(1, (params.min_shapes - 1) // params.instances)
        sketch = Sketch().include(_part(layer, each, 200, 200)).array("part", params.instances, 1, 400 * each, 0)
        for number in range(params.min_shapes - each * params.instances):
            sketch.rect(layer, 400 * number, -400, 400 * number + 200, -200)
        return sketch.drawing

    def negatives(self, params: CompoundCellParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        return _too_few_instances(params, bench) | _too_few_shapes(params, bench)

    def variants(self, params: CompoundCellParams) -> frozenset[str]:
        return MOVED | PLACED


def _part(layer: Layer, shapes: int, side: int, gap: int) -> Sketch:
    """A row of squares."""
    part = Sketch("part")
    for x in range(0, shapes * (side + gap), side + gap):
        part.rect(layer, x, 0, x + side, side)
    return part


def _row(part: Sketch, count: int, pitch: int, single: bool, cell: str = "top") -> Sketch:
    """``count`` instances along x; none at 0."""
    sketch = Sketch(cell).include(part)
    if single or count == 0:
        for number in range(count):
            sketch.place("part", number * pitch)
        return sketch
    return sketch.array("part", count, 1, pitch, 0)


def _too_few_instances(params: CompoundCellParams, bench: Bench) -> dict[str, SearchStrategy[Drawing]]:
    count, shapes = params.instances, params.min_shapes
    layer = st.sampled_from([entry.layer for entry in bench.technology.layers])
    side, single = st.integers(2, 2000), st.booleans()
    # As many shapes as asked for, in each part: it is the instances that are too few.
    parts = st.builds(lambda layer, side: _part(layer, shapes, side, 1), layer, side)
    pitch = 2001 * shapes

    def rows(change: Callable[[Sketch, bool], Sketch]) -> SearchStrategy[Drawing]:
        return st.builds(lambda part, one: change(part, one).drawing, parts, single)

    def hollow(draw: Callable[[Sketch, Layer], Sketch]) -> SearchStrategy[Drawing]:
        """One instance that counts is missing; in its place there is one of a cell that holds nothing."""
        return st.builds(
            lambda part, layer, one: (
                _row(part, count - 1, pitch, one).include(draw(Sketch("hollow"), layer)).place("hollow").drawing
            ),
            parts,
            layer,
            single,
        )

    found: dict[str, SearchStrategy[Drawing]] = {
        "nothing_drawn": st.just(Sketch().drawing),
        "not_placed": parts.map(lambda part: Sketch().include(part).drawing),
        "only_in_a_cell_that_is_not_placed": rows(lambda part, one: _row(part, count, pitch, one)).map(unplaced),
        "one_short": rows(lambda part, one: _row(part, count - 1, pitch, one)),
        "one_drawn_and_not_placed": st.builds(
            lambda part, layer, side, one: _row(part, count - 1, pitch, one).rect(layer, -side, 0, -1, side).drawing,
            parts,
            layer,
            side,
            single,
        ),
        "one_of_a_cell_without_shapes": hollow(lambda cell, layer: cell),
        "one_of_a_cell_with_a_label_only": hollow(lambda cell, layer: cell.label(layer, "A", 0, 0)),
        "one_of_a_cell_with_a_shape_without_area": hollow(lambda cell, layer: cell.rect(layer, 0, 0, 100, 0)),
        "one_short_in_cells_that_only_wrap": rows(
            lambda part, one: (
                Sketch()
                .include(_row(part, count - 1, pitch, one, "inner"))
                .include(Sketch("outer").place("inner"))
                .place("outer")
            )
        ),
    }
    if count > 1:
        found |= {
            "one_on_the_place_of_another": rows(lambda part, one: _row(part, count - 1, pitch, one).place("part")),
            "all_on_one_place": rows(lambda part, one: _row(part, count, 0, single=True)),
        }
    return found


def _too_few_shapes(params: CompoundCellParams, bench: Bench) -> dict[str, SearchStrategy[Drawing]]:
    count, least = params.instances, params.min_shapes
    layer = st.sampled_from([entry.layer for entry in bench.technology.layers])
    side, single = st.integers(2, 2000), st.booleans()
    # One shape less than asked for, with as many in the last part as the others leave.
    each, rest = divmod(least - 1, count)
    if each == 0:
        return {}
    pitch = 4001 * (each + rest)

    def short(more: Callable[[Sketch, Layer, int], Sketch]) -> SearchStrategy[Drawing]:
        def draw(layer: Layer, side: int, one: bool) -> Drawing:
            row = _row(more(_part(layer, each, side, 1), layer, side), count, pitch, one)
            for number in range(rest):
                row.rect(layer, number * (side + 1), -2 * side, number * (side + 1) + side, -side)
            return row.drawing

        return st.builds(draw, layer, side, single)

    return {
        "one_shape_short": short(lambda part, layer, side: part),
        "one_shape_short_with_one_in_two_pieces": short(lambda part, layer, side: part.rect(layer, 0, 0, 1, side)),
        "one_shape_short_with_one_that_abuts": short(lambda part, layer, side: part.rect(layer, -1, 0, 0, side)),
        "one_shape_short_with_one_without_area": short(lambda part, layer, side: part.rect(layer, -9, 0, -5, 0)),
        "one_shape_short_with_a_label": short(lambda part, layer, side: part.label(layer, "A", -9, 0)),
    }


CHECKER = CompoundCell()
