"""For a structure the deck that somebody who knows the language would write first."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.rules.structure import LayerExpression, Structure
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

ONE_LAYER = {
    RuleKind.WIDTH: "layer.width(value)",
    RuleKind.SPACE: "layer.space(value)",
    RuleKind.AREA: "layer.merged.with_area(0, value)",
    RuleKind.HOLE_AREA: "layer.merged.holes.with_area(0, value)",
    RuleKind.EXACT_SIZE: "layer - layer.merged.rectangles.with_bbox_width(value).with_bbox_height(value)",
}
TWO_LAYERS = {
    RuleKind.SEPARATION: "layer.separation(other, value)",
    RuleKind.ENCLOSURE: "layer.enclosed(other, value)",
    RuleKind.EXTENSION: "layer.enclosing(other, value)",
}
STRICT = {
    RuleKind.SEPARATION: "layer.interacting(other)",
    RuleKind.ENCLOSURE: "layer - other",
    RuleKind.EXTENSION: "layer.edges.inside(other)",
}
"""What is reported, too, where an overlap, or a layer outside of the other one, is an error."""


def obvious_deck(category: str, structure: Structure, layers: Mapping[str, Layer]) -> Deck:
    lines = ["source($input)", 'report("obvious", $output)', f"value = {structure.value_dbu}"]
    lines += [f"l_{name} = input({layers[name].layer}, {layers[name].datatype})" for name in structure.layer_names]
    lines.append(f"layer = {_derived(structure.layer)}")
    if structure.other is None:
        lines.append(f'({ONE_LAYER[structure.kind]}).output("{category}")')
    else:
        lines.append(f"other = {_derived(structure.other)}")
        lines.append(f'({TWO_LAYERS[structure.kind]}).output("{category}")')
        strict = structure.overlap_is_error if structure.kind is RuleKind.SEPARATION else structure.outside_is_error
        if strict:
            lines.append(f'({STRICT[structure.kind]}).output("{category}")')
    return Deck.of_text("\n".join(lines) + "\n")


def _derived(expression: LayerExpression) -> str:
    found = f"l_{expression.every[0]}"
    for name in expression.every[1:]:
        found = f"({found} & l_{name})"
    for name in expression.without:
        found = f"({found} - l_{name})"
    return found
