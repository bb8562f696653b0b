"""Controls of derived layers: what only one drawn layer keeps from breaking the rule, and figures cut out by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import klayout.db as db

from pytest_iclayout.rules.derived import Regions, meant_regions, names_of, shows
from pytest_iclayout.rules.figures import Figure, Role, box, figure_text, flat
from pytest_iclayout.rules.kinds import families_of, limit_of, single_cases
from pytest_iclayout.rules.shape_list import ShapeList
from pytest_iclayout.rules.structure import LayerExpression, Structure
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind


class Control(NamedTuple):
    name: str
    fails: bool
    text: str


def controls(structure: Structure, layers: Mapping[str, Layer], dbu_um: float) -> Iterator[Control]:
    """For each drawn layer of a derived one: left out, or covering; and the figure cut out by it."""
    below, at = _offending(structure), _keeping(structure)
    if below is None:
        return
    for role, expression in ((Role.LAYER, structure.layer), (Role.OTHER, structure.other)):
        if expression is None:
            continue
        yield from _without(role, expression, below, structure, layers, dbu_um)
        for name, fails, figure in (("below", True, below), ("kept", False, at)):
            yield from _cut_out(role, expression, name, fails, figure, structure, layers, dbu_um)


def _offending(structure: Structure) -> Figure | None:
    for family in families_of(structure.kind):
        first = family.first_passing(limit_of(structure))
        return family.draw(first - 1, structure.value_dbu) if first > family.least else None
    return next(case.figure for case in single_cases(structure) if case.name == "one_above")


def _keeping(structure: Structure) -> Figure:
    for family in families_of(structure.kind):
        return family.draw(family.first_passing(limit_of(structure)), structure.value_dbu)
    return next(case.figure for case in single_cases(structure) if case.name == "at_value")


def _without(
    role: Role,
    expression: LayerExpression,
    below: Figure,
    structure: Structure,
    layers: Mapping[str, Layer],
    dbu_um: float,
) -> Iterator[Control]:
    """The derived layer of ``role`` is empty, the other one as drawn."""
    meant = meant_regions(below)
    left = Regions(db.Region(), meant.other) if role is Role.LAYER else Regions(meant.layer, db.Region())
    # Nothing is measured without one of the layers, but an inner shape is then not covered.
    fails = role is Role.OTHER and structure.kind is RuleKind.ENCLOSURE and structure.outside_is_error
    every = names_of(structure)
    texts = {}
    if len(expression.every) > 1:
        for name in expression.every:
            rest = tuple(one for one in expression.every if one != name)
            texts[f"without_{name}"] = figure_text(below, {**every, role: rest}, dbu_um)
    cover = _cover(below, role)
    for name in expression.without:
        covering = figure_text(cover, {role: (name,)}, dbu_um)
        texts[f"covered_by_{name}"] = figure_text(below, every, dbu_um) + ";\n" + covering
    for name, text in texts.items():
        seen = Regions(*left)
        if shows(ShapeList(text, layers, dbu_um), structure, seen):
            yield Control(_label(role, name), fails, text)


def _cut_out(
    role: Role,
    expression: LayerExpression,
    suffix: str,
    fails: bool,
    figure: Figure,
    structure: Structure,
    layers: Mapping[str, Layer],
    dbu_um: float,
) -> Iterator[Control]:
    """The figure is seen only once all layers of the expression are taken into account."""
    meant = meant_regions(figure)
    every = names_of(structure)
    cover = _cover(figure, role)
    texts = {}
    if len(expression.every) > 1:
        for name in expression.every:
            rest = tuple(one for one in expression.every if one != name)
            own = figure_text(figure, {**every, role: rest}, dbu_um)
            texts[f"wide_{name}_{suffix}"] = own + ";\n" + figure_text(cover, {role: (name,)}, dbu_um)
    for name in expression.without:
        around = meant_regions(cover)[role is Role.OTHER] - meant[role is Role.OTHER]
        others = figure_text(figure, {**every, role: ()}, dbu_um)
        drawn = figure_text(cover, {role: expression.every}, dbu_um)
        left = figure_text(_boxes(around, role), {role: (name,)}, dbu_um)
        texts[f"cut_by_{name}_{suffix}"] = ";\n".join((others, drawn, left))
    for name, text in texts.items():
        if shows(ShapeList(text, layers, dbu_um), structure, meant):
            yield Control(_label(role, name), fails, text)


def _label(role: Role, name: str) -> str:
    return f"{'other_' if role is Role.OTHER else ''}{name.replace('.', '_')}"


def _cover(figure: Figure, role: Role) -> Figure:
    """A box around all of the figure."""
    regions = meant_regions(figure)
    around = regions.layer.bbox() + regions.other.bbox()
    margin = max(around.width(), around.height()) // 4 + 1
    around = around.enlarged(margin, margin)
    return flat(box(role, around.left, around.bottom, around.right, around.top))


def _boxes(region: db.Region, role: Role) -> Figure:
    """Of a region without slanted edges."""
    parts = [one.bbox() for one in region.decompose_trapezoids_to_region().each()]
    return flat(*(box(role, one.left, one.bottom, one.right, one.top) for one in parts))
