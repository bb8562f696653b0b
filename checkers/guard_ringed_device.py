"""guard_ringed_device: transistors within a closed ring of body contacts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.device_netlist import wrong_devices
from iclayout_checkers.device_params import DeviceParams
from iclayout_checkers.guard_layouts import GuardPlan
from iclayout_checkers.guard_negatives import guard_negatives, rule_breaking
from iclayout_checkers.layouts import holes, separate_polygons
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.drc.engine import run_rules_on
from pytest_iclayout.geometry.connectivity import Connectivity, Nets
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.mos_extraction import MosExtraction
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer, LayerRef


class GuardRingedDeviceParams(DeviceParams):
    """All transistors of the netlist are of one kind, and their bodies are on one pin: the net of the ring."""

    reach: Annotated[int, Field(ge=100, le=100_000, strict=True)] | None = None
    """How far from a contact the ring may go on, in dbu along x and along y; None: one contact is enough."""
    exit: LayerRef | None = None
    """The layer on which the other pins' nets reach beyond the ring; None: they need not."""
    contact: LayerRef = Layer(layer=66, datatype=44)
    metal: LayerRef = Layer(layer=67, datatype=20)
    rules: bool = False
    """Whether the rule set in force decides too."""

    @model_validator(mode="after")
    def _has_one_body(self) -> GuardRingedDeviceParams:
        devices = self.reference.devices
        if len({one.kind for one in devices}) > 1:
            raise ValueError("netlist: a ring is around transistors of one kind, not around NMOS and PMOS")
        bodies = {one.body for one in devices}
        if len(bodies) > 1 or not bodies <= set(self.reference.pins):
            raise ValueError("netlist: the bodies of all transistors must be on one pin, the net of the ring")
        if len({*self.layers, self.contact, self.metal}) < len(self.layers) + 2:
            raise ValueError("contact and metal are layers of their own")
        return self

    @property
    def kind(self) -> str:
        return self.reference.devices[0].kind

    @property
    def ring(self) -> str:
        """The net of the ring."""
        return self.reference.devices[0].body


