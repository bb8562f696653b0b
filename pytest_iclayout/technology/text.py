"""The line syntax of technologies, in which an agent session may declare one.

::

    technology NAME
    dbu_per_micron N
    layer LAYER DATATYPE NAME RRGGBBAA
    stack LAYER DATATYPE Z_BOTTOM THICKNESS     # nm
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pydantic import ValidationError

from pytest_iclayout.technology.errors import explain
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.load import builtin_names, builtin_technology
from pytest_iclayout.technology.models import (
    Rule,
    RuleKind,
    Technology,
    TechnologyError,
    TechnologyLayer,
)
from pytest_iclayout.technology.stack import connections_from_heights

_INTEGER = re.compile(r"-?[0-9]{1,10}")

_FORMS = {
    "technology": "technology NAME",
    "dbu_per_micron": "dbu_per_micron N",
    "layer": "layer LAYER DATATYPE NAME RRGGBBAA",
    "stack": "stack LAYER DATATYPE Z_BOTTOM THICKNESS",
}


@dataclass(frozen=True)
class _Slab:
    line: int
    z_bottom_nm: int
    thickness_nm: int


@dataclass
class _Declared:
    """What the lines read so far have said."""

    name: str | None = None
    dbu_per_micron: int | None = None
    layers: dict[Layer, TechnologyLayer] = field(default_factory=dict)
    stack: dict[Layer, _Slab] = field(default_factory=dict)


def parse_technology_text(source: str, origin: str = "technology text") -> Technology:
    """Read the line syntax. Raises TechnologyError that names ``origin`` and the line.

    The syntax has no rules and no connections.  A text that bears the name of a built-in technology
    takes them from there, as far as it declares their layers; for any other name the connections
    follow from the heights (:func:`connections_from_heights`) and there are no rules.
    """
    declared = _Declared()
    for number, line in enumerate(source.splitlines(), start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        try:
            _read_line(declared, words, number)
        except ValidationError as error:
            raise TechnologyError(f"{origin}: line {number}: {explain(error)}") from error
        except ValueError as error:
            raise TechnologyError(f"{origin}: line {number}: {error}") from error
    if declared.name is None:
        raise TechnologyError(f"{origin}: no technology line; write {_FORMS['technology']}")
    if not declared.layers:
        raise TechnologyError(f"{origin}: no layer line; write {_FORMS['layer']}")
    layers = _stacked(declared, origin)
    per_micron = 1000 if declared.dbu_per_micron is None else declared.dbu_per_micron
    try:
        return _completed(Technology(name=declared.name, dbu_per_micron=per_micron, layers=layers))
    except ValidationError as error:
        raise TechnologyError(f"{origin}: {explain(error)}") from error
    except ValueError as error:
        raise TechnologyError(f"{origin}: {error}") from error


def _read_line(declared: _Declared, words: list[str], number: int) -> None:
    keyword = words[0]
    form = _FORMS.get(keyword)
    if form is None:
        raise ValueError(f"unknown keyword {keyword!r}; a line is one of: {' | '.join(_FORMS.values())}")
    if len(words) != len(form.split()):
        raise ValueError(f"{len(words) - 1} values after {keyword!r}; write {form}")
    if keyword == "technology":
        if declared.name is not None:
            raise ValueError(f"second technology line; the first one says {declared.name!r}")
        declared.name = words[1]
    elif keyword == "dbu_per_micron":
        if declared.dbu_per_micron is not None:
            raise ValueError("second dbu_per_micron line")
        declared.dbu_per_micron = _integer(words[1], "N")
        if declared.dbu_per_micron <= 0:
            raise ValueError(f"dbu_per_micron must be above 0 (given {words[1]})")
    else:
        layer = Layer(layer=_integer(words[1], "LAYER"), datatype=_integer(words[2], "DATATYPE"))
        if keyword == "layer":
            _declare(declared, layer, words[3], words[4])
        else:
            _stack(
                declared,
                layer,
                _Slab(number, _integer(words[3], "Z_BOTTOM"), _integer(words[4], "THICKNESS")),
            )


def _integer(word: str, what: str) -> int:
    if _INTEGER.fullmatch(word) is None:
        raise ValueError(f"{what} must be an integer (given {word!r})")
    return int(word)


def _declare(declared: _Declared, layer: Layer, name: str, color: str) -> None:
    if layer in declared.layers:
        raise ValueError(f"layer {layer} is declared twice, first as {declared.layers[layer].name!r}")
    for entry in declared.layers.values():
        if entry.name == name:
            raise ValueError(f"layer name {name!r} is declared twice, first for {entry.layer}")
    declared.layers[layer] = TechnologyLayer(name=name, layer=layer, color=color)


def _stack(declared: _Declared, layer: Layer, slab: _Slab) -> None:
    if layer in declared.stack:
        raise ValueError(f"second stack line for layer {layer}; the first one is line {declared.stack[layer].line}")
    if slab.thickness_nm <= 0:
        raise ValueError(f"THICKNESS must be above 0 nm (given {slab.thickness_nm})")
    declared.stack[layer] = slab


def _stacked(declared: _Declared, origin: str) -> tuple[TechnologyLayer, ...]:
    """The layers with their heights; stack lines may stand before the layer lines."""
    layers = dict(declared.layers)
    for layer, slab in declared.stack.items():
        if layer not in layers:
            raise TechnologyError(
                f"{origin}: line {slab.line}: stack names layer {layer}, which no layer line declares"
            )
        heights = {"z_bottom_nm": slab.z_bottom_nm, "thickness_nm": slab.thickness_nm}
        layers[layer] = layers[layer].model_copy(update=heights)
    return tuple(layers.values())


def _completed(drawn: Technology) -> Technology:
    if drawn.name in builtin_names():
        return _with_builtin_knowledge(drawn, builtin_technology(drawn.name))
    return _rebuilt(drawn, connections=connections_from_heights(drawn.layers))


def _with_builtin_knowledge(drawn: Technology, known: Technology) -> Technology:
    def has(*layers: Layer | None) -> bool:
        return all(layer is None or layer in drawn for layer in layers)

    labelled = []
    for entry in drawn.layers:
        original = known.entry(entry.layer)
        label = None if original is None else original.label
        labelled.append(entry.model_copy(update={"label": label}) if has(label) else entry)
    cut_by = {}
    for conductor, cutter in known.cut_by.items():
        # The text may give the layers names of its own: the pairs are what both have in common.
        pairs = known.layer_named(conductor), known.layer_named(cutter)
        if has(*pairs):
            cut_by[drawn.name_of(pairs[0])] = drawn.name_of(pairs[1])
    scale = (drawn.dbu_per_micron, known.dbu_per_micron)
    return _rebuilt(
        drawn,
        layers=tuple(labelled),
        connections=tuple(c for c in known.connections if has(c.bottom, c.cut, c.top)),
        cut_by=cut_by,
        rule_sets={
            name: tuple(_on_grid(rule, *scale) for rule in rules if has(*rule.layers))
            for name, rules in known.rule_sets.items()
        },
    )


def _on_grid(rule: Rule, per_micron: int, rule_per_micron: int) -> Rule:
    """The rule with its value in the text's dbu.

    A minimum that falls between two grid points is rounded up: what is drawn on the grid breaks the
    one exactly when it breaks the other.  An exact size off the grid cannot be drawn at all.
    """
    power = 2 if rule.kind.is_area else 1
    value, rest = divmod(rule.value * per_micron**power, rule_per_micron**power)
    if rest and rule.kind is RuleKind.EXACT_SIZE:
        raise ValueError(
            f"dbu_per_micron {per_micron}: the size that rule {rule.id} demands "
            f"({rule.value}/{rule_per_micron} µm) is no whole number of dbu"
        )
    return rule.model_copy(update={"value": value + bool(rest)})


def _rebuilt(technology: Technology, **changes: object) -> Technology:
    """A copy with changes, validated (``model_copy`` would not)."""
    return Technology.model_validate({**dict(technology), **changes})
