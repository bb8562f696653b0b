"""Layouts that break a connectivity intent, made from routes that fulfil it.

Each is known to be broken from its rectangles alone (``Router.is_open``), not from what the checker says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, product

import klayout.db as db
from iclayout_checkers.layouts import Shapes
from iclayout_checkers.routing import Route, Router

from pytest_iclayout.geometry.intent import ForbiddenPair, IntentNet, Terminal
from pytest_iclayout.technology.models import Technology

Cut = Callable[[db.Box, int], list[db.Box]]
"""Takes a wire along x apart at permille of its length; nothing where it is too short."""

_ENDS = 4
"""Pairs of terminals of two nets that are joined."""
_BRIDGES = 2
"""Ways to join the same two terminals."""
_PLACES = (0, 90, 333, 500, 777, 1000)
"""Permille along a wire at which it is cut."""


def broken_nets(router: Router, plan: list[Route], technology: Technology) -> dict[str, list[Shapes]]:
    """Layouts in which one net is open, by net and by what is wrong."""
    found: dict[str, list[Shapes]] = {}
    for route in plan:
        name = route.net.name
        others = [shape for other in plan if other is not route for shape in other.shapes]
        found[f"{name}_missing"] = [others]
        for terminal in route.net.terminals:
            found[f"{name}_{terminal.name}_only_touched"] = [others + _clear_of(route.shapes, terminal, 0)]
            missed = others + _clear_of(route.shapes, terminal, 1)
            found[f"{name}_{terminal.name}_missed_by_one_dbu"] = [missed]
            # What the gap has cut apart is joined again around it: all other terminals stay connected.
            found[f"{name}_{terminal.name}_bypassed"] = [missed + _ring_around(terminal)]
        if len(route.net.terminals) > 1:
            ways = {
                "wires_missing": [_of_stacks(route)],
                "wires_on_the_wrong_layer": _on_other_layers(router, route, technology),
                "wire_with_a_gap_of_one_dbu": list(_with_wires_cut(route, _gap)),
                "wire_that_hangs_together_by_a_corner": list(_with_wires_cut(route, _corner)),
                "cut_missing": list(_without_a_cut(route)),
                "cut_that_only_touches": list(_with_a_cut_beside(route)),
            }
            # Nets are routed apart: what is open by its own shapes is open beside the others, too.
            for what, layouts in ways.items():
                found[f"{name}_{what}"] = [others + shapes for shapes in layouts if router.is_open(route.net, shapes)]
    return found


def shorted_pairs(router: Router, plan: list[Route], forbidden: Iterable[ForbiddenPair]) -> dict[str, list[Shapes]]:
    """Layouts in which a forbidden pair is joined, by a bridge or by shapes that meet in a corner."""
    routes = {route.net.name: route for route in plan}
    shapes = [shape for route in plan for shape in route.shapes]
    found: dict[str, list[Shapes]] = {}
    for pair in forbidden:
        name, one, other = f"{pair.net_a}_and_{pair.net_b}", routes[pair.net_a], routes[pair.net_b]
        ends = islice(product(one.net.terminals, other.net.terminals), _ENDS)
        bridges = [route for two in ends for route in islice(_bridges(router, two, shapes), _BRIDGES)]
        found[f"{name}_bridged"] = [shapes + route.shapes for route in bridges]
        found[f"{name}_meet_in_a_corner"] = [
            shapes + cut
            for route in bridges
            for cut in _with_wires_cut(route, _corner)
            if router.is_open(route.net, both := one.shapes + other.shapes + cut)
            and not router.is_open(route.net, both, corners=True)
        ]
    return found


def _bridges(router: Router, ends: tuple[Terminal, Terminal], shapes: Shapes) -> Iterator[Route]:
    """Routes that join two terminals, and that nothing of ``shapes`` interrupts."""
    for route in router.routes(IntentNet(name="bridge", terminals=ends)):
        if not router.interrupts(route.shapes, shapes):
            yield route


def _of_stacks(route: Route) -> Shapes:
    return [shape for stack in route.stacks for shape in stack]


def _on_other_layers(router: Router, route: Route, technology: Technology) -> list[Shapes]:
    """The wires on layers that conduct to none of the net's."""
    layers = [
        entry.layer for entry in technology.layers if not any(router.joins(entry.layer, used) for used in route.layers)
    ]
    return [_of_stacks(route) + [(layer, box) for _, box in route.wires] for layer in layers]


