"""Layouts at the threshold of a declared structure, labelled by how they are made."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_iclayout.rules.rule import LabelledLayout
from pytest_iclayout.rules.structure import Structure
from pytest_iclayout.technology.layers import Layer


def boundary_layouts(
    category: str, structure: Structure, layers: Mapping[str, Layer], dbu_um: float
) -> list[LabelledLayout]:
    """At least ten layouts, the same each time: below, at and above the value, and what is no case of the rule."""
    raise NotImplementedError