class GuardRingedDevice:
    """The transistors of the netlist, and around all of them one closed ring on which tap and metal lie over each
    other, joined by contacts.  The ring's metal is on the net of the bodies without the help of tap or well.
    """

    name = "guard_ringed_device"
    params_model = GuardRingedDeviceParams

    def check(self, view: LayoutView, params: GuardRingedDeviceParams) -> Verdict:
        extraction = MosExtraction(view, params.layers, params.reference.pins)
        return Verdict.of(
            *wrong_devices(self.name, extraction, params),
            *self._unguarded(extraction, params),
            *(run_rules_on(view, view.rules) if params.rules else ()),
        )

    def _unguarded(self, extraction: MosExtraction, params: GuardRingedDeviceParams) -> list[Finding]:
        # A gate crosses its diffusion, and cannot leave the ring from there: tap that touches poly is a flaw.
        view, devices = extraction.view, extraction.diffusion
        if devices.is_empty():
            return []  # which is a wrong device already
        levels = [_taps(extraction, params), view.region(params.metal)]
        rings = _rings_around(levels[0] & levels[1], devices)
        if not rings:
            return [self._not_closed(view, params, levels, devices)]
        pins = frozenset(params.reference.pins)
        by_metal = Connectivity(_without_bodies(view, params), pins).separate
        nets = Connectivity(view, pins).separate
        # Of several rings, one within the other, a single one must be right.
        return min((list(self._flaws(view, params, ring, by_metal, nets)) for ring in rings), key=len)

    def _not_closed(
        self, view: LayoutView, params: GuardRingedDeviceParams, levels: list[db.Region], devices: db.Region
    ) -> Finding:
        tap, metal = view.describe(params.layers.tap), view.describe(params.metal)
        what = "the substrate" if params.kind == "NMOS" else "the well of the transistors"
        named = (f"{tap} that contacts {what}", metal)
        none = [name for name, level in zip(named, levels, strict=True) if not _rings_around(level, devices)]
        message = (
            f"no closed ring of {' and none of '.join(none)} is around all transistors"
            if none
            else f"{tap} and {metal} do not lie over each other all around the transistors"
        )
        return Finding(rule=self.name, message=message, layer=params.layers.tap, place=Rect.from_db(devices.bbox()))

    def _flaws(
        self, view: LayoutView, params: GuardRingedDeviceParams, ring: db.Polygon, by_metal: Nets, nets: Nets
    ) -> Iterator[Finding]:
        region = db.Region(ring)
        yield from self._far_from_contacts(view, params, region)
        if all((shapes & region).is_empty() for shapes in _named(by_metal, params.ring, params.metal)):
            message = f"the {view.describe(params.metal)} of the ring is not on net {params.ring}"
            yield Finding(rule=self.name, message=message, layer=params.metal, place=Rect.from_db(ring.bbox()))
        if params.exit is not None:
            yield from self._kept_within(view, params, params.exit, ring, nets)

    def _far_from_contacts(
        self, view: LayoutView, params: GuardRingedDeviceParams, ring: db.Region
    ) -> Iterator[Finding]:
        contacts = view.region(params.contact).inside(ring)
        name = view.describe(params.contact)
        if contacts.is_empty():
            levels = f"{view.describe(params.layers.tap)} and {view.describe(params.metal)}"
            message = f"no shape of {name} lies within both {levels} of the ring"
            yield Finding(rule=self.name, message=message, layer=params.contact, place=Rect.from_db(ring.bbox()))
        elif params.reach is not None:
            near = contacts.minkowski_sum(db.Box(2 * params.reach))
            for place in separate_polygons(ring - near):
                message = f"the ring goes on here farther than {params.reach} dbu from every contact on {name}"
                yield Finding(rule=self.name, message=message, layer=params.contact, place=Rect.from_db(place.bbox()))

    def _kept_within(
        self, view: LayoutView, params: GuardRingedDeviceParams, layer: Layer, ring: db.Polygon, nets: Nets
    ) -> Iterator[Finding]:
        inside = db.Region(db.Polygon(list(ring.each_point_hull())))
        for pin in params.reference.pins:
            if pin != params.ring and all((shapes - inside).is_empty() for shapes in _named(nets, pin, layer)):
                message = f"net {pin} has no {view.describe(layer)} beyond the ring"
                yield Finding(rule=self.name, message=message, layer=layer, place=Rect.from_db(ring.bbox()))

    def witness(self, params: GuardRingedDeviceParams, bench: Bench) -> Drawing:
        return _plan(params, bench).witness.drawing

    def negatives(self, params: GuardRingedDeviceParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        plan = _plan(params, bench)
        found = guard_negatives(plan, params.tolerance, leaving=params.exit is not None)
        return found | rule_breaking(plan, bench) if params.rules else found

    def variants(self, params: GuardRingedDeviceParams) -> frozenset[str]:
        return MOVED


def _taps(extraction: MosExtraction, params: GuardRingedDeviceParams) -> db.Region:
    """Those that contact the substrate or, for PMOS, the one well that all transistors are in."""
    in_well, in_substrate = extraction.taps
    if params.kind == "NMOS":
        return in_substrate
    wells = map(db.Region, separate_polygons(extraction.view.region(params.layers.nwell)))
    return next((in_well & one for one in wells if (extraction.diffusion - one).is_empty()), db.Region())


def _rings_around(region: db.Region, devices: db.Region) -> list[db.Polygon]:
    """The polygons in whose holes all of the devices lies.  What closes by a corner only is open."""
    return [one for one in separate_polygons(region) if (devices - db.Region(holes(one))).is_empty()]


def _named(nets: Nets, pin: str, layer: Layer) -> list[db.Region]:
    """The shapes on a layer of each net that bears a pin's name.  One that bears two names is a short already."""
    both = zip(nets.names, nets.shapes, strict=True)
    return [shapes[layer] for name, shapes in both if name == pin and layer in shapes]


def _without_bodies(view: LayoutView, params: GuardRingedDeviceParams) -> LayoutView:
    """The view in a technology in which tap conducts to nothing: what is joined there, is joined by metal."""
    technology = view.technology
    kept = tuple(one for one in technology.connections if params.layers.tap not in (one.bottom, one.top))
    return replace(view, technology=technology.model_copy(update={"connections": kept}))


def _plan(params: GuardRingedDeviceParams, bench: Bench) -> GuardPlan:
    plan = GuardPlan(params.reference, params.layers, bench.technology, params.finger_width, params.reach)
    stack = plan.stack
    if (stack.licon, stack.li) != (params.contact, params.metal):
        raise ValueError(f"technology {bench.technology.name} does not join tap to {params.metal} by {params.contact}")
    if params.exit not in (None, stack.metal):
        raise ValueError(f"exit: nets leave on {stack.metal}, the second conductor above tap, not on {params.exit}")
    if params.rules and not bench.rules:
        raise ValueError(f"guard_ringed_device: rules: rule set {bench.rule_set} has no rules")
    return plan


CHECKER = GuardRingedDevice()
