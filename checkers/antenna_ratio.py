"""antenna_ratio: a gate that no long wire charges before its driver is connected to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, NamedTuple

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.antenna_layouts import AntennaPlan, antenna_negatives
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.connectivity import Connectivity, Nets
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer, LayerRef
from pytest_iclayout.technology.models import Technology


class AntennaRatioParams(Params):
    """``gate`` is the channel, ``driver`` the place on ``driver_layer`` from which it is driven.

    ``max_ratio`` limits metal area over gate area: at each conductor that of this conductor alone, with
    ``cumulative`` that of this one and all below it.
    """

    gate: Rect
    driver: Rect
    driver_layer: LayerRef
    max_ratio: Annotated[int, Field(ge=1, le=100_000, strict=True)]
    cumulative: bool = False
    poly: LayerRef = Layer(layer=66, datatype=20)
    diff: LayerRef = Layer(layer=65, datatype=20)

    @model_validator(mode="after")
    def _is_consistent(self) -> AntennaRatioParams:
        for name, place in (("gate", self.gate), ("driver", self.driver)):
            if place.to_db().area() == 0:
                raise ValueError(f"{name} has no area")
        if self.gate.to_db().touches(self.driver.to_db()):
            raise ValueError("gate and driver touch")
        if len({self.poly, self.diff, self.driver_layer}) < 3:
            raise ValueError("poly, diff and driver_layer are different layers")
        return self


class Stage(NamedTuple):
    """What is connected once a conductor has been made and nothing above it: ``metals`` up to that one."""

    metals: tuple[Layer, ...]
    technology: Technology


class AntennaRatio:
    """The gate's net reaches the driver, and at no stage of the process is there too much metal on the gate.

    A stage is a conductor above poly: when it is made, nothing above it connects yet.  From the stage on
    at which the gate is connected with the driver, charge flows off there, and nothing is limited.
    """

    name = "antenna_ratio"
    params_model = AntennaRatioParams

    def check(self, view: LayoutView, params: AntennaRatioParams) -> Verdict:
        findings = list(self._terminals(view, params))
        if findings:
            return Verdict.of(*findings)
        return Verdict.of(*self._net(Connectivity(view), params), *self._stages(view, params))

    def _terminals(self, view: LayoutView, params: AntennaRatioParams) -> Iterator[Finding]:
        channel = view.region(params.poly) & view.region(params.diff)
        if not (channel ^ db.Region(params.gate.to_db())).is_empty():
            poly, diff = view.describe(params.poly), view.describe(params.diff)
            message = f"{poly} and {diff} overlap elsewhere than on exactly the gate"
            yield Finding(rule=self.name, message=message, layer=params.poly, place=params.gate)
        if not (db.Region(params.driver.to_db()) - view.region(params.driver_layer)).is_empty():
            message = f"{view.describe(params.driver_layer)} does not cover the driver"
            yield Finding(rule=self.name, message=message, layer=params.driver_layer, place=params.driver)

    def _net(self, whole: Connectivity, params: AntennaRatioParams) -> Iterator[Finding]:
        apart, joined = whole.separate, whole.joined
        if not apart.at(params.poly, params.gate) & apart.at(params.driver_layer, params.driver):
            message = "the net is open: the gate is not connected with the driver"
            yield Finding(rule=self.name, message=message, place=params.driver)
        for number in joined.at(params.poly, params.gate):
            reached = joined.shapes[number].get(params.diff)
            if reached is not None:
                message = f"the gate's net reaches {whole.view.describe(params.diff)}"
                place = Rect.from_db(reached.bbox())
                yield Finding(rule=self.name, message=message, layer=params.diff, place=place)

    def _stages(self, view: LayoutView, params: AntennaRatioParams) -> Iterator[Finding]:
        gate_area = int(params.gate.to_db().area())
        for stage in stages(view, params.poly):
            counted = stage.metals if params.cumulative else stage.metals[-1:]
            connectivity = Connectivity(replace(view, technology=stage.technology))
            # Whichever reading of corners puts more on the gate, or less between gate and driver.
            readings = (connectivity.joined, connectivity.separate)
            area = max(metal_area(nets, params, counted) for nets in readings)
            if area > params.max_ratio * gate_area:
                named = " and ".join(view.describe(layer) for layer in counted)
                yield Finding(
                    rule=self.name,
                    message=f"before anything above {view.describe(stage.metals[-1])} connects it, the gate has "
                    f"{area} dbu² of {named}, {area / gate_area:.1f} times its own area; at most {params.max_ratio}",
                    layer=stage.metals[-1],
                    measured=area,
                    required=params.max_ratio * gate_area,
                    place=params.gate,
                )

    def witness(self, params: AntennaRatioParams, bench: Bench) -> Drawing:
        return _plan(params, bench).drawing

    def negatives(self, params: AntennaRatioParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        return antenna_negatives(_plan(params, bench))

    def variants(self, params: AntennaRatioParams) -> frozenset[str]:
        # Gate and driver are places.
        return REDRAWN


def stages(view: LayoutView, poly: Layer) -> Iterator[Stage]:
    """From the first conductor above poly up; those that are not drawn are left out."""
    technology, metals = view.technology, conductors_above(poly, view.technology)
    for number, metal in enumerate(metals, 1):
        if not view.region(metal).is_empty():
            higher = set(metals[number:])
            connections = tuple(one for one in technology.connections if higher.isdisjoint((one.bottom, one.top)))
            yield Stage(metals[:number], technology.model_copy(update={"connections": connections}))


def conductors_above(layer: Layer, technology: Technology) -> tuple[Layer, ...]:
    """Each with the next one above it that a cut joins with it."""
    upward = {one.bottom: one.top for one in reversed(technology.connections) if one.cut is not None}
    found: tuple[Layer, ...] = ()
    while layer in upward:
        layer = upward.pop(layer)
        found += (layer,)
    return found


def metal_area(nets: Nets, params: AntennaRatioParams, counted: tuple[Layer, ...]) -> int:
    """What is on the gate, in dbu²; nothing where the driver is on the net."""
    found = nets.at(params.poly, params.gate) - nets.at(params.driver_layer, params.driver)
    return sum(
        int(nets.shapes[number][layer].merged().area())
        for number in found
        for layer in counted
        if layer in nets.shapes[number]
    )


def _plan(params: AntennaRatioParams, bench: Bench) -> AntennaPlan:
    return AntennaPlan(
        params.gate.to_db(),
        params.driver.to_db(),
        params.driver_layer,
        params.poly,
        params.diff,
        params.max_ratio,
        params.cumulative,
        bench.technology,
    )


CHECKER = AntennaRatio()
