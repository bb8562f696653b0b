"""pcell_box: a square with a concentric smaller one on another layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Shapes, other_layers, separate_polygons, sketch_of, unplaced
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer, LayerRef


class PCellBoxParams(Params):
    """``width`` of the outer square and ``margin`` of the inner one on every side, in dbu."""

    outer: LayerRef
    inner: LayerRef
    width: Annotated[int, Field(ge=3, le=10_000_000, strict=True)]
    margin: Annotated[int, Field(ge=1, strict=True)] = 20

    @model_validator(mode="after")
    def _is_consistent(self) -> PCellBoxParams:
        if self.outer == self.inner:
            raise ValueError("outer and inner are two different layers")
        if 2 * self.margin >= self.width:
            raise ValueError(f"margin {self.margin} leaves nothing of an outer square of {self.width} dbu")
        return self


class PCellBox:
    """One square on each of the two layers and nothing else there, the inner one concentric with the outer.

    Where they stand, and through which cells they are drawn, is free.
    """

    name = "pcell_box"
    params_model = PCellBoxParams

    def check(self, view: LayoutView, params: PCellBoxParams) -> Verdict:
        sides = {params.outer: params.width, params.inner: params.width - 2 * params.margin}
        findings = [self._not_a_square(view, layer, side) for layer, side in sides.items()]
        if any(findings):
            return Verdict.of(*findings)
        return Verdict.of(self._not_inset(view, params))

    def _not_a_square(self, view: LayoutView, layer: Layer, side: int) -> Finding | None:
        polygons = separate_polygons(view.region(layer))
        whole = view.region(layer).bbox()
        if len(polygons) == 1 and polygons[0].is_box() and (whole.width(), whole.height()) == (side, side):
            return None
        shape = "rectangle" if all(one.is_box() for one in polygons) else "shape"
        one_found = f"a {shape} of {whole.width()} x {whole.height()} dbu"
        found = one_found if len(polygons) == 1 else f"{len(polygons)} shape(s)"
        return Finding(
            rule=self.name,
            message=f"{view.describe(layer)}: {found}, exactly one square of {side} x {side} dbu required",
            layer=layer,
            place=None if whole.empty() else Rect.from_db(whole),
        )

    def _not_inset(self, view: LayoutView, params: PCellBoxParams) -> Finding | None:
        outer, inner = view.region(params.outer).bbox(), view.region(params.inner).bbox()
        if inner == outer.enlarged(-params.margin):
            return None
        message = (
            f"the square on {view.describe(params.inner)} is not inset by {params.margin} dbu on every side "
            f"from the one on {view.describe(params.outer)} at {Rect.from_db(outer)}"
        )
        return Finding(rule=self.name, message=message, layer=params.inner, place=Rect.from_db(inner))

    def witness(self, params: PCellBoxParams, bench: Bench) -> Drawing:
        return sketch_of(_squares(params)).drawing

    def negatives(self, params: PCellBoxParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        outer, inner = params.outer, params.inner
        coordinate = st.integers(-100_000, 100_000)
        origin = st.tuples(coordinate, coordinate)

        def drawn(shapes: Shapes) -> SearchStrategy[Drawing]:
            return origin.map(lambda at: sketch_of([(layer, box.moved(*at)) for layer, box in shapes]).drawing)

        squares = _squares(params)
        big, small = squares[0][1], squares[1][1]
        wrong = other_layers(bench.technology, outer, inner)
        found: dict[str, SearchStrategy[Drawing]] = {
            "nothing_drawn": st.just(Sketch().drawing),
            "only_in_a_cell_that_is_not_placed": drawn(squares).map(unplaced),
            "layers_exchanged": drawn([(inner, big), (outer, small)]),
            "drawn_twice_apart": drawn(
                [*squares, *((layer, box.moved(2 * params.width, 0)) for layer, box in squares)]
            ),
            "both_on_the_outer_layer": drawn([(outer, big), (outer, small)]),
            "inner_outside": drawn([(outer, big), (inner, small.moved(params.width, 0))]),
        }
        for role, layer, box, other in (("outer", outer, big, squares[1]), ("inner", inner, small, squares[0])):
            found |= {
                f"{role}_missing": drawn([other]),
                f"{role}_without_area": drawn([other, (layer, db.Box(box.left, box.bottom, box.right, box.bottom))]),
                f"{role}_on_the_wrong_layer": st.builds(_with_one_on, st.just(other), st.just(box), wrong),
                f"{role}_with_another_in_a_corner": drawn([*squares, (layer, box.moved(box.width(), box.height()))]),
                f"{role}_with_a_bystander": drawn([*squares, (layer, box.moved(3 * params.width, 0))]),
            }
            if box.width() > 1:
                lacking = sketch_of([other]).polygon(layer, _without_a_corner(box))
                found[f"{role}_lacks_a_corner"] = st.just(lacking.drawing)
            for name, change in _WRONG.items():
                if change(box).area() > 0:
                    found[f"{role}_{name}"] = drawn([other, (layer, change(box))])
        for name in ("wide", "high", "large", "narrow", "low", "small"):
            change = _WRONG[f"one_dbu_too_{name}"]
            if change(small).area() > 0:
                found[f"both_one_dbu_too_{name}"] = drawn([(outer, change(big)), (inner, change(small))])
        return found

    def variants(self, params: PCellBoxParams) -> frozenset[str]:
        return MOVED


def _with_one_on(other: tuple[Layer, db.Box], box: db.Box, layer: Layer) -> Drawing:
    return sketch_of([other, (layer, box)]).drawing


def _squares(params: PCellBoxParams) -> Shapes:
    outer = db.Box(0, 0, params.width, params.width)
    return [(params.outer, outer), (params.inner, outer.enlarged(-params.margin))]


def _without_a_corner(box: db.Box) -> list[tuple[int, int]]:
    left, bottom, right, top = box.left, box.bottom, box.right, box.top
    corner = [(right, top - 1), (right - 1, top - 1), (right - 1, top)]
    return [(left, bottom), (right, bottom), *corner, (left, top)]


_WRONG: dict[str, Callable[[db.Box], db.Box]] = {
    "one_dbu_too_far_left": lambda box: box.moved(-1, 0),
    "one_dbu_too_far_up": lambda box: box.moved(0, 1),
    "one_dbu_too_wide": lambda box: db.Box(box.left, box.bottom, box.right + 1, box.top),
    "one_dbu_too_high": lambda box: db.Box(box.left, box.bottom, box.right, box.top + 1),
    "one_dbu_too_narrow": lambda box: db.Box(box.left + 1, box.bottom, box.right, box.top),
    "one_dbu_too_low": lambda box: db.Box(box.left, box.bottom + 1, box.right, box.top),
    "one_dbu_too_large": lambda box: box.enlarged(1, 1),
    "one_dbu_too_small": lambda box: box.enlarged(-1, -1),
}

CHECKER = PCellBox()
