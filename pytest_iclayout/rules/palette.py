"""Colours for the layers of a layout that is of no technology."""

from __future__ import annotations

from collections.abc import Mapping

import klayout.db as db

from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Technology, TechnologyLayer

_COLORS = ("1F77B4", "2CA02C", "FF7F0E", "9467BD", "8C564B", "17BECF", "BCBD22", "E377C2")
"""None of them red, in which frames are drawn."""


def palette(name: str, layers: Mapping[str, Layer]) -> Technology:
    """For a picture: the layers by their names; of two names for one layer the first."""
    names: dict[Layer, str] = {}
    for text, layer in layers.items():
        names.setdefault(layer, text or str(layer))
    names = names or {Layer(layer=0, datatype=0): "0/0"}  # a technology has a layer
    return Technology(
        name=name,
        layers=tuple(
            TechnologyLayer(name=text, layer=layer, color=f"{_COLORS[number % len(_COLORS)]}FF")
            for number, (layer, text) in enumerate(names.items())
        ),
    )


def layers_of(layout: db.Layout) -> dict[str, Layer]:
    """By their numbers."""
    infos = sorted((one.layer, one.datatype) for one in layout.layer_infos() if one.layer >= 0)
    found = (Layer(layer=layer, datatype=datatype) for layer, datatype in infos)
    return {str(layer): layer for layer in found}
