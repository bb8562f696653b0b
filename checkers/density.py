"""density: in every window of a region a layer covers a share within limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from hypothesis.strategies import SearchStrategy
from iclayout_checkers.density_layouts import Plan, density_negatives
from iclayout_checkers.given import changed, start_of
from iclayout_checkers.given_layouts import Edit
from iclayout_checkers.layouts import LayerRefs
from iclayout_checkers.legal import require_rules
from iclayout_checkers.windows import Coverage, windows
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.drc.checks import separation
from pytest_iclayout.drc.engine import run_rules_on
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer

Length = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]
Permille = Annotated[int, Field(ge=1, le=1000, strict=True)]

MAX_WINDOWS = 10_000


class DensityParams(Params):
    """Lengths in dbu, densities in permille of a window's area; ``layers`` as ``68/20+69/20`` or a list."""

    layers: Annotated[LayerRefs, Field(min_length=1)]
    region: Rect
    window: Length
    step: Length
    min_permille: Permille
    max_permille: Permille = 1000
    clearance: Annotated[int, Field(ge=0, le=100_000, strict=True)] = 0
    """How far what is added must stay away from the given shapes of its layer; 0: it may touch them."""
    rules: bool = False
    """Whether the rule set in force decides too."""

    @model_validator(mode="after")
    def _is_consistent(self) -> DensityParams:
        if len(set(self.layers)) < len(self.layers):
            raise ValueError("layers names a layer twice")
        if self.min_permille > self.max_permille:
            raise ValueError(f"min_permille {self.min_permille} is more than max_permille {self.max_permille}")
        box = self.region.to_db()
        for side in (box.width(), box.height()):
            if side < self.window or (side - self.window) % self.step:
                raise ValueError(f"windows of {self.window} dbu at steps of {self.step} dbu do not end with the region")
        if len(list(windows(self.region, self.window, self.step))) > MAX_WINDOWS:
            raise ValueError(f"the region has more than {MAX_WINDOWS} windows")
        return self


class Density:
    """Every window's share of merged area is within the limits, on each of the layers, and what was given is there
    still.  Areas are exact, and so a window at a limit passes.
    """

    name = "density"
    params_model = DensityParams
    needs_start = True
    needs_solution = True

    def check(self, view: LayoutView, params: DensityParams) -> Verdict:
        findings = [*self._lost(view)]
        for layer in params.layers:
            findings += self._off_limits(view, params, layer)
            findings += self._too_near(view, params, layer)
        return Verdict.of(*findings, *(run_rules_on(view, view.rules) if params.rules else ()))

    def _lost(self, view: LayoutView) -> Iterator[Finding]:
        start = start_of(view)
        for layer in start.drawn_layers:
            lost = start.region(layer) - view.region(layer)
            if lost.is_empty():
                continue
            # Slowly, but without the slivers that merging leaves along slanted edges.
            lost &= changed(view, layer)
            if lost.area() > 0:
                message = f"{view.describe(layer)}: something of what was given is gone"
                yield Finding(rule=self.name, message=message, layer=layer, place=Rect.from_db(lost.bbox()))

    def _off_limits(self, view: LayoutView, params: DensityParams, layer: Layer) -> Iterator[Finding]:
        covered, whole = Coverage(view.region(layer)), params.window**2
        for window in windows(params.region, params.window, params.step):
            area = covered.within(window)
            if 1000 * area < params.min_permille * whole:
                required, words = params.min_permille, "at least"
            elif 1000 * area > params.max_permille * whole:
                required, words = params.max_permille, "at most"
            else:
                continue
            density = float(1000 * area / whole)
            message = f"{view.describe(layer)}: density {density:.3f} permille in a window, {words} {required} required"
            yield Finding(
                rule=self.name,
                message=message,
                layer=layer,
                measured=density,
                required=required,
                place=Rect.from_db(window),
            )

    def _too_near(self, view: LayoutView, params: DensityParams, layer: Layer) -> Iterator[Finding]:
        if params.clearance == 0:
            return
        given = start_of(view).region(layer)
        for violation in separation(view.region(layer) - given, given, params.clearance):
            message = (
                f"{view.describe(layer)}: what is added is too near to a given shape, "
                f"at least {params.clearance} dbu required"
            )
            yield Finding(
                rule=self.name,
                message=message,
                layer=layer,
                measured=violation.measured,
                required=params.clearance,
                place=Rect.from_db(violation.place),
            )

    def witness(self, params: DensityParams, bench: Bench) -> Drawing:
        self._require_work(params, bench)
        return bench.solution

    def negatives(self, params: DensityParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        limits = (params.min_permille, params.max_permille)
        boxes = tuple(windows(params.region, params.window, params.step))
        return density_negatives(Plan(bench, params.layers, boxes, *limits, params.clearance, params.rules))

    def variants(self, params: DensityParams) -> frozenset[str]:
        # The windows stand where the task says.
        return REDRAWN

    def _require_work(self, params: DensityParams, bench: Bench) -> None:
        """Raises ValueError for a layer that has enough in every window as it is given, so that none need be added."""
        if params.rules:
            require_rules(bench, self.name)
        start = Edit(bench, ()).view
        least = params.min_permille * params.window**2
        for layer in params.layers:
            covered = Coverage(start.region(layer))
            if all(1000 * covered.within(one) >= least for one in windows(params.region, params.window, params.step)):
                raise ValueError(f"density: layer {layer} is dense enough as it is given")


CHECKER = Density()
