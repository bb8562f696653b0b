"""Drawing a figure on the drawn layers of a structure, so that the derived layers are exactly the figure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import klayout.db as db

from pytest_iclayout.rules.figures import Figure, Names, Role, figure_text
from pytest_iclayout.rules.shape_list import ShapeList
from pytest_iclayout.rules.structure import Structure
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

_ROLES = {Role.LAYER.value: Layer(layer=1, datatype=0), Role.OTHER.value: Layer(layer=2, datatype=0)}


class Regions(NamedTuple):
    """What a structure measures, in dbu and merged; ``other`` is empty where it measures one layer."""

    layer: db.Region
    other: db.Region


def text_of(figure: Figure, structure: Structure, layers: Mapping[str, Layer], dbu_um: float) -> str | None:
    """The figure as a shape list, None where the two layers are such that it cannot be drawn."""
    every = names_of(structure)
    if not _shares_layers(structure, layers):
        return figure_text(figure, every, dbu_um)
    meant = meant_regions(figure)
    for names in _ways(every):
        text = figure_text(figure, names, dbu_um)
        if shows(ShapeList(text, layers, dbu_um), structure, meant):
            return text
    return None


def names_of(structure: Structure) -> dict[Role, tuple[str, ...]]:
    """The layers that each role must be on."""
    return {Role.LAYER: structure.layer.every, Role.OTHER: structure.other.every if structure.other else ()}


def meant_regions(figure: Figure) -> Regions:
    """Of the figure itself, as if both of its layers were drawn ones."""
    names = {role: (role.value,) for role in Role}
    layout = ShapeList(figure_text(figure, names, 0.001), _ROLES).layout()
    return Regions(*(region_of_layer(layout, _ROLES[role.value]) for role in Role))


def measured_regions(layout: db.Layout, structure: Structure, layers: Mapping[str, Layer]) -> Regions:
    """The two layers of a structure in a layout, all levels flat."""

    @cache
    def drawn(name: str) -> db.Region:
        return region_of_layer(layout, layers[name])

    other = structure.other.region(drawn) if structure.other else db.Region()
    return Regions(structure.layer.region(drawn), other)


def region_of_layer(layout: db.Layout, layer: Layer) -> db.Region:
    """Merged, of all top cells."""
    index = layout.find_layer(layer.layer, layer.datatype)
    region = db.Region()
    if index is not None:
        for cell in layout.top_cells():
            region += db.Region(cell.begin_shapes_rec(index))
    return region.merged()


def shows(source: ShapeList, structure: Structure, meant: Regions) -> bool:
    """Whether the derived layers of a layout are the regions that were meant.

    Where ``other`` is part of ``layer`` by its expression, as a gate is of poly, an extension is measured from what
    lies within ``layer``.
    """
    seen = measured_regions(source.layout(), structure, source.layers)
    other = meant.other & meant.layer if _is_gate_rule(structure) else meant.other
    return (seen.layer ^ meant.layer).is_empty() and (seen.other ^ other).is_empty()


def _is_gate_rule(structure: Structure) -> bool:
    if structure.kind is not RuleKind.EXTENSION or structure.other is None:
        return False
    return set(structure.layer.every) <= set(structure.other.every)


def _shares_layers(structure: Structure, layers: Mapping[str, Layer]) -> bool:
    """Told by their numbers: two names may stand for one drawn layer."""
    names = structure.layer.names + (structure.other.names if structure.other else ())
    return len({layers[name] for name in names}) < len(names)


def _ways(every: Names) -> list[Names]:
    """A layer that is part of the other one is drawn on what it has beyond that."""
    layer, other = every[Role.LAYER], every[Role.OTHER]
    return [
        every,
        {Role.LAYER: layer, Role.OTHER: tuple(name for name in other if name not in layer)},
        {Role.LAYER: tuple(name for name in layer if name not in other), Role.OTHER: other},
    ]
