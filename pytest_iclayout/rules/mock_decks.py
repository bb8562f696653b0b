"""Decks written from declared structures: what the built-in mock agent hands in, and a second opinion on labels.

They mean what :mod:`pytest_iclayout.drc.checks` means, said in KLayout's DRC language as of 0.28.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from pytest_iclayout.rules.rule import Rule
from pytest_iclayout.rules.structure import LayerExpression, Structure
from pytest_iclayout.technology.models import RuleKind

_SIMPLE = {
    RuleKind.WIDTH: "{layer}.width({value})",
    RuleKind.SPACE: "{layer}.space({value})",
    RuleKind.AREA: "{layer}.with_area(nil, {value})",
    RuleKind.HOLE_AREA: "{layer}.holes.with_area(nil, {value})",
    RuleKind.SEPARATION: "{layer}.separation({other}, {value})",
    RuleKind.ENCLOSURE: "{layer}.enclosed({other}, {value})",
}
"""The check that measures; what it does not measure is put beside it below."""


def deck_for(rule: Rule) -> str | None:
    """A deck that reports each of the rule's categories; None where one has no declared structure."""
    if any(name not in rule.structures for name in rule.category_names):
        return None
    variables = _variables(rule)
    lines = ["source($input)", f"report({_quoted(rule.title or rule.id)}, $output)"]
    for name, layer in rule.layers.items():
        lines.append(f"{variables[name]} = input({layer.layer}, {layer.datatype})")
    for name in rule.category_names:
        found = _reported(rule.structures[name], variables, Decimal(str(rule.dbu_um)))
        lines += ["", *found.lines, *(f"{what}.output({_quoted(name)})" for what in found.reported)]
    return "\n".join(lines) + "\n"


class _Reported:
    """``reported`` are expressions whose markers are violations; ``lines`` come before them."""

    def __init__(self, reported: list[str], lines: list[str] | None = None) -> None:
        self.reported = reported
        self.lines = lines or []


def _reported(structure: Structure, variables: Mapping[str, str], dbu_um: Decimal) -> _Reported:
    layer = _expression(structure.layer, variables)
    other = "" if structure.other is None else _expression(structure.other, variables)
    kind = structure.kind
    unit = dbu_um * dbu_um if kind.is_area else dbu_um
    value = _float(structure.value_dbu * unit)
    if kind is RuleKind.EXACT_SIZE:
        wrong = (f"{layer}.non_rectangles", f"{layer}.without_bbox_width({value})")
        return _Reported([*wrong, f"{layer}.without_bbox_height({value})"])
    if kind is RuleKind.EXTENSION:
        return _extension(layer, other, value, structure.outside_is_error)
    reported = [_SIMPLE[kind].format(layer=layer, other=other, value=value)]
    if kind is RuleKind.SEPARATION and structure.overlap_is_error:
        # Borders that cross or touch; and shapes that lie within one another, whose borders do not.
        reported += [f"{layer}.edges.intersections({other}.edges)", f"({layer} & {other})"]
    if kind is RuleKind.ENCLOSURE and structure.outside_is_error:
        reported.append(f"({layer} - {other})")
    return _Reported(reported)


def _extension(layer: str, other: str, value: str, outside_is_error: bool) -> _Reported:
    """Crossings are where the other layer's edges run inside the layer; its edges beyond them are its ends.

    Euclidian measuring finds ends beside the crossing as well, which are none if the way to them leaves the layer.
    """
    lines = [
        f"meeting = {layer}.interacting({other})",
        f"crossings = {other}.edges.inside_part(meeting)",
        f"straight = meeting.edges.enclosing(crossings, {value}, projection)",
        f"near = meeting.edges.enclosing(crossings, {value})",
        "ways = (near.polygons & meeting).interacting(near.first_edges).interacting(near.second_edges)",
        "# From corner to corner the way is a line: it is given the breadth of a few database units.",
        "lines = near.polygons(1.dbu).inside(meeting.sized(2.dbu))",
        "touching = near.first_edges.interacting(near.second_edges)",
    ]
    if not outside_is_error:
        return _Reported(["straight", "ways", "lines", "touching"], lines)
    lines += [
        f"gates = meeting & {other}",
        "# A line that passes through crosses twice; one that ends within turns inside of the gate.",
        "stretches = crossings.extended(:begin => 1.dbu, :end => 1.dbu, :out => 1.dbu, :in => 1.dbu, :joined => true)",
        "undecided = gates.not_interacting(stretches.merged, 2)",
        "turns = undecided.corners(-180.0 .. -1.0, as_dots).not_interacting(crossings)",
        "returns = undecided.corners(1.0 .. 180.0, as_dots).not_interacting(crossings)",
        "ends = undecided.interacting(turns).not_interacting(returns) + undecided.interacting(turns, 2)",
    ]
    return _Reported(["straight", "ways", "lines", "touching", "ends"], lines)


def _expression(expression: LayerExpression, variables: Mapping[str, str]) -> str:
    every = " & ".join(variables[name] for name in expression.every)
    text = every + "".join(f" - {variables[name]}" for name in expression.without)
    return text if text.isidentifier() else f"({text})"


def _variables(rule: Rule) -> dict[str, str]:
    """A name for each layer that Ruby takes for a local variable, and that is no word of the language."""
    found: dict[str, str] = {}
    for name in rule.layers:
        plain = "on_" + "".join(one if one.isascii() and one.isalnum() else "_" for one in name)
        while plain in found.values():
            plain += "_"
        found[name] = plain
    return found


def _float(number: Decimal) -> str:
    """A decimal with a point: in a deck, a number without one is in database units."""
    text = format(number.normalize(), "f")
    return text if "." in text else f"{text}.0"


def _quoted(text: str) -> str:
    """In single quotes, where Ruby replaces nothing."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
