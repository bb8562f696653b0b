"""Routes for a connectivity intent, as rectangles of which it is known what touches what."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import klayout.db as db
from iclayout_checkers.layouts import Shapes

from pytest_iclayout.geometry.intent import IntentNet, Terminal
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Connection, Technology

_LEAST_WIDTH = 2
"""dbu; of an odd width half would fall off the grid."""
_MAX_LOOKS = 5000
"""Routes that are looked at, for all nets together, before giving up."""


@dataclass(frozen=True)
class Route:
    """One net's rectangles: ``stacks`` a terminal (pads and cuts on its place), ``wires`` between these."""

    net: IntentNet
    stacks: tuple[tuple[tuple[Layer, db.Box], ...], ...]
    wires: tuple[tuple[Layer, db.Box], ...]

    @property
    def shapes(self) -> Shapes:
        return [*self.wires, *(shape for stack in self.stacks for shape in stack)]

    @property
    def layers(self) -> frozenset[Layer]:
        return frozenset(layer for layer, _ in self.shapes)


class Router:
    """Routes nets on the conductors of a technology and knows which rectangles conduct to each other."""

    def __init__(self, technology: Technology) -> None:
        self._connections = technology.connections
        self._joined: set[frozenset[Layer]] = set()
        for one in technology.connections:
            pairs = ((one.bottom, one.top),) if one.cut is None else ((one.bottom, one.cut), (one.cut, one.top))
            self._joined.update(frozenset(pair) for pair in pairs)
        named = technology.layer_named
        self._interrupting = {frozenset((named(layer), named(by))) for layer, by in technology.cut_by.items()}
        self.conductors = sorted({layer for one in technology.connections for layer in (one.bottom, one.top)})

    def joins(self, layer: Layer, other: Layer) -> bool:
        """Whether overlapping shapes of two layers conduct to each other."""
        return layer == other or frozenset((layer, other)) in self._joined

    def conducts(self, one: tuple[Layer, db.Box], other: tuple[Layer, db.Box], corners: bool = False) -> bool:
        """Whether two rectangles conduct to each other: by an area on two layers, by a stretch of an
        edge on one layer, there with ``corners`` by a corner, too."""
        shared = one[1] & other[1]
        if shared.empty() or not self.joins(one[0], other[0]):
            return False
        if one[0] != other[0]:
            return shared.area() > 0
        return corners or shared.width() > 0 or shared.height() > 0

    def is_open(self, net: IntentNet, shapes: Shapes, corners: bool = False) -> bool:
        """Whether no group of rectangles that conduct to each other is at all terminals of the net.

        That diffusion does not conduct under poly is left out: what is open here is open there too.
        """
        first, *others = net.terminals
        left = [shape for shape in shapes if _is_at(shape, first)]
        while left:
            group = self._group(left[0], shapes, corners)
            if all(any(_is_at(shape, terminal) for shape in group) for terminal in others):
                return False
            left = [shape for shape in left if not any(shape is one for one in group)]
        return True

    def plan(self, nets: Sequence[IntentNet]) -> list[Route]:
        """Routes for all nets that touch each other nowhere, not at their terminals either.

        Raises ValueError for a terminal that is not on a conductor, and when no plan is found among the
        simple routes: a trunk on one layer with straight branches.
        """
        self._looks = 0
        plan = self._extended([], nets)
        if plan is None:
            names = ", ".join(net.name for net in nets)
            raise ValueError(f"intent: no witness found: the nets {names} cannot be routed apart by straight trunks")
        return plan

    def _extended(self, plan: list[Route], nets: Sequence[IntentNet]) -> list[Route] | None:
        if len(plan) == len(nets):
            return plan
        for route in self.routes(nets[len(plan)]):
            self._looks += 1
            if self._looks > _MAX_LOOKS:
                return None
            if all(self._are_apart(route, earlier) for earlier in plan):
                whole = self._extended([*plan, route], nets)
                if whole is not None:
                    return whole
        return None

    def _are_apart(self, route: Route, other: Route) -> bool:
        there = other.shapes + _terminals(other.net)
        here = route.shapes + _terminals(route.net)
        return not self.interrupts(here, there) and not any(
            one[1].touches(two[1]) and self.joins(one[0], two[0]) for one in here for two in there
        )

    def interrupts(self, shapes: Shapes, others: Shapes) -> bool:
        """Whether a conductor of one group meets what interrupts it in the other, as poly does diffusion."""
        return any(
            frozenset((one[0], two[0])) in self._interrupting and one[1].touches(two[1])
            for one in shapes
            for two in others
        )

    def routes(self, net: IntentNet) -> Iterator[Route]:
        """Ways to connect a net: on each conductor, along x first or along y first, wide or narrow."""
        own = list(dict.fromkeys(terminal.layer for terminal in net.terminals))
        for terminal in net.terminals:
            if terminal.layer not in self.conductors:
                raise ValueError(
                    f"intent: terminal {terminal.name!r} of net {net.name!r} is on layer {terminal.layer}, "
                    f"which is no conductor; conductors are {', '.join(map(str, self.conductors))}"
                )
        sides = [min(box.width(), box.height()) for box in (one.region.to_db() for one in net.terminals)]
        widths = dict.fromkeys((max(min(sides), _LEAST_WIDTH), _LEAST_WIDTH))
        layers = [*own, *(layer for layer in self.conductors if layer not in own)]
        for width, layer, x_first in product(widths, layers, (True, False)):
            route = self._route(net, layer, width, x_first)
            if route is not None and not self.interrupts(route.shapes, route.shapes):
                yield route

    def _route(self, net: IntentNet, layer: Layer, width: int, x_first: bool) -> Route | None:
        """All wires on one layer: a trunk through the first terminal, and from it a branch to every other."""
        stacks: list[tuple[tuple[Layer, db.Box], ...]] = []
        for terminal in net.terminals:
            steps = self._steps(terminal.layer, layer)
            if steps is None:
                return None
            stacks.append(tuple(_stack(terminal, layer, steps, width)))
        places = [_place(terminal) for terminal in net.terminals]
        wires = [(layer, box) for box in _comb(places, width, x_first)]
        return Route(net, tuple(stacks), tuple(wires))

    def _steps(self, start: Layer, goal: Layer) -> list[Connection] | None:
        """The shortest chain of connections between two conductors, None when there is none."""
        known: dict[Layer, list[Connection]] = {start: []}
        waiting = deque([start])
        while waiting:
            here = waiting.popleft()
            if here == goal:
                return known[here]
            for one in self._connections:
                for layer, other in ((one.bottom, one.top), (one.top, one.bottom)):
                    if layer == here and other not in known:
                        known[other] = [*known[here], one]
                        waiting.append(other)
        return None

    def _group(self, start: tuple[Layer, db.Box], shapes: Shapes, corners: bool) -> Shapes:
        """Everything that the first shape conducts to, itself included."""
        group, rest = [start], [shape for shape in shapes if shape is not start]
        for reached in group:
            joined = [shape for shape in rest if self.conducts(reached, shape, corners)]
            group += joined
            rest = [shape for shape in rest if not any(shape is one for one in joined)]
        return group


