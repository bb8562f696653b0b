"""Shapes that break one design rule, by a single dbu where it can be broken so, and keep all others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import isqrt
from typing import NamedTuple

import klayout.db as db
from iclayout_checkers.layouts import Shapes, bounding_box
from iclayout_checkers.legal import LegalShapes

from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Rule, RuleKind

Draw = Callable[[int], Shapes]
"""Draws a shape, varied by a length of 0 dbu or more."""


class Offence(NamedTuple):
    rule: Rule
    name: str
    draw: Draw


def offences(legal: LegalShapes, rule: Rule) -> list[Offence]:
    """The ways to break a rule; none where other rules of the layer leave no room between."""
    return [Offence(rule, name, draw) for name, draw in _WAYS[rule.kind](legal, rule).items()]


def turned(shapes: Shapes, quarter_turns: int) -> Shapes:
    """The shapes turned about the origin, 0 to 3 quarter turns."""
    trans = db.Trans(quarter_turns, False, 0, 0)
    return [(layer, box.transformed(trans)) for layer, box in shapes]


def _width(legal: LegalShapes, rule: Rule) -> dict[str, Draw]:
    layer, side = rule.layer, rule.value - 1
    if side < 1:
        return {}
    length = max(rule.value, -(-legal.limit(RuleKind.AREA, layer) // side))
    return {"one_dbu_too_narrow": lambda more: legal.covered([(layer, db.Box(0, 0, side, length + more))])}


def _space(legal: LegalShapes, rule: Rule) -> dict[str, Draw]:
    layer, box, gap = rule.layer, legal.box(rule.layer), rule.value - 1
    exact = legal.exact(layer) is not None
    if gap < 1:
        return {}

    def beside(more: int) -> Shapes:
        one = box if exact else db.Box(0, 0, box.right, box.top + more)
        return legal.covered([(layer, one), (layer, one.moved(one.width() + gap, 0))])

    def at_corners(more: int) -> Shapes:
        dx, dy = _short_diagonal(rule.value, more)
        return legal.covered([(layer, box), (layer, box.moved(box.width() + dx, box.height() + dy))])

    def notch(more: int) -> Shapes:
        leg = db.Box(0, 0, box.right, box.top + more)
        other = leg.moved(leg.width() + gap, 0)
        base = db.Box(0, -legal.side(layer), other.right, 0)
        return legal.covered([(layer, leg), (layer, other), (layer, base)])

    ways: dict[str, Draw] = {"one_dbu_too_near": beside, "corners_too_near": at_corners}
    return ways if exact else ways | {"notch_one_dbu_too_narrow": notch}


def _area(legal: LegalShapes, rule: Rule) -> dict[str, Draw]:
    layer, area = rule.layer, rule.value - 1
    widths = _widths_of_steps(area, legal.side(layer))
    if legal.exact(layer) is not None or not widths:
        return {}
    return {
        "one_dbu_too_small": lambda more: legal.covered([(layer, part) for part in _step(area, _pick(widths, more))])
    }


def _hole_area(legal: LegalShapes, rule: Rule) -> dict[str, Draw]:
    layer, area, box = rule.layer, rule.value - 1, legal.box(rule.layer)
    widths = _widths_of_steps(area, max(legal.limit(RuleKind.SPACE, layer), 1))
    if legal.exact(layer) is not None or not widths:
        return {}

    def ring(more: int) -> Shapes:
        parts = _step(area, _pick(widths, more))
        # As thick as a legal rectangle is long: then the ring's own width and area are legal.
        frame = db.Region(bounding_box(parts).enlarged(box.height(), box.height()))
        for part in parts:
            frame -= db.Region(part)
        pieces = frame.decompose_trapezoids_to_region()
        return legal.covered([(layer, piece.bbox()) for piece in pieces.each()])

    return {"hole_one_dbu_too_small": ring}


def _exact_size(legal: LegalShapes, rule: Rule) -> dict[str, Draw]:
    side = rule.value

    def of_size(width: int, height: int) -> Draw:
        return lambda _: legal.covered([(rule.layer, db.Box(0, 0, width, height))])

    ways = {"one_dbu_too_large": of_size(side + 1, side + 1), "one_dbu_off_a_square": of_size(side, side + 1)}
    return ways | {"one_dbu_too_small": of_size(side - 1, side - 1)} if side > 1 else ways


def _enclosure(legal: LegalShapes, rule: Rule) -> dict[str, Draw]:
    inner, outer = rule.layer, _other(rule)
    box, margin = legal.box(inner), legal.limit(RuleKind.ENCLOSURE, inner, outer)

    def one_side(more: int) -> Shapes:
        cover = legal.grown(outer, box.enlarged(margin + more, margin + more))
        # The left side is drawn back and the right one goes out as far, so that the size stays legal.
        cover = cover.moved(box.left - (rule.value - 1) - cover.left, 0)
        return legal.covered([(inner, box), (outer, cover)], leave=(inner, outer))

    ways: dict[str, Draw] = {}
    if rule.value > 0 or rule.outside_is_error:
        ways["one_dbu_short"] = one_side
    if rule.outside_is_error:
        ways["not_covered"] = lambda _: legal.covered([(inner, box)], leave=(inner, outer))
    return ways


def _separation(legal: LegalShapes, rule: Rule) -> dict[str, Draw]:
    layer, other = rule.layer, _other(rule)
    box, neighbour = legal.box(layer), legal.box(other)

    def pair(dx: int, dy: int) -> Shapes:
        return legal.covered([(layer, box), (other, neighbour.moved(dx, dy))])

    def at_corners(more: int) -> Shapes:
        dx, dy = _short_diagonal(rule.value, more)
        return pair(box.width() + dx, box.height() + dy)

    ways: dict[str, Draw] = {}
    if rule.value > 0:
        ways["one_dbu_too_near"] = lambda more: pair(box.width() + rule.value - 1, more % box.height())
    if rule.value > 1:
        ways["corners_too_near"] = at_corners
    if rule.overlap_is_error:
        ways["overlapping"] = lambda more: pair(more % box.width(), more % box.height())
    return ways


def _extension(legal: LegalShapes, rule: Rule) -> dict[str, Draw]:
    over, under = rule.layer, _other(rule)
    inside = max(1, legal.side(under) - 1)
    ways: dict[str, Draw] = {}
    if rule.value > 0:
        ways["one_dbu_short"] = lambda more: legal.covered(legal.cross(over, under, more, rule.value - 1))
    if rule.outside_is_error:
        ways["ends_within"] = lambda more: legal.covered(legal.cross(over, under, more, -1 - more % inside))
    return ways


_WAYS: dict[RuleKind, Callable[[LegalShapes, Rule], dict[str, Draw]]] = {
    RuleKind.WIDTH: _width,
    RuleKind.SPACE: _space,
    RuleKind.AREA: _area,
    RuleKind.HOLE_AREA: _hole_area,
    RuleKind.EXACT_SIZE: _exact_size,
    RuleKind.ENCLOSURE: _enclosure,
    RuleKind.SEPARATION: _separation,
    RuleKind.EXTENSION: _extension,
}


def _other(rule: Rule) -> Layer:
    assert rule.other_layer is not None  # the rule's model holds that
    return rule.other_layer


def _short_diagonal(distance: int, more: int) -> tuple[int, int]:
    """Steps along x and y, 1 dbu or more each, as little short of ``distance`` as the grid allows."""
    dx = 1 + more % max(1, distance - 2)
    return dx, isqrt(distance * distance - 1 - dx * dx)


@cache
def _widths_of_steps(area: int, least: int) -> tuple[int, ...]:
    """Widths of ``_step`` shapes of ``area`` dbu² that are nowhere narrower than ``least``; at most 64."""
    found = [
        width
        for width in range(least, area // least + 1)
        if area // width >= least and (area % width == 0 or area % width >= least)
    ]
    return tuple(found[:: 1 + len(found) // 64])


def _step(area: int, width: int) -> list[db.Box]:
    """A rectangle, and on top of it the part of a row, one dbu high, that it lacks of ``area``."""
    height, rest = divmod(area, width)
    parts = [db.Box(0, 0, width, height)]
    return parts if rest == 0 else [*parts, db.Box(0, height, rest, height + 1)]


def _pick(choices: tuple[int, ...], number: int) -> int:
    return choices[number % len(choices)]
