"""Fills that are wrong: the task's own one with a little less or more, elsewhere, or too near to what was given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isqrt

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.given import extent
from iclayout_checkers.given_layouts import STEPS, Edit, chosen, rect
from iclayout_checkers.layouts import Shapes, other_layers
from iclayout_checkers.legal import LegalShapes
from iclayout_checkers.offences import offences

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer

_TRIED = 12
"""Windows, edges or elements that are tried for one kind of fault."""


@dataclass(frozen=True)
class Plan:
    """What is asked for, with the boxes of all windows."""

    bench: Bench
    layers: tuple[Layer, ...]
    windows: tuple[db.Box, ...]
    min_permille: int
    max_permille: int
    clearance: int
    rules: bool

    @cached_property
    def given(self) -> dict[Layer, db.Region]:
        view = Edit(self.bench, ()).view
        return {layer: view.region(layer).dup() for layer in self.layers}

    @cached_property
    def solved(self) -> dict[Layer, db.Region]:
        view = Edit(self.bench, self.bench.solution).view
        return {layer: view.region(layer).dup() for layer in self.layers}

    def redrawn(self, layer: Layer, region: db.Region) -> Drawing:
        """The given layout with the solution's fill drawn anew, and on ``layer`` what ``region`` covers instead."""
        shapes: Shapes = []
        for one in self.layers:
            whole = region if one == layer else self.solved[one]
            shapes += [(one, box) for box in boxes_of(whole - self.given[one])]
        return drawn(shapes)

    def chosen_windows(self, wanted: Iterable[db.Box]) -> list[db.Box]:
        """At most so many windows, the corners of the region among them."""
        found = list(wanted)
        return found[:: max(1, len(found) // _TRIED)] + found[-1:]


def drawn(shapes: Shapes, cell: str = "top") -> Drawing:
    return tuple(rect(layer, box, cell) for layer, box in shapes)


def boxes_of(region: db.Region) -> list[db.Box]:
    """Of a rectilinear region; what is slanted of another one is left out."""
    pieces = region.decompose_trapezoids_to_region()
    pieces.merged_semantics = False
    return [one.bbox() for one in pieces.each() if one.is_box()]


def density_negatives(plan: Plan) -> dict[str, SearchStrategy[Drawing]]:
    solution = plan.bench.solution
    fill = [(layer, box) for layer in plan.layers for box in boxes_of(plan.solved[layer] - plan.given[layer])]
    reach = extent(Edit(plan.bench, solution).view)
    beyond = max(one.right for one in plan.windows) - reach.left
    away = st.integers(beyond, beyond + 5000)
    found: dict[str, SearchStrategy[Drawing]] = {
        "as_given": st.just(()),
        "fill_on_another_layer": other_layers(plan.bench.technology, *plan.layers).map(
            lambda other: drawn([(other, box) for _, box in fill])
        ),
        "fill_beside_the_region": away.map(lambda dx: drawn([(layer, box.moved(dx, 0)) for layer, box in fill])),
        "only_in_a_cell_that_is_not_placed": st.just((cmd.CreateCell(name="lost"), *drawn(fill, "lost"))),
        "only_shapes_without_area": st.just(
            drawn([(one, db.Box(b.left, b.bottom, b.right, b.bottom)) for one, b in fill])
        ),
        **chosen(
            {
                "one_dbu2_too_sparse": (drawing for layer in plan.layers for drawing in _too_sparse(plan, layer)),
                "too_sparse_but_drawn_twice": (
                    drawing * 2 for layer in plan.layers for drawing in _too_sparse(plan, layer)
                ),
                "a_window_without_fill": (drawing for layer in plan.layers for drawing in _bare(plan, layer)),
                "one_dbu2_too_dense": (drawing for layer in plan.layers for drawing in _too_dense(plan, layer)),
                "a_full_window": (drawing for layer in plan.layers for drawing in _full(plan, layer)),
                "given_shape_deleted_or_moved": _lost(plan),
                "one_dbu2_of_a_given_shape_gone": _bitten(plan),
                "too_near": ((*solution, rect(layer, box)) for layer in plan.layers for box in _near(plan, layer)),
                "too_near_across_a_corner": (
                    (*solution, rect(layer, box)) for layer in plan.layers for box in _near_corners(plan, layer)
                ),
                "abutting": (
                    (*solution, rect(layer, box)) for layer in plan.layers for box in _near(plan, layer, abutting=True)
                ),
                "a_rule_broken": (
                    (*solution, *drawn([(layer, box.moved(reach.right + 50_000, 0)) for layer, box in shapes]))
                    for shapes in _offending(plan)
                ),
                "one_layer_left_out": (
                    plan.redrawn(layer, plan.given[layer]) for layer in plan.layers if len(plan.layers) > 1
                ),
            }
        ),
    }
    return found


def _needed(plan: Plan, window: db.Box) -> int:
    """The least area in dbu² that a window must hold."""
    return -(-plan.min_permille * int(window.area()) // 1000)


def _too_sparse(plan: Plan, layer: Layer) -> Iterator[Drawing]:
    """The solution's fill less what leaves a window 1 dbu² short, taken first from where no other window looks."""
    given, solved = plan.given[layer], plan.solved[layer]
    for window in plan.chosen_windows(plan.windows):
        surplus = int((solved & db.Region(window)).area()) - _needed(plan, window) + 1
        taken = _cut_out(_few_windows_first(plan, (solved - given) & db.Region(window)), surplus)
        if taken is not None:
            yield plan.redrawn(layer, solved - taken)


def _too_dense(plan: Plan, layer: Layer) -> Iterator[Drawing]:
    """The solution with 1 dbu² more in a window than it may hold."""
    for window in plan.chosen_windows(plan.windows):
        lacking = (
            plan.max_permille * int(window.area()) // 1000 + 1 - int((plan.solved[layer] & db.Region(window)).area())
        )
        free = db.Region(window) - plan.solved[layer]
        more = _cut_out(_few_windows_first(plan, free), lacking)
        if more is not None and plan.max_permille < 1000:
            yield (*plan.bench.solution, *drawn([(layer, box) for box in boxes_of(more)]))


def _bare(plan: Plan, layer: Layer) -> Iterator[Drawing]:
    given = plan.given[layer]
    sparse = [one for one in plan.windows if (given & db.Region(one)).area() < _needed(plan, one)]
    for window in plan.chosen_windows(sparse):
        yield plan.redrawn(layer, (plan.solved[layer] - db.Region(window)) + given)


def _full(plan: Plan, layer: Layer) -> Iterator[Drawing]:
    if plan.max_permille < 1000:
        for window in plan.chosen_windows(plan.windows):
            yield (*plan.bench.solution, rect(layer, window))


def _few_windows_first(plan: Plan, region: db.Region) -> list[db.Box]:
    """The boxes of a region, cut along the sides of all windows, those that few windows look at first."""
    xs = sorted({x for one in plan.windows for x in (one.left, one.right)})
    ys = sorted({y for one in plan.windows for y in (one.bottom, one.top)})
    pieces = []
    for box in boxes_of(region):
        columns = [box.left, *(x for x in xs if box.left < x < box.right), box.right]
        rows = [box.bottom, *(y for y in ys if box.bottom < y < box.top), box.top]
        pieces += [
            db.Box(left, bottom, right, top) for left, right in pairwise(columns) for bottom, top in pairwise(rows)
        ]
    return sorted(pieces, key=lambda piece: sum(piece.inside(one) for one in plan.windows))


def _cut_out(boxes: list[db.Box], area: int) -> db.Region | None:
    """A part of the boxes, which do not overlap, of exactly ``area`` dbu²; None where they have not as much."""
    found = db.Region()
    if area <= 0:
        return None
    for box in boxes:
        if box.area() <= area:
            found.insert(box)
            area -= int(box.area())
        else:
            rows, rest = divmod(area, box.width())
            found.insert(db.Box(box.left, box.bottom, box.right, box.bottom + rows))
            found.insert(db.Box(box.left, box.bottom + rows, box.left + rest, box.bottom + rows + (rest > 0)))
            area = 0
        if area == 0:
            return found.merged()
    return None


def _lost(plan: Plan) -> Iterator[Drawing]:
    """The solution after a given element is deleted or moved, where it does not fill the place again."""
    before = Edit(plan.bench, ()).view
    for element in Edit(plan.bench, ()).shapes()[:_TRIED]:
        ids = (element.id,)
        moves = [cmd.TransformShapes(ids=ids, transform=step) for step in STEPS]
        changes: list[cmd.Command] = [cmd.DeleteShapes(ids=ids), *moves]
        for command in changes:
            edit = Edit(plan.bench, plan.bench.solution).do(command)
            if any(not (before.region(one) - edit.view.region(one)).is_empty() for one in before.drawn_layers):
                yield edit.drawing


def _bitten(plan: Plan) -> Iterator[Drawing]:
    """The solution less 1 dbu² at a corner of a given shape."""
    before = Edit(plan.bench, ()).view
    for layer in before.drawn_layers:
        for polygon in list(before.region(layer).each())[:_TRIED]:
            corner = polygon.bbox().p1
            edit = Edit(plan.bench, plan.bench.solution).cut(layer, db.Box(corner, corner + db.Vector(1, 1)))
            if (before.region(layer) - edit.view.region(layer)).area() == 1:
                yield edit.drawing


def _near(plan: Plan, layer: Layer, *, abutting: bool = False) -> Iterator[db.Box]:
    """Boxes 1 dbu too near to the outermost edges of what was given, on its outside."""
    if plan.clearance == 0:
        return
    given, gap = plan.given[layer], 0 if abutting else plan.clearance - 1
    whole = given.bbox()
    for edge in given.edges().each():
        box, depth = edge.bbox(), max(plan.clearance, 200)
        if box.width() == 0 and box.left == whole.left:
            yield db.Box(box.left - gap - depth, box.bottom, box.left - gap, box.top)
        elif box.width() == 0 and box.left == whole.right:
            yield db.Box(box.left + gap, box.bottom, box.left + gap + depth, box.top)
        elif box.height() == 0 and box.bottom == whole.bottom:
            yield db.Box(box.left, box.bottom - gap - depth, box.right, box.bottom - gap)
        elif box.height() == 0 and box.bottom == whole.top:
            yield db.Box(box.left, box.bottom + gap, box.right, box.bottom + gap + depth)


def _near_corners(plan: Plan, layer: Layer) -> Iterator[db.Box]:
    """Boxes that are too near only along a slanting line, beyond the upper end of the rightmost edges."""
    given, least = plan.given[layer], plan.clearance
    for edge in given.edges().each():
        box = edge.bbox()
        if least > 1 and box.width() == 0 and box.left == given.bbox().right:
            for dx in {1, least // 2, least * 7 // 10, least - 1} - {0}:
                dy = isqrt(least * least - 1 - dx * dx)
                yield db.Box(box.right + dx, box.top + dy, box.right + dx + 300, box.top + dy + 300)


def _offending(plan: Plan) -> Iterator[Shapes]:
    if not plan.rules:
        return
    legal = LegalShapes(plan.bench)
    for rule in plan.bench.rules:
        if rule.layer in plan.layers:
            for one in offences(legal, rule):
                yield one.draw(0)
