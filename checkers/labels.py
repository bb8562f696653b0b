"""labels: the nets of a given layout get their names and pins, and nothing else changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import klayout.db as db
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.given import Label, labels_of, shape_findings, start_of
from iclayout_checkers.given_layouts import Edit, changed_labels, changed_shapes, without_solution
from iclayout_checkers.label_layouts import Named, misplaced_labels, wrong_pins
from iclayout_checkers.layouts import separate_polygons
from iclayout_checkers.probes import PointRef
from pydantic import Field, model_validator

from pytest_iclayout.checking.checker import Bench, Params
from pytest_iclayout.checking.variants import REDRAWN
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.connectivity import Connectivity, Nets
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Point, Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.layers import Layer, LayerRef


class NetLabel(Params):
    """A label that a net of the given layout gets, and its pin."""

    text: Annotated[str, Field(min_length=1, max_length=512)]
    layer: LayerRef
    """Of the label."""
    wire: LayerRef
    """The conductor whose shapes the label must stand on."""
    at: PointRef
    """A point on the net."""
    on: LayerRef | None = None
    """The conductor at that point; ``wire`` where it is not given."""
    pin: LayerRef | None = None
    """The layer of the pin's shape; without it there is none."""


class LabelsParams(Params):
    """``min_pin`` is the least width and height of a pin's shape, dbu."""

    nets: Annotated[tuple[NetLabel, ...], Field(min_length=1, max_length=100)]
    min_pin: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 1

    @model_validator(mode="after")
    def _is_consistent(self) -> LabelsParams:
        wires: dict[Layer, Layer] = {}
        for net in self.nets:
            if wires.setdefault(net.layer, net.wire) != net.wire:
                raise ValueError(f"label layer {net.layer} goes with wires on {wires[net.layer]} and on {net.wire}")
        other = {layer for net in self.nets for layer in (net.layer, net.wire, net.on)}
        if used := sorted(self.pin_layers & {layer for layer in other if layer is not None}):
            raise ValueError(f"pin layer {used[0]} is the layer of labels or wires, too")
        return self

    @property
    def pin_layers(self) -> frozenset[Layer]:
        return frozenset(net.pin for net in self.nets if net.pin is not None)


@dataclass(frozen=True)
class _Wires:
    """The given nets by one reading of corners. Raises ValueError where a point is not on exactly one."""

    nets: Nets

    def number(self, net: NetLabel) -> int:
        layer = net.wire if net.on is None else net.on
        numbers = self.nets.under(net.at, (layer,))
        if len(numbers) != 1:
            raise ValueError(f"at ({net.at.x}, {net.at.y}) are {len(numbers)} nets of layer {layer}, not one")
        (number,) = numbers
        if net.wire not in self.nets.shapes[number]:
            raise ValueError(f"the net at ({net.at.x}, {net.at.y}) has no shape on layer {net.wire}")
        return number

    def region(self, net: NetLabel) -> db.Region:
        return self.nets.shapes[self.number(net)][net.wire]

    def is_on(self, label: Label, net: NetLabel) -> bool:
        """Whether the label is one of this net: on its wire, the outline included, and on no other net's."""
        here = self.nets.under(Point(x=label.x, y=label.y), (net.wire,))
        return (label.layer, label.text) == (net.layer, net.text) and here == {self.number(net)}


