"""A gate and the wire to its driver: up to the driver's metal beside the gate, and astray in several ways."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import NamedTuple

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Points, Shapes, polygon_of_area, sketch_of, unplaced

from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Technology

_CUT = 170
_PAD = 330
"""dbu; the side of pads and the width of wires: a cut with 80 dbu on every side."""


class AntennaPlan(NamedTuple):
    """Where gate and driver are, in dbu, and how much metal the gate bears."""

    gate: db.Box
    driver: db.Box
    driver_layer: Layer
    poly: Layer
    diff: Layer
    max_ratio: int
    cumulative: bool
    technology: Technology

    @property
    def stack(self) -> list[tuple[Layer, Layer]]:
        """Cuts and conductors from poly up to the driver's. Raises ValueError where that is not above poly."""
        found: list[tuple[Layer, Layer]] = []
        below = self.poly
        while not found or found[-1][1] != self.driver_layer:
            above = next((c for c in self.technology.connections if c.bottom == below and c.cut is not None), None)
            if above is None or above.cut is None:
                raise ValueError(f"no cuts lead from {self.poly} to the driver's layer, {self.driver_layer}")
            found.append((above.cut, above.top))
            below = above.top
        return found

    @property
    def metals(self) -> list[Layer]:
        """Conductors above poly and below the driver's: those that are limited."""
        return [metal for _, metal in self.stack[:-1]]

    @property
    def limit(self) -> int:
        """dbu² of metal."""
        return self.max_ratio * int(self.gate.area())

    @property
    def pad(self) -> db.Box:
        """Beyond the end of the gate."""
        x, y = self.gate.center().x - _PAD // 2, self.gate.top + 300
        return db.Box(x, y, x + _PAD, y + _PAD)

    @property
    def transistor(self) -> Shapes:
        gate, pad = self.gate, self.pad
        return [
            (self.diff, db.Box(gate.left - 500, gate.bottom, gate.right + 500, gate.top)),
            (self.poly, db.Box(gate.left, gate.bottom - 200, gate.right, pad.top)),
            (self.poly, pad),
        ]

    @property
    def cuts(self) -> Shapes:
        return [(cut, _square(self.pad.center(), _CUT)) for cut, _ in self.stack]

    @property
    def pads(self) -> Shapes:
        return [(metal, self.pad) for _, metal in self.stack]

    @property
    def wire(self) -> Shapes:
        """On the driver's layer: along x at the pad, then along y to the driver."""
        bars = [(self.driver_layer, box) for box in self.bars(self.pad.center(), self.driver.center())]
        return [*bars, (self.driver_layer, self.driver)]

    def bars(self, start: db.Point, end: db.Point) -> list[db.Box]:
        half = _PAD // 2
        along = db.Box(min(start.x, end.x) - half, start.y - half, max(start.x, end.x) + half, start.y + half)
        return [along, db.Box(end.x - half, min(start.y, end.y) - half, end.x + half, max(start.y, end.y) + half)]

    @property
    def shapes(self) -> Shapes:
        """Raises ValueError where pads alone are too much, or the driver is too near."""
        distance = abs(self.driver.center().x - self.pad.center().x)
        if distance < 5000 + self.driver.width():
            raise ValueError(f"gate and driver are {distance} dbu apart along x, which is no long wire")
        pads = int(self.pad.area()) * (len(self.metals) if self.cumulative else 1)
        if pads > self.limit:
            raise ValueError(f"pads of {pads} dbu² are more than the gate bears, {self.limit} dbu²")
        return [*self.transistor, *self.cuts, *self.pads, *self.wire]

    @property
    def drawing(self) -> Drawing:
        """With exactly as much metal as the gate bears: on each conductor, or on the uppermost where all count."""
        sketch = sketch_of(self.shapes)
        for metal in self.metals[-1:] if self.cumulative else self.metals:
            if self.room(metal) > 0:
                sketch.polygon(metal, self.plate(self.room(metal), isqrt(self.room(metal))))
        return sketch.drawing

    def without(self, shape: tuple[Layer, db.Box]) -> Shapes:
        return [one for one in self.shapes if one != shape]

    def room(self, metal: Layer) -> int:
        """dbu² that may be added on a metal; all lower ones have their pads."""
        count = self.metals.index(metal) + 1 if self.cumulative else 1
        return self.limit - count * int(self.pad.area())

    def with_area(self, metal: Layer, area: int, width: int, corner: bool = False) -> Drawing:
        """A plate of ``area`` dbu² to the side of the pad, abutting it or meeting it in a corner only."""
        return sketch_of(self.shapes).polygon(metal, self.plate(area, width, corner)).drawing

    def plate(self, area: int, width: int, corner: bool = False) -> Points:
        up = self.pad.top if corner else self.pad.bottom
        return [(self.pad.right + x, up + y) for x, y in polygon_of_area(area, width)]

    def low_wire(self, metal: Layer) -> Shapes:
        """The wire on a lower metal as far as the driver, and up to the driver's layer there."""
        above = [layers for layers in self.stack if layers[1] not in self.metals[: self.metals.index(metal) + 1]]
        end = self.driver.center()
        around = _square(end, _PAD)
        shapes = [*self.transistor, *self.cuts, *self.pads, (self.driver_layer, self.driver)]
        shapes += [(metal, box) for box in self.bars(self.pad.center(), end)]
        shapes += [(cut, _square(end, _CUT)) for cut, _ in above] + [(upper, around) for _, upper in above]
        return shapes


