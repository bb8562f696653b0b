"""layer_area: a layer covers an area within limits."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import Annotated

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Points, other_layers, polygon_of_area, unplaced
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer, LayerRef

# A square of the largest area is 32 mm wide and leaves room for long shapes within the coordinate range.
Area = Annotated[int, Field(ge=1, le=10**15, strict=True)]


class LayerAreaParams(Params):
    """Both areas in dbu². An empty layer is never a solution, without ``min_area`` either."""

    layer: LayerRef
    min_area: Area | None = None
    max_area: Area | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> LayerAreaParams:
        if self.min_area is None and self.max_area is None:
            raise ValueError("min_area, max_area or both are required")
        if self.min_area is not None and self.max_area is not None and self.min_area > self.max_area:
            raise ValueError(f"min_area {self.min_area} is more than max_area {self.max_area}")
        return self


class LayerArea:
    """The area that all shapes of the layer cover together: overlaps once, holes not at all."""

    name = "layer_area"
    params_model = LayerAreaParams

    def check(self, view: LayoutView, params: LayerAreaParams) -> Verdict:
        finding = area_finding(view, params, self.name)
        return Verdict.of(finding)

    def witness(self, params: LayerAreaParams, bench: Bench) -> Drawing:
        return area_witness(params)

    def negatives(self, params: LayerAreaParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        return area_negatives(params, bench)

    def variants(self, params: LayerAreaParams) -> frozenset[str]:
        return MOVED


def area_finding(view: LayoutView, params: LayerAreaParams, rule: str) -> Finding | None:
    """What is wrong with the area that the layer covers, for a finding of ``rule``."""
    region = view.region_by_cell(params.layer)
    # Of each polygon KLayout's own area rounds away half a dbu², which slanted edges may leave.
    halves = sum(polygon.area2() % 2 for polygon in region.non_rectilinear().each())
    covered = region.area() + halves * 0.5
    least = params.min_area or 1
    if covered < least:
        required, words = least, "at least"
    elif params.max_area is not None and covered > params.max_area:
        required, words = params.max_area, "at most"
    else:
        return None
    return Finding(
        rule=rule,
        message=f"{view.describe(params.layer)} covers {covered:.15g} dbu², {words} {required} dbu² required",
        layer=params.layer,
        measured=covered,
        required=required,
        place=None if region.is_empty() else Rect.from_db(region.bbox()),
    )


def area_witness(params: LayerAreaParams) -> Drawing:
    """One shape whose area stands at a limit."""
    return _polygon(params.layer, polygon_of_area(_right_area(params), isqrt(_right_area(params))))


def area_negatives(params: LayerAreaParams, bench: Bench) -> dict[str, SearchStrategy[Drawing]]:
    """Layouts in which the layer covers too little or too much, by name."""
    layer, right = params.layer, _right_area(params)
    width = _widths(right)
    found: dict[str, SearchStrategy[Drawing]] = {
        "nothing_drawn": st.just(Sketch().drawing),
        "wrong_layer": st.builds(
            lambda wrong, width: _polygon(wrong, polygon_of_area(right, width)),
            other_layers(bench.technology, layer),
            width,
        ),
        "shape_without_area": width.map(lambda width: Sketch().rect(layer, 0, 0, width, 0).drawing),
        "only_in_a_cell_that_is_not_placed": width.map(
            lambda width: unplaced(_polygon(layer, polygon_of_area(right, width)))
        ),
    }
    if params.min_area is not None and params.min_area > 1:
        found |= _too_small(layer, params.min_area)
    if params.max_area is not None:
        found |= _too_large(layer, params.max_area)
    return found


def _right_area(params: LayerAreaParams) -> int:
    """An area that stands at a limit: at the lower one, if one is given."""
    return params.min_area or params.max_area or 1


def _too_small(layer: Layer, least: int) -> dict[str, SearchStrategy[Drawing]]:
    width = _widths(least - 1)
    found: dict[str, SearchStrategy[Drawing]] = {
        "one_dbu_short": width.map(lambda width: _polygon(layer, polygon_of_area(least - 1, width))),
        "enough_only_with_an_overlap_counted_twice": width.map(
            lambda width: Sketch().polygon(layer, polygon_of_area(least - 1, width)).rect(layer, 0, 0, 1, 1).drawing
        ),
        "enough_only_in_two_instances_on_one_place": width.map(
            lambda width: (
                Sketch()
                .include(Sketch("part").polygon(layer, polygon_of_area(least - 1, width)))
                .place("part")
                .place("part")
                .drawing
            )
        ),
        "slanted_and_too_small": width.map(lambda width: _polygon(layer, _small_triangle(least, width))),
        "enough_only_as_a_bounding_box": width.map(lambda width: _polygon(layer, _triangle(least, width))),
    }
    if least > 2:
        found["half_a_dbu_short"] = width.map(lambda width: _and_a_half(layer, least - 1, width))
    side = isqrt(least) + 1
    if 4 * (side - 1) < least:
        found["enough_only_with_the_hole_of_a_ring"] = st.just(_ring(layer, side))
    return found


def _too_large(layer: Layer, most: int) -> dict[str, SearchStrategy[Drawing]]:
    width = _widths(most + 1)
    found: dict[str, SearchStrategy[Drawing]] = {
        "one_dbu_too_much": width.map(lambda width: _polygon(layer, polygon_of_area(most + 1, width))),
        "one_dbu_too_much_in_two_pieces": width.map(lambda width: _two_pieces(layer, most + 1, width)),
        "one_dbu_too_much_with_what_an_instance_holds": width.map(
            lambda width: (
                Sketch()
                .include(Sketch("part").polygon(layer, polygon_of_area(most, width)))
                .place("part")
                .rect(layer, -2, 0, -1, 1)
                .drawing
            )
        ),
    }
    if most > 1:
        found["half_a_dbu_too_much"] = width.map(lambda width: _and_a_half(layer, most, width))
    return found


def _widths(area: int) -> SearchStrategy[int]:
    """Widths in dbu that make shapes of ``area`` dbu² of all proportions that the coordinates allow."""
    side = isqrt(area)
    return st.integers(max(1, side // 8), max(1, side * 8))


def _polygon(layer: Layer, points: Points) -> Drawing:
    return Sketch().polygon(layer, points).drawing


def _triangle(area: int, width: int) -> Points:
    """A bounding box of ``area`` dbu² at least, half of it covered, and less than ``area`` in any case."""
    width = min(width, area)
    height = -(-area // width)
    return [(0, 0), (width, 0), (0, height)]


def _small_triangle(area: int, width: int) -> Points:
    """A dbu² less than ``area``, which is 2 dbu² or more, or as much as goes into whole dbu below that."""
    width = min(width, 2 * area - 2)
    return [(0, 0), (width, 0), (0, (2 * area - 2) // width)]


def _and_a_half(layer: Layer, area: int, width: int) -> Drawing:
    """Half a dbu² more than ``area``, which is 2 dbu² or more; 1.5 dbu² of it are a triangle apart."""
    sketch = Sketch().polygon(layer, polygon_of_area(area - 1, width))
    return sketch.polygon(layer, [(-9, 0), (-6, 0), (-9, 1)]).drawing


def _ring(layer: Layer, side: int) -> Drawing:
    """A square frame, one dbu thick."""
    sketch = Sketch().rect(layer, 0, 0, side, 1).rect(layer, 0, side - 1, side, side)
    return sketch.rect(layer, 0, 0, 1, side).rect(layer, side - 1, 0, side, side).drawing


def _two_pieces(layer: Layer, area: int, width: int) -> Drawing:
    first = area // 2
    sketch = Sketch().polygon(layer, polygon_of_area(first, width))
    return sketch.polygon(layer, [(-10 - x, y) for x, y in polygon_of_area(area - first, width)]).drawing


CHECKER = LayerArea()