class Labels:
    """Each net has one new label of its text on its wire, under it a pin where one is asked for; no other label
    and no other pin is new, and everything that was given is as it was."""

    name = "labels"
    needs_start = needs_solution = True
    params_model = LabelsParams

    def check(self, view: LayoutView, params: LabelsParams) -> Verdict:
        # Labels that are on one net where corners keep nets apart are on one net where they join them.
        wires = _Wires(Connectivity(start_of(view)).separate)
        before, after = labels_of(start_of(view)), labels_of(view)
        new = sorted((after - before).elements())
        places = {net: [label for label in new if wires.is_on(label, net)] for net in params.nets}
        used = Counter(label for labels in places.values() for label in labels)
        return Verdict.of(
            *shape_findings(
                view, self.name, lambda layer, changes: db.Region() if layer in params.pin_layers else changes
            ),
            *(self._label("is gone from its place", label, view) for label in sorted(before - after)),
            *(self._label("names none of the wires", label, view) for label in new if not used[label]),
            *(self._count(net, len(labels), view) for net, labels in places.items()),
            *(
                finding
                for layer in sorted(params.pin_layers)
                for finding in self._pins(view, layer, params, wires, places)
            ),
        )

    def _label(self, what: str, label: Label, view: LayoutView) -> Finding:
        message = f"{view.describe(label.layer)}: label {label.text!r} {what}"
        return Finding(rule=self.name, message=message, layer=label.layer, place=label.place)

    def _count(self, net: NetLabel, count: int, view: LayoutView) -> Finding | None:
        if count == 1:
            return None
        wire = f"the {view.describe(net.wire)} of the net at ({net.at.x}, {net.at.y})"
        message = f"{view.describe(net.layer)}: {count} label(s) {net.text!r} on {wire}, exactly 1 required"
        return Finding(rule=self.name, message=message, layer=net.layer, measured=count, required=1)

    def _pins(
        self,
        view: LayoutView,
        layer: Layer,
        params: LabelsParams,
        wires: _Wires,
        places: Mapping[NetLabel, list[Label]],
    ) -> list[Finding]:
        given, now = start_of(view).region(layer), view.region(layer)
        gone = given - now
        if not gone.is_empty():
            message = f"{view.describe(layer)}: a pin that was given is gone"
            return [Finding(rule=self.name, message=message, layer=layer, place=Rect.from_db(gone.bbox()))]
        pins = separate_polygons(now - given)
        findings = [self._size(view, layer, pin, params.min_pin) for pin in pins if not _is_large(pin, params.min_pin)]
        left = list(pins)
        for net in (one for one in params.nets if one.pin == layer):
            wire = wires.region(net)
            right = [
                pin
                for pin in left
                if (db.Region(pin) - wire).is_empty()
                and any(pin.bbox().contains(db.Point(label.x, label.y)) for label in places[net])
            ]
            left = [pin for pin in left if pin not in right]
            if len(right) != 1:
                message = (
                    f"{view.describe(layer)}: {len(right)} pin(s) {net.text!r} within the wire and under its label"
                )
                findings.append(Finding(rule=self.name, message=f"{message}, exactly 1 required", layer=layer))
        for pin in left:
            message = f"{view.describe(layer)}: a shape is no pin of a wire"
            findings.append(Finding(rule=self.name, message=message, layer=layer, place=Rect.from_db(pin.bbox())))
        return findings

    def _size(self, view: LayoutView, layer: Layer, pin: db.Polygon, least: int) -> Finding:
        message = f"{view.describe(layer)}: a pin must be a rectangle of at least {least} x {least} dbu"
        return Finding(rule=self.name, message=message, layer=layer, place=Rect.from_db(pin.bbox()))

    def witness(self, params: LabelsParams, bench: Bench) -> Drawing:
        """Raises ValueError for points that mark no net, or one net twice for one text."""
        for one in _readings(Edit(bench, ()).view):
            keys = Counter((net.layer, net.text, one.number(net)) for net in params.nets)
            for (_, text, _), times in keys.items():
                if times > 1:
                    raise ValueError(f"label {text!r} is asked for {times} times on one net")
        return bench.solution

    def negatives(self, params: LabelsParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        given, solved = Edit(bench, ()), Edit(bench, bench.solution)
        (nets, *_) = _readings(given.view)
        named = [Named(net.text, net.layer, net.pin, nets.region(net)) for net in params.nets]
        count, old = len(solved.labels), {one.id for one in given.labels}
        return {
            **without_solution(bench, lambda edit: len(edit.labels) < count),
            **changed_labels(bench, stays=lambda label: label.id in old),
            **changed_shapes(bench, params.pin_layers),
            **misplaced_labels(bench, named),
            **wrong_pins(bench, named, params.min_pin),
        }

    def variants(self, params: LabelsParams) -> frozenset[str]:
        return REDRAWN


def _is_large(pin: db.Polygon, least: int) -> bool:
    box = pin.bbox()
    return pin.is_box() and min(box.width(), box.height()) >= least


def _readings(start: LayoutView) -> tuple[_Wires, ...]:
    """The given nets with corner contacts apart, and joined where that makes a difference."""
    connectivity = Connectivity(start)
    apart, joined = connectivity.separate, connectivity.joined
    return tuple(_Wires(one) for one in ((apart,) if joined is apart else (apart, joined)))


CHECKER = Labels()