def antenna_negatives(plan: AntennaPlan) -> dict[str, SearchStrategy[Drawing]]:
    shapes, wire = plan.shapes, plan.wire
    by = st.sampled_from([(0, 0, 1, 0), (0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0)])
    diff, poly = plan.transistor[0], plan.transistor[1]
    bar, at = wire[0], plan.pad.right + 1000 if wire[0][1].right > plan.pad.right + 2000 else plan.pad.left - 1000

    def drawn(candidates: Shapes, change: Callable[[tuple[Layer, db.Box]], Shapes]) -> SearchStrategy[Drawing]:
        return st.sampled_from(candidates).map(lambda one: sketch_of(change(one)).drawing)

    def smaller(layer: Layer, old: db.Box, by: tuple[int, int, int, int]) -> Drawing:
        """A gate that loses a line of a dbu on one side."""
        left, bottom, right, top = by
        new = db.Box(old.left + left, old.bottom + bottom, old.right - right, old.top - top)
        return sketch_of([*plan.without((layer, old)), (layer, new)]).drawing

    low, high = db.Box(bar[1].left, bar[1].bottom, at, bar[1].top), db.Box(at, bar[1].bottom, bar[1].right, bar[1].top)
    middle = bar[1].center().y
    corners = [
        (bar[0], db.Box(low.left, low.bottom, at, middle)),
        (bar[0], db.Box(at, middle, high.right, high.top)),
    ]
    lost = plan.without(bar)
    away = db.Box(plan.driver.left, plan.driver.bottom, plan.driver.right - 1, plan.driver.top)
    near = plan.pad.moved(-2 * _PAD, 0)
    diode = (
        [
            (plan.diff, near),
            (plan.stack[0][0], _square(near.center(), _CUT)),
            (plan.metals[0], near + plan.pad),
        ]
        if plan.metals
        else []
    )
    found = {
        "nothing_drawn": st.just(Sketch().drawing),
        "only_in_a_cell_that_is_not_placed": st.just(unplaced(plan.drawing)),
        "cut_missing": drawn(plan.cuts, plan.without),
        "wire_missing": st.just(sketch_of([one for one in shapes if one not in wire[:-1]]).drawing),
        "wire_with_a_gap_of_one_dbu": st.just(
            sketch_of([*lost, (bar[0], low), (bar[0], db.Box(at + 1, high.bottom, high.right, high.top))]).drawing
        ),
        "wire_that_hangs_together_by_a_corner": st.just(sketch_of([*lost, *corners]).drawing),
        "driver_not_covered_by_a_dbu": st.just(sketch_of([*plan.without(wire[-1]), (plan.driver_layer, away)]).drawing),
        "gate_lower_by_a_dbu": st.builds(
            lambda by: smaller(diff[0], diff[1], by), st.sampled_from([(0, 1, 0, 0), (0, 0, 0, 1)])
        ),
        "gate_shorter_by_a_dbu": st.builds(
            lambda by: smaller(poly[0], poly[1], by), st.sampled_from([(1, 0, 0, 0), (0, 0, 1, 0)])
        ),
        "gate_larger_by_a_dbu": st.builds(
            lambda by: (
                sketch_of(
                    [
                        *shapes,
                        *(
                            (
                                layer,
                                db.Box(
                                    plan.gate.left - by[0],
                                    plan.gate.bottom - by[1],
                                    plan.gate.right + by[2],
                                    plan.gate.top + by[3],
                                ),
                            )
                            for layer in (plan.diff, plan.poly)
                        ),
                    ]
                ).drawing
            ),
            by,
        ),
        "no_gate": drawn([diff, poly], plan.without),
        "another_gate": st.integers(1000, 100_000).map(
            lambda up: (
                sketch_of(
                    [
                        *shapes,
                        *((layer, plan.gate.moved(0, -up - plan.gate.height())) for layer in (plan.diff, plan.poly)),
                    ]
                ).drawing
            )
        ),
    }
    if diode:
        found["diffusion_on_the_net"] = st.just(sketch_of([*shapes, *diode]).drawing)
    for metal in plan.metals:
        name, room = plan.technology.name_of(metal), plan.room(metal)
        width = st.integers(_PAD, 5000)
        found[f"a_dbu2_too_much_{name}"] = st.builds(
            lambda width, metal, room: plan.with_area(metal, room + 1, width), width, st.just(metal), st.just(room)
        )
        found[f"too_much_{name}_at_a_corner"] = st.builds(
            lambda width, metal, room: plan.with_area(metal, room + 1, width, corner=True),
            width,
            st.just(metal),
            st.just(room),
        )
        if sum(box.area() for box in plan.bars(plan.pad.center(), plan.driver.center())) > room + 3 * _PAD * _PAD:
            found[f"long_wire_on_{name}"] = st.just(sketch_of(plan.low_wire(metal)).drawing)
    return found


def _square(centre: db.Point, side: int) -> db.Box:
    left, bottom = centre.x - side // 2, centre.y - side // 2
    return db.Box(left, bottom, left + side, bottom + side)
