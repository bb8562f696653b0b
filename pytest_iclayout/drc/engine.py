"""The embedded rule engine: rules in, findings out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import klayout.db as db

from pytest_iclayout.drc import checks
from pytest_iclayout.drc.checks import Violation
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Rule, RuleKind

MOST_MEASURED = 1000
"""Places that :func:`first_violations` measures one by one, of each rule and kind of place."""

_ONE_LAYER: dict[RuleKind, Callable[[db.Region, int, int | None], list[Violation]]] = {
    RuleKind.WIDTH: checks.width,
    RuleKind.SPACE: checks.space,
    RuleKind.AREA: checks.area,
    RuleKind.HOLE_AREA: checks.hole_area,
    RuleKind.EXACT_SIZE: checks.exact_size,
}

_BETWEEN = {RuleKind.SEPARATION: "and", RuleKind.ENCLOSURE: "in", RuleKind.EXTENSION: "beyond"}


def run_rules(
    region_of: Callable[[Layer], db.Region],
    rules: Iterable[Rule],
    *,
    name_of: Callable[[Layer], str] = str,
    region: db.Box | None = None,
    drawn_of: Callable[[Layer], db.Region] | None = None,
) -> tuple[Finding, ...]:
    """Check rules; one finding an edge pair or polygon, each once, in the order of the rules, then by place.

    ``region_of`` gives the merged region of a layer (dbu) and is asked once a layer.  ``region``
    keeps the findings whose place touches that box (dbu): shapes outside of it still count as
    neighbours.  ``name_of`` names layers in messages.  ``drawn_of`` gives a layer's shapes before
    merging, from which coverage is told exactly also where edges are slanted.
    """
    merged = cache(region_of)
    layers = _Layers(merged, merged, drawn_of)
    findings: list[Finding] = []
    for rule in rules:
        violations = [found for found in _violations(rule, layers) if region is None or region.touches(found.place)]
        findings.extend(_finding(rule, violation, name_of) for violation in sorted(violations, key=_order))
    # A shape that is too small both ways is found by two edge pairs, which say the same of the same place.
    return tuple(dict.fromkeys(findings))


def run_rules_on(view: LayoutView, rules: Iterable[Rule], *, region: db.Box | None = None) -> tuple[Finding, ...]:
    """:func:`run_rules` on a view, layers named as its technology names them."""
    return run_rules(view.region, rules, name_of=view.technology.name_of, region=region, drawn_of=view.drawn)


class Found(NamedTuple):
    """Findings, and how many places beyond them break the rules: counted as KLayout marks them, not measured."""

    findings: tuple[Finding, ...]
    more: int


def first_violations(view: LayoutView, rules: tuple[Rule, ...], most: int = MOST_MEASURED) -> Found:
    """What :func:`run_rules_on` finds, of each rule and kind of place the first ``most`` by place; run once a view.

    For layouts of millions of shapes: what is repeated is checked once, and what is not told of is counted
    without a Python object for each.
    """
    return view.once(("first_violations", rules, most), lambda: _first_violations(view, rules, most))


def _first_violations(view: LayoutView, rules: tuple[Rule, ...], most: int) -> Found:
    layers = _Layers(view.region, view.region_by_cell, view.drawn)
    findings: list[Finding] = []
    more = 0
    for rule in rules:
        violations = _violations(rule, layers, most)
        more += sum(one.unlisted for one in violations)
        listed = sorted((one for one in violations if not one.unlisted), key=_order)
        findings.extend(_finding(rule, violation, view.technology.name_of) for violation in listed)
    return Found(tuple(dict.fromkeys(findings)), more)


class _Layers(NamedTuple):
    """Where the rules find the shapes of a layer."""

    merged: Callable[[Layer], db.Region]
    by_cell: Callable[[Layer], db.Region]
    """The same, not flat where that pays."""
    drawn: Callable[[Layer], db.Region] | None


def _violations(rule: Rule, layers: _Layers, most: int | None = None) -> list[Violation]:
    if layers.by_cell(rule.layer).is_empty():
        return []
    if rule.other_layer is None:
        return _ONE_LAYER[rule.kind](layers.by_cell(rule.layer), rule.value, most)
    if rule.kind is not RuleKind.ENCLOSURE and layers.by_cell(rule.other_layer).is_empty():
        return []
    layer, other = layers.merged(rule.layer), layers.merged(rule.other_layer)
    if rule.kind is RuleKind.ENCLOSURE:
        drawn = None if layers.drawn is None else checks.Drawn(layers.drawn(rule.layer), layers.drawn(rule.other_layer))
        return checks.enclosure(
            layer, other, rule.value, outside_is_error=rule.outside_is_error, drawn=drawn, most=most
        )
    if rule.kind is RuleKind.SEPARATION:
        return checks.separation(layer, other, rule.value, overlap_is_error=rule.overlap_is_error, most=most)
    return checks.extension(layer, other, rule.value, outside_is_error=rule.outside_is_error, most=most)


def _order(violation: Violation) -> tuple[int, int, int, int, float]:
    box = violation.place
    return (box.left, box.bottom, box.right, box.top, violation.measured or 0.0)


def _finding(rule: Rule, violation: Violation, name_of: Callable[[Layer], str]) -> Finding:
    return Finding(
        rule=rule.id,
        message=_message(rule, violation, name_of),
        layer=rule.layer,
        measured=violation.measured,
        required=rule.value,
        place=Rect.from_db(violation.place),
    )


def _message(rule: Rule, violation: Violation, name_of: Callable[[Layer], str]) -> str:
    subject = _named(rule.layer, name_of)
    if rule.other_layer is not None:
        subject += f" {_BETWEEN[rule.kind]} {_named(rule.other_layer, name_of)}"
    quantity = rule.kind.value.replace("_", " ")
    unit = "dbu²" if rule.kind.is_area else "dbu"
    if rule.kind is RuleKind.EXACT_SIZE:
        return f"{subject}: {violation.what}, exactly {rule.value} x {rule.value} dbu required"
    required = f"at least {rule.value} {unit} required"
    if violation.measured is None or violation.what is not None:
        return f"{subject}: {violation.what}, {quantity} of {required}"
    measured = f"{violation.measured:.3f}".rstrip("0").rstrip(".")
    return f"{subject}: {quantity} {measured} {unit}, {required}"


def _named(layer: Layer, name_of: Callable[[Layer], str]) -> str:
    name = name_of(layer)
    return name if name == str(layer) else f"{name} ({layer})"
