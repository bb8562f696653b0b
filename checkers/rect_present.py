"""rect_present: an axis-parallel rectangle stands on a layer."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import other_layers, sizes

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer, LayerRef


class RectPresentParams(Params):
    layer: LayerRef = Layer(layer=68, datatype=20)


class RectPresent:
    """At least one merged polygon on the layer is a rectangle, whatever pieces it was drawn from."""

    name = "rect_present"
    params_model = RectPresentParams

    def check(self, view: LayoutView, params: RectPresentParams) -> Verdict:
        region = view.region(params.layer)
        if any(polygon.is_box() for polygon in region.each()):
            return Verdict()
        layer = view.describe(params.layer)
        if region.is_empty():
            return Verdict.of(Finding(rule=self.name, layer=params.layer, message=f"{layer} has no shape"))
        message = f"{layer} has {region.count()} shape(s), none of them a rectangle"
        place = Rect.from_db(region.bbox())
        return Verdict.of(Finding(rule=self.name, layer=params.layer, message=message, place=place))

    def witness(self, params: RectPresentParams, bench: Bench) -> Drawing:
        return Sketch().rect(params.layer, 0, 0, 600, 400).drawing

    def negatives(self, params: RectPresentParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        layer = params.layer
        return {
            "nothing_drawn": st.just(Sketch().drawing),
            "wrong_layer": st.builds(
                lambda other, size: Sketch().rect(other, 0, 0, *size).drawing,
                other_layers(bench.technology, layer),
                sizes(),
            ),
            "l_shape": st.builds(
                lambda size, bite: Sketch().polygon(layer, _bitten(*size, *bite)).drawing,
                sizes(2),
                st.tuples(st.integers(1, 999), st.integers(1, 999)),
            ),
            "triangle": st.builds(
                lambda size: Sketch().polygon(layer, [(0, 0), (size[0], 0), (0, size[1])]).drawing, sizes(2)
            ),
            "one_corner_off": st.builds(
                lambda size: (
                    Sketch().polygon(layer, [(0, 0), (size[0], 0), (size[0], size[1] + 1), (0, size[1])]).drawing
                ),
                sizes(2),
            ),
            "two_overlapping_that_merge_to_a_cross": st.builds(
                lambda size: (
                    Sketch().rect(layer, -size[0], -1, size[0], 1).rect(layer, -1, -size[1], 1, size[1]).drawing
                ),
                sizes(2),
            ),
            "rectangle_without_area": st.builds(
                lambda length: Sketch().rect(layer, 0, 0, length, 0).drawing, st.integers(1, 100_000)
            ),
            "only_in_a_cell_that_is_not_placed": st.builds(
                lambda size: Sketch().include(Sketch("lost").rect(layer, 0, 0, *size)).drawing, sizes()
            ),
        }

    def variants(self, params: RectPresentParams) -> frozenset[str]:
        return MOVED


def _bitten(width: int, height: int, right: int, top: int) -> list[tuple[int, int]]:
    """A rectangle less its upper right corner; the bite is ``right`` and ``top`` permille, at least 1 dbu."""
    x = width - max(1, width * right // 1000) if width > 1 else 0
    y = height - max(1, height * top // 1000) if height > 1 else 0
    x, y = max(1, x), max(1, y)
    return [(0, 0), (width, 0), (width, y), (x, y), (x, height), (0, height)]


CHECKER = RectPresent()
