"""The figures of every kind of rule, by its structure."""

from __future__ import annotations

from pytest_iclayout.rules import one_layer, two_layers
from pytest_iclayout.rules.families import Case, Family
from pytest_iclayout.rules.structure import Structure
from pytest_iclayout.technology.models import RuleKind

_FAMILIES: dict[RuleKind, tuple[Family, ...]] = {
    RuleKind.WIDTH: one_layer.WIDTH,
    RuleKind.SPACE: one_layer.SPACE,
    RuleKind.AREA: one_layer.AREA,
    RuleKind.HOLE_AREA: one_layer.HOLE_AREA,
    RuleKind.SEPARATION: two_layers.SEPARATION,
    RuleKind.ENCLOSURE: two_layers.ENCLOSURE,
    RuleKind.EXTENSION: two_layers.EXTENSION,
}


def families_of(kind: RuleKind) -> tuple[Family, ...]:
    """The plainest first; none of ``exact_size``, whose measure is not one number."""
    return _FAMILIES.get(kind, ())


def limit_of(structure: Structure) -> int:
    """What the sizes of families are compared with: the value, squared for lengths."""
    return structure.value_dbu if structure.kind.is_area else structure.value_dbu**2


def single_cases(structure: Structure) -> list[Case]:
    value = structure.value_dbu
    if structure.kind is RuleKind.WIDTH:
        return one_layer.width_cases(value)
    if structure.kind is RuleKind.SPACE:
        return one_layer.space_cases(value)
    if structure.kind is RuleKind.AREA:
        return one_layer.area_cases(value)
    if structure.kind is RuleKind.HOLE_AREA:
        return one_layer.hole_area_cases(value)
    if structure.kind is RuleKind.EXACT_SIZE:
        return one_layer.exact_size_cases(value)
    if structure.kind is RuleKind.SEPARATION:
        return two_layers.separation_cases(value, structure.overlap_is_error)
    if structure.kind is RuleKind.ENCLOSURE:
        return two_layers.enclosure_cases(value, structure.outside_is_error)
    return two_layers.extension_cases(value, structure.outside_is_error)
