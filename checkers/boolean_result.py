"""boolean_result: a layer covers the area of a boolean result, and the inputs are gone."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layer_area import LayerAreaParams, area_finding, area_negatives, area_witness
from iclayout_checkers.layouts import sizes
from pydantic import model_validator

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer, LayerRef


class BooleanResultParams(LayerAreaParams):
    """Both areas in dbu². ``cleared`` is the layer of the inputs, which the operation consumes."""

    cleared: LayerRef | None = None

    @model_validator(mode="after")
    def _clears_another_layer(self) -> BooleanResultParams:
        if self.cleared == self.layer:
            raise ValueError(f"cleared: {self.cleared} is the layer of the result")
        return self


class BooleanResult:
    """The result's area is within the limits, measured as ``layer_area`` does, and nothing covers ``cleared``."""

    name = "boolean_result"
    params_model = BooleanResultParams

    def check(self, view: LayoutView, params: BooleanResultParams) -> Verdict:
        return Verdict.of(area_finding(view, params, self.name), self._left_over(view, params))

    def _left_over(self, view: LayoutView, params: BooleanResultParams) -> Finding | None:
        if params.cleared is None:
            return None
        left = view.region(params.cleared)
        if left.is_empty():
            return None
        return Finding(
            rule=self.name,
            message=f"{view.describe(params.cleared)} still holds {left.count()} shape(s): the inputs must be consumed",
            layer=params.cleared,
            measured=left.count(),
            required=0,
            place=Rect.from_db(left.bbox()),
        )

    def witness(self, params: BooleanResultParams, bench: Bench) -> Drawing:
        return area_witness(params)

    def negatives(self, params: BooleanResultParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        found = area_negatives(params, bench)
        if params.cleared is not None:
            found |= _left_overs(area_witness(params), params.cleared, params)
        return found

    def variants(self, params: BooleanResultParams) -> frozenset[str]:
        return MOVED


def _left_overs(right: Drawing, cleared: Layer, params: BooleanResultParams) -> dict[str, SearchStrategy[Drawing]]:
    side = isqrt(params.min_area or params.max_area or 1)
    corner = st.tuples(st.integers(-2 * side, 2 * side), st.integers(-2 * side, 2 * side))

    def rect(size: tuple[int, int], at: tuple[int, int]) -> cmd.AddRect:
        return cmd.AddRect(cell="top", layer=cleared, rect=Rect.of(*at, at[0] + size[0], at[1] + size[1]))

    def in_a_part(at: tuple[int, int]) -> Drawing:
        placed = Sketch().include(Sketch("part").rect(cleared, 0, 0, 1, 1)).place("part", *at)
        # The first command of each drawing creates ``top``.
        return (*placed.drawing, *right[1:])

    on_the_result = tuple(one.model_copy(update={"layer": cleared}) for one in right if hasattr(one, "layer"))
    return {
        "inputs_left_over": st.builds(
            lambda one, other, at, there: (*right, rect(one, at), rect(other, there)), sizes(), sizes(), corner, corner
        ),
        "one_dbu_left_over": corner.map(lambda at: (*right, rect((1, 1), at))),
        "one_dbu_left_over_in_an_instance": corner.map(in_a_part),
        "input_left_over_under_the_result": st.just((*right, *on_the_result)),
        "result_on_the_cleared_layer": st.just((*right[:1], *on_the_result)),
    }


CHECKER = BooleanResult()