def _with_wires_cut(route: Route, cut: Cut) -> Iterator[Shapes]:
    for number, (layer, box) in enumerate(route.wires):
        rest = [*route.wires[:number], *route.wires[number + 1 :], *_of_stacks(route)]
        for permille in _PLACES:
            if box.width() >= box.height():
                pieces = cut(box, permille)
            else:
                pieces = [_transposed(piece) for piece in cut(_transposed(box), permille)]
            if pieces:
                yield rest + [(layer, piece) for piece in pieces]


def _gap(box: db.Box, permille: int) -> list[db.Box]:
    """Two pieces, one dbu apart."""
    if box.width() < 3:
        return []
    x = box.left + 1 + (box.width() - 3) * permille // 1000
    return [db.Box(box.left, box.bottom, x, box.top), db.Box(x + 1, box.bottom, box.right, box.top)]


def _corner(box: db.Box, permille: int) -> list[db.Box]:
    """Two pieces, each with a tab of half its width, one dbu long; the tabs meet in a corner."""
    if box.width() < 4:
        return []
    x, y = box.left + 1 + (box.width() - 4) * permille // 1000, box.center().y
    return [
        db.Box(box.left, box.bottom, x, box.top),
        db.Box(x, y, x + 1, box.top),
        db.Box(x + 1, box.bottom, x + 2, y),
        db.Box(x + 2, box.bottom, box.right, box.top),
    ]


def _transposed(box: db.Box) -> db.Box:
    return db.Box(box.bottom, box.left, box.top, box.right)


def _clear_of(shapes: Shapes, terminal: Terminal, gap: int) -> Shapes:
    """The shapes less what lies over a terminal, and less a frame of ``gap`` dbu around it."""
    hole = terminal.region.to_db().enlarged(gap, gap)
    result: Shapes = []
    for layer, box in shapes:
        if layer != terminal.layer:
            result.append((layer, box))
            continue
        rest = db.Region(box) - db.Region(hole)
        result += [(layer, piece.bbox()) for piece in rest.decompose_trapezoids_to_region().each()]
    return result


def _ring_around(terminal: Terminal) -> Shapes:
    """A frame on the terminal's layer, one dbu away from it."""
    hole = terminal.region.to_db().enlarged(1, 1)
    outside = hole.enlarged(2, 2)
    return [
        (terminal.layer, db.Box(outside.left, outside.bottom, outside.right, hole.bottom)),
        (terminal.layer, db.Box(outside.left, hole.top, outside.right, outside.top)),
        (terminal.layer, db.Box(outside.left, outside.bottom, hole.left, outside.top)),
        (terminal.layer, db.Box(hole.right, outside.bottom, outside.right, outside.top)),
    ]


def _without_a_cut(route: Route) -> Iterator[Shapes]:
    for stack in route.stacks:
        for cut in stack[1::2]:
            yield [shape for shape in route.shapes if shape is not cut]


def _with_a_cut_beside(route: Route) -> Iterator[Shapes]:
    """A cut moved until it touches an edge of its pads from outside."""
    for stack in route.stacks:
        for cut in stack[1::2]:
            (layer, box), pad = cut, stack[0][1]
            for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                beside = box.moved(dx * (pad.width() - 1), dy * (pad.height() - 1))
                yield [*(shape for shape in route.shapes if shape is not cut), (layer, beside)]