def _terminals(net: IntentNet) -> Shapes:
    return [(terminal.layer, terminal.region.to_db()) for terminal in net.terminals]


def _is_at(shape: tuple[Layer, db.Box], terminal: Terminal) -> bool:
    return shape[0] == terminal.layer and (shape[1] & terminal.region.to_db()).area() > 0


def _place(terminal: Terminal) -> tuple[int, int]:
    box = terminal.region.to_db()
    return (box.left + box.right) // 2, (box.bottom + box.top) // 2


def _around(place: tuple[int, int], width: int) -> db.Box:
    low, high = width // 2, width - width // 2
    return db.Box(place[0] - low, place[1] - low, place[0] + high, place[1] + high)


def _stack(terminal: Terminal, goal: Layer, steps: list[Connection], width: int) -> Iterator[tuple[Layer, db.Box]]:
    pad = _around(_place(terminal), max(width, 4) if steps else width)
    here = terminal.layer
    yield here, pad
    for step in steps:
        if step.cut is not None:
            yield step.cut, pad.enlarged(-1, -1)
        here = step.top if step.bottom == here else step.bottom
        yield here, pad


def _comb(places: list[tuple[int, int]], width: int, x_first: bool) -> Iterator[db.Box]:
    if not x_first:
        for box in _comb([(y, x) for x, y in places], width, True):
            yield db.Box(box.bottom, box.left, box.top, box.right)
        return
    across = places[0][1]
    trunk = [_around((x, across), width) for x, _ in places]
    whole = db.Box()
    for box in trunk:
        whole += box
    if whole.width() > width:
        yield whole
    for place, foot in zip(places, trunk, strict=True):
        if place[1] != across:
            yield foot + _around(place, width)
