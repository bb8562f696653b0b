"""shape_count: a layer holds so many shapes, of a given size if one is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import halves, other_layers, separate, sizes, sketch_of, unplaced
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import MAX_FINDINGS, Finding
from pytest_iclayout.geometry.picking import first_by_place, of_another_size
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer, LayerRef

Count = Annotated[int, Field(ge=1, le=1000, strict=True)]
Length = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]

_COLUMNS = 32


class ShapeCountParams(Params):
    """``width`` and ``height`` in dbu. An empty layer is never a solution: one shape is the least."""

    layer: LayerRef
    exact: Count | None = None
    min: Count | None = None
    max: Count | None = None
    width: Length | None = None
    height: Length | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> ShapeCountParams:
        if self.exact is None and self.min is None and self.max is None:
            raise ValueError("one of exact, min, max is required")
        if self.exact is not None and (self.min is not None or self.max is not None):
            raise ValueError("exact excludes min and max")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is more than max {self.max}")
        if (self.width is None) != (self.height is None):
            raise ValueError("width and height are given together or not at all")
        return self

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height in dbu."""
        return None if self.width is None or self.height is None else (self.width, self.height)


class ShapeCount:
    """Counts merged polygons, so pieces that overlap or abut along an edge are one shape; two that touch
    in a corner only are two.  With a size, every one of them must be a rectangle of that size, not turned.
    """

    name = "shape_count"
    params_model = ShapeCountParams

    def check(self, view: LayoutView, params: ShapeCountParams) -> Verdict:
        shapes = separate(view.region_by_cell(params.layer))
        wrong_count = self._count_finding(view, params, shapes.count())
        if params.size is None:
            return Verdict.of(wrong_count)
        wrong = of_another_size(shapes, *params.size)
        shown = first_by_place(wrong, MAX_FINDINGS)
        findings = [self._size_finding(view, params, params.size, one) for one in shown]
        return Verdict.of(wrong_count, *findings, more=wrong.count() - len(shown))

    def _count_finding(self, view: LayoutView, params: ShapeCountParams, count: int) -> Finding | None:
        fewest, most = params.exact or params.min or 1, params.exact or params.max
        if count < fewest:
            required, words = fewest, "at least"
        elif most is not None and count > most:
            required, words = most, "at most"
        else:
            return None
        words = "exactly" if params.exact is not None else words
        message = f"{view.describe(params.layer)}: {count} shape(s), {words} {required} required"
        box = view.region_by_cell(params.layer).bbox()
        return Finding(
            rule=self.name,
            message=message,
            layer=params.layer,
            measured=count,
            required=required,
            place=None if box.empty() else Rect.from_db(box),
        )

    def _size_finding(
        self, view: LayoutView, params: ShapeCountParams, size: tuple[int, int], polygon: db.Polygon
    ) -> Finding:
        box = polygon.bbox()
        kind = "rectangle" if polygon.is_box() else "shape that is no rectangle"
        message = (
            f"{view.describe(params.layer)}: a {kind} of {box.width()} x {box.height()} dbu, "
            f"exactly {size[0]} x {size[1]} dbu required"
        )
        return Finding(rule=self.name, message=message, layer=params.layer, place=Rect.from_db(box))

    def witness(self, params: ShapeCountParams, bench: Bench) -> Drawing:
        return _drawing(params.layer, _grid(_right_count(params), params.size or (600, 400), 400))

    def negatives(self, params: ShapeCountParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        layer, (fewest, most) = params.layer, _limits(params)
        size = sizes(2, 10_000) if params.size is None else st.just(params.size)
        gap = st.integers(1, 5000)
        other = other_layers(bench.technology, layer)
        permille = st.integers(0, 999)

        def grids(count: int, change: Callable[[list[db.Box]], list[db.Box]] = list) -> SearchStrategy[Drawing]:
            return st.builds(lambda size, gap: _drawing(layer, change(_grid(count, size, gap))), size, gap)

        right = _right_count(params)
        found: dict[str, SearchStrategy[Drawing]] = {
            "nothing_drawn": st.just(Sketch().drawing),
            "wrong_layer": st.builds(
                lambda wrong, size, gap: _drawing(wrong, _grid(right, size, gap)), other, size, gap
            ),
            "only_shapes_without_area": st.builds(
                lambda size, gap: _drawing(layer, [_flat(box) for box in _grid(right, size, gap)]), size, gap
            ),
            "only_in_a_cell_that_is_not_placed": grids(right).map(unplaced),
        }
        if fewest > 1:
            found |= {
                "one_short": grids(fewest - 1),
                "one_on_the_wrong_layer": st.builds(
                    lambda wrong, size, gap: (
                        sketch_of(
                            [(layer, box) for box in _grid(fewest, size, gap)[1:]] + [(wrong, _grid(1, size, gap)[0])]
                        ).drawing
                    ),
                    other,
                    size,
                    gap,
                ),
                "one_without_area": grids(fewest, lambda boxes: [_flat(boxes[0]), *boxes[1:]]),
                "one_drawn_twice": grids(fewest - 1, lambda boxes: [*boxes, boxes[0]]),
                "two_joined_by_a_sliver": grids(fewest, lambda boxes: [*boxes, _sliver(boxes[0], boxes[1])]),
            }
            if params.size != (1, 1):
                found["one_in_two_pieces_that_abut"] = st.builds(
                    lambda size, gap, cut: _drawing(layer, _first_in_pieces(_grid(fewest - 1, size, gap), cut)),
                    size,
                    gap,
                    permille,
                )
        if most is not None:
            found |= {
                "one_too_many": grids(most + 1),
                "one_too_many_that_touches_in_a_corner": grids(
                    most, lambda boxes: [*boxes, boxes[0].moved(-boxes[0].width(), -boxes[0].height())]
                ),
            }
        if params.size is not None:
            found |= {
                name: grids(right, _changing_the_last(wrong))
                for name, wrong in _WRONG_SIZES.items()
                if wrong(_grid(1, params.size, 1)[0]).area() > 0
            }
            if params.width != params.height:
                found["one_turned"] = grids(right, _changing_the_last(_turned))
            if params.size != (1, 1):
                found["one_lacks_a_corner"] = st.builds(
                    lambda size, gap: _without_a_corner(layer, _grid(right, size, gap)), size, gap
                )
        return found

    def variants(self, params: ShapeCountParams) -> frozenset[str]:
        # A quarter turn swaps width and height.
        return MOVED if params.width == params.height else MOVED - {"rotate"}


def _limits(params: ShapeCountParams) -> tuple[int, int | None]:
    """Worked out apart from ``check``: a limit that it forgets must not be forgotten here, too."""
    if params.exact is not None:
        return params.exact, params.exact
    return (1 if params.min is None else params.min), params.max


def _right_count(params: ShapeCountParams) -> int:
    """A count that stands at a limit: at the lower one, if one is given."""
    fewest, most = _limits(params)
    return fewest if params.min is not None or most is None else most


def _grid(count: int, size: tuple[int, int], gap: int) -> list[db.Box]:
    width, height = size
    places = (divmod(number, _COLUMNS) for number in range(count))
    return [db.Box(0, 0, width, height).moved(x * (width + gap), y * (height + gap)) for y, x in places]


def _drawing(layer: Layer, boxes: list[db.Box]) -> Drawing:
    return sketch_of([(layer, box) for box in boxes]).drawing


def _flat(box: db.Box) -> db.Box:
    return db.Box(box.left, box.bottom, box.right, box.bottom)


def _sliver(left: db.Box, right: db.Box) -> db.Box:
    return db.Box(left.right, left.bottom, right.left, left.bottom + 1)


def _changing_the_last(change: Callable[[db.Box], db.Box]) -> Callable[[list[db.Box]], list[db.Box]]:
    return lambda boxes: [*boxes[:-1], change(boxes[-1])]


def _first_in_pieces(boxes: list[db.Box], permille: int) -> list[db.Box]:
    return [*halves(boxes[0], permille), *boxes[1:]]


def _turned(box: db.Box) -> db.Box:
    return db.Box(box.left, box.bottom, box.left + box.height(), box.bottom + box.width())


def _without_a_corner(layer: Layer, boxes: list[db.Box]) -> Drawing:
    """The last box lacks one square dbu: its bounding box is right, it is not."""
    last, sketch = boxes[-1], sketch_of([(layer, box) for box in boxes[:-1]])
    left, bottom, right, top = last.left, last.bottom, last.right, last.top
    if last.width() == 1 or last.height() == 1:
        # A line has no corner to spare; half of it, cut along the diagonal, has the same bounding box.
        return sketch.polygon(layer, [(left, bottom), (right, bottom), (left, top)]).drawing
    corner = [(right, top - 1), (right - 1, top - 1), (right - 1, top)]
    return sketch.polygon(layer, [(left, bottom), (right, bottom), *corner, (left, top)]).drawing


_WRONG_SIZES: dict[str, Callable[[db.Box], db.Box]] = {
    "one_a_dbu_too_narrow": lambda box: db.Box(box.left, box.bottom, box.right - 1, box.top),
    "one_a_dbu_too_wide": lambda box: db.Box(box.left, box.bottom, box.right + 1, box.top),
    "one_a_dbu_too_low": lambda box: db.Box(box.left, box.bottom, box.right, box.top - 1),
    "one_a_dbu_too_high": lambda box: db.Box(box.left, box.bottom, box.right, box.top + 1),
}

CHECKER = ShapeCount()
