"""What the embedded rule engine says of a declared structure."""

from __future__ import annotations

from collections.abc import Mapping

import klayout.db as db

from pytest_iclayout.drc.engine import run_rules
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.io import read_layout
from pytest_iclayout.rules.derived import measured_regions
from pytest_iclayout.rules.structure import Structure
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Rule

_LAYER, _OTHER = Layer(layer=1, datatype=0), Layer(layer=2, datatype=0)
"""Stand for the derived layers, which have no numbers."""


def embedded_verdict(structure: Structure, layers: Mapping[str, Layer], gds_bytes: bytes) -> bool:
    """Whether the layout violates the structure. Raises LayoutFileError for bytes that are no layout."""
    return bool(embedded_findings(structure.kind.value, structure, layers, read_layout(gds_bytes)))


def embedded_findings(
    category: str, structure: Structure, layers: Mapping[str, Layer], layout: db.Layout
) -> tuple[Finding, ...]:
    """With places in dbu; the category is the findings' rule."""
    regions = measured_regions(layout, structure, layers)
    rule = Rule(
        id=structure.kind.value,
        kind=structure.kind,
        layer=_LAYER,
        other_layer=_OTHER if structure.other else None,
        value=structure.value_dbu,
        overlap_is_error=structure.overlap_is_error,
        outside_is_error=structure.outside_is_error,
    )
    names = {_LAYER: str(structure.layer), _OTHER: str(structure.other)}
    found = {_LAYER: regions.layer, _OTHER: regions.other}
    findings = run_rules(found.__getitem__, [rule], name_of=names.__getitem__)
    return tuple(
        one.model_copy(update={"rule": category, "layer": None, "message": _without_numbers(one.message)})
        for one in findings
    )


def _without_numbers(message: str) -> str:
    """Of the stand-ins, which are those of other layers."""
    return message.replace(f" ({_LAYER})", "").replace(f" ({_OTHER})", "")
