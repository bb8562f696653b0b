"""drc_clean: a layout that breaks no design rule, and holds what the task asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.drc_layouts import (
    Plan,
    broken_rules,
    drawn,
    not_crossing,
    one_short,
    spread,
    unchecked_layers,
)
from iclayout_checkers.layouts import LayerRefs, separate, split_at, unplaced
from iclayout_checkers.legal import LegalShapes
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.drc.engine import first_violations
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer, LayerRef
from pytest_iclayout.technology.models import RuleKind


class DrcCleanParams(Params):
    """``present`` as ``65/20+66/20`` or a list, ``crossing`` as ``66/20*65/20`` or a pair."""

    present: LayerRefs = ()
    """Layers that must each hold ``min_shapes`` merged shapes."""
    min_shapes: Annotated[int, Field(ge=1, le=100, strict=True)] = 1
    crossing: Annotated[tuple[LayerRef, LayerRef] | None, split_at("*")] = None
    """Two layers that must overlap somewhere, by area."""

    @model_validator(mode="after")
    def _is_consistent(self) -> DrcCleanParams:
        if len(set(self.present)) < len(self.present):
            raise ValueError("present names a layer twice")
        if self.min_shapes > 1 and not self.present:
            raise ValueError("min_shapes counts the shapes of the layers in present, which is empty")
        if self.crossing is not None and self.crossing[0] == self.crossing[1]:
            raise ValueError("crossing takes two different layers")
        return self


class DrcClean:
    """The rule set in force finds nothing, and it had something to look at: no empty layout is clean here,
    nor one whose shapes stand where no rule looks."""

    name = "drc_clean"
    needs_rules = True
    params_model = DrcCleanParams

    def check(self, view: LayoutView, params: DrcCleanParams) -> Verdict:
        found = first_violations(view, view.rules)
        return Verdict.of(
            self._unchecked(view),
            *(self._absent(view, layer, params.min_shapes) for layer in params.present),
            self._apart(view, params),
            *found.findings,
            more=found.more,
        )

    def _unchecked(self, view: LayoutView) -> Finding | None:
        if any(not view.region_by_cell(rule.layer).is_empty() for rule in view.rules):
            return None
        message = f"nothing is drawn on a layer that rule set {view.rule_set} checks"
        return Finding(rule=self.name, message=message)

    def _absent(self, view: LayoutView, layer: Layer, required: int) -> Finding | None:
        region = view.region_by_cell(layer)
        count = separate(region).count()
        if count >= required:
            return None
        return Finding(
            rule=self.name,
            message=f"{view.describe(layer)}: {count} shape(s), at least {required} required",
            layer=layer,
            measured=count,
            required=required,
            place=None if region.is_empty() else Rect.from_db(region.bbox()),
        )

    def _apart(self, view: LayoutView, params: DrcCleanParams) -> Finding | None:
        if params.crossing is None:
            return None
        one, other = params.crossing
        if not (view.region(one) & view.region(other)).is_empty():
            return None
        message = f"{view.describe(one)} overlaps {view.describe(other)} nowhere"
        return Finding(rule=self.name, message=message, layer=one)

    def witness(self, params: DrcCleanParams, bench: Bench) -> Drawing:
        plan = _plan(params, bench)
        return drawn(plan.legal, plan.blocks)

    def negatives(self, params: DrcCleanParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        plan = _plan(params, bench)
        found: dict[str, SearchStrategy[Drawing]] = {
            "nothing_drawn": st.just(Sketch().drawing),
            "only_shapes_without_area": st.integers(1, 9000).map(
                lambda length: Sketch().rect(plan.measured, 0, 0, length, 0).drawing
            ),
            "only_in_a_cell_that_is_not_placed": spread(plan.legal, plan.blocks).map(unplaced),
            **unchecked_layers(plan, bench.technology),
            **broken_rules(plan, bench.technology),
        }
        for layer in params.present:
            found |= one_short(plan, layer, bench.technology)
        if params.crossing is not None:
            found |= not_crossing(plan, *params.crossing)
        return found

    def variants(self, params: DrcCleanParams) -> frozenset[str]:
        return MOVED


def _plan(params: DrcCleanParams, bench: Bench) -> Plan:
    """Raises ValueError when the rule set in force has no rules, or forbids what the task asks for."""
    if not bench.rules:
        raise ValueError(f"drc_clean: rule set {bench.rule_set} has no rules, so nothing could break one")
    for rule in bench.rules:
        forbids = rule.kind is RuleKind.SEPARATION and rule.overlap_is_error
        if forbids and params.crossing is not None and set(rule.layers) == set(params.crossing):
            raise ValueError(f"drc_clean: crossing: rule {rule.id} of the rule set forbids these layers to overlap")
    return Plan(LegalShapes(bench), params.present, params.min_shapes, params.crossing)


CHECKER = DrcClean()
