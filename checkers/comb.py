"""comb: two combs on one layer whose fingers interleave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.comb_layouts import comb_negatives, combs
from iclayout_checkers.fingers import interleaved_fingers
from iclayout_checkers.layouts import separate_polygons, sketch_of
from pydantic import Field

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.connectivity import Connectivity, conductor_layers
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import LayerRef


class CombParams(Params):
    """``fingers`` is the least number of fingers of each comb; with one each, any two bars would be combs."""

    layer: LayerRef
    fingers: Annotated[int, Field(ge=2, le=500, strict=True)]


class Comb:
    """Two nets make up the layer, and along some line across them fingers of the one and of the other alternate.

    Each finger hangs on the one spine of its comb and ends freely; the spines are on different sides.
    """

    name = "comb"
    params_model = CombParams

    def check(self, view: LayoutView, params: CombParams) -> Verdict:
        polygons = separate_polygons(view.region(params.layer))
        if len(polygons) != 2:
            what = f"{len(polygons)} net(s), exactly two required, one a comb"
            return Verdict.of(self._finding(view, params, what, len(polygons), 2))
        if self._are_joined(view, params, polygons):
            return Verdict.of(self._finding(view, params, "the two combs are connected", 1, 2))
        count = interleaved_fingers(*polygons)
        if count < params.fingers:
            what = f"two nets that interleave with {count} finger(s) each, at least {params.fingers} required"
            return Verdict.of(self._finding(view, params, what, count, params.fingers))
        return Verdict()

    def _are_joined(self, view: LayoutView, params: CombParams, polygons: list[db.Polygon]) -> bool:
        """By a corner, or over other layers."""
        if view.region(params.layer).count() == 1:
            return True
        if params.layer not in conductor_layers(view):
            return False
        parts = [db.Region(polygon) for polygon in polygons]
        on_layer = [shapes[params.layer] for shapes in Connectivity(view).joined.shapes if params.layer in shapes]
        return any(not (net & parts[0]).is_empty() and not (net & parts[1]).is_empty() for net in on_layer)

    def _finding(self, view: LayoutView, params: CombParams, what: str, measured: int, required: int) -> Finding:
        box = view.region(params.layer).bbox()
        return Finding(
            rule=self.name,
            message=f"{view.describe(params.layer)}: {what}",
            layer=params.layer,
            measured=measured,
            required=required,
            place=None if box.empty() else Rect.from_db(box),
        )

    def witness(self, params: CombParams, bench: Bench) -> Drawing:
        pair = combs(params.layer, params.fingers, bench)
        sketch = sketch_of([(params.layer, box) for box in pair.jogged_spines])
        # An outline may have any angle.
        for points in [*pair.jogged_fingers, *pair.gussets]:
            sketch.polygon(params.layer, points)
        return sketch.drawing

    def negatives(self, params: CombParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        return comb_negatives(params.layer, params.fingers, bench)

    def variants(self, params: CombParams) -> frozenset[str]:
        return MOVED


CHECKER = Comb()
