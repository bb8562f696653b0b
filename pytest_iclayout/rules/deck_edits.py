"""The small faults that can be put into a deck, as edits of its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from tree_sitter import Node

from pytest_iclayout.rules import ruby
from pytest_iclayout.rules.deck_vocabulary import (
    ANGLE,
    AREA,
    CORNER_MODES,
    DISTANCE_CHECKS,
    DROPPABLE,
    INPUTS,
    METRICS,
    ONE_SIDED_OPTIONS,
    OPTIONS,
    OTHER_CHECKS,
    OTHER_COMPARISONS,
    OTHER_OPERATORS,
    PLAIN_CALLS,
    RELATIVE,
    SWAPPABLE,
    SYMMETRIC_WHEN_OUTPUT,
)
from pytest_iclayout.rules.ruby import arguments, is_method_name, method_name, text_of


class MutantKind(str, Enum):
    NUMBER = "number"
    COMPARISON = "comparison"
    LAYER = "layer"
    DROPPED = "dropped"
    SWAPPED = "swapped"
    METRIC = "metric"
    CHECK = "check"
    CATEGORY = "category"
    SILENT = "silent"
    CRASH = "crash"


@dataclass(frozen=True)
class Edit:
    """Bytes ``start`` to ``end`` of the deck become ``text``."""

    kind: MutantKind
    start: int
    end: int
    text: str
    description: str


def edits(root: Node, length: int, dbu_um: str) -> Iterator[Edit]:
    """All edits of a deck's tree; ``length`` is the deck's, in bytes."""
    names = _Names(root)
    for node in ruby.walk(root):
        if node.type == "identifier":
            yield from _name_edits(node, names)
        elif node.type == "call":
            yield from _call_edits(node, names)
        elif node.type == "binary" and not _is_plain(node):
            yield from _binary_edits(node, names)
        elif node.type in ("integer", "float") and not _is_plain(node):
            yield from _number_edits(node, Decimal(dbu_um))
    for pair in dict.fromkeys(pair for place, pair in names.pairs.items() if place not in names.idle):
        code = f"\nraise 'gives up' unless input({pair}).is_empty?\n"
        yield Edit(MutantKind.CRASH, length, length, code, f"raises where {pair} is not empty")


class _Names:
    """What a deck's variables hold: a drawn layer, a derived one, or a number."""

    def __init__(self, root: Node) -> None:
        self.pairs: dict[str, str] = {}
        """Layer and datatype of drawn layers by their names, or by where they are used without a name."""
        self.drawn: dict[str, int] = {}
        """Where drawn layers are known from, in bytes."""
        self.derived: dict[str, str] = {}
        """The first drawn layer of what a derived one is made of."""
        self.assigned: set[str] = set()
        self.idle: set[str] = set()
        """Where drawn layers are read that are not used, as keys of ``pairs``."""
        numbers: set[str] = set()
        uses = Counter(text_of(one) for one in ruby.walk(root) if one.type == "identifier")
        for node in ruby.walk(root):
            if node.type == "call" and (pair := _pair(node)):
                self.pairs[f"{node.start_byte}"] = pair
            if node.type != "assignment":
                continue
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is None or right is None or left.type != "identifier":
                continue
            name = text_of(left)
            self.assigned.add(name)
            if uses[name] == 1:
                self.idle.update(f"{one.start_byte}" for one in ruby.walk(right) if _pair(one))
            used = [text_of(one) for one in ruby.walk(right) if one.type == "identifier"]
            if ruby.is_number(right, frozenset(numbers)):
                numbers.add(name)
            elif any(_pair(one) for one in ruby.walk(right)):
                self.drawn.setdefault(name, node.end_byte)
            elif name not in self.drawn and (of := [one for one in used if one in self.drawn or one in self.derived]):
                self.derived.setdefault(name, self.derived.get(of[0], of[0]))
        self.numbers = frozenset(numbers)

    def another(self, name: str, place: int) -> str | None:
        """A drawn layer to use in the place of another: the next one, or what a derived one is made of."""
        known = [one for one, since in self.drawn.items() if since <= place]
        if name in self.drawn:
            known = known[known.index(name) + 1 :] + known[: known.index(name)] if name in known else []
        elif self.derived.get(name) in known:
            return self.derived[name]
        return next(iter(known), None)


def _pair(node: Node) -> str | None:
    """``68, 20`` of ``input(68, 20)``."""
    if node.type != "call" or method_name(node) not in INPUTS:
        return None
    listed = arguments(node)
    if len(listed) < 2 or any(one.type != "integer" for one in listed[:2]):
        return None
    return f"{text_of(listed[0])}, {text_of(listed[1])}"


def _is_plain(node: Node) -> bool:
    return any(method_name(call) in PLAIN_CALLS for call in ruby.argument_of(node))


def _replaced(kind: MutantKind, node: Node, text: str) -> Edit:
    return Edit(kind, node.start_byte, node.end_byte, text, f"{_short(text_of(node))} became {_short(text)}")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _name_edits(node: Node, names: _Names) -> Iterator[Edit]:
    name = text_of(node)
    parent = node.parent
    if parent is None or is_method_name(node) or _is_plain(node):
        return
    if parent.type in ("assignment", "operator_assignment") and parent.child_by_field_name("left") == node:
        return
    if name in names.drawn or name in names.derived:
        if parent.type not in ("block_parameters", "method_parameters", "method") and (
            other := names.another(name, node.start_byte)
        ):
            yield _replaced(MutantKind.LAYER, node, other)
    elif name not in names.assigned:
        yield from _metric_edits(node, name)
        if name in DISTANCE_CHECKS and parent.type == "binary":  # width < 0.14, of a drc(...)
            for other in OTHER_CHECKS[name]:
                yield _replaced(MutantKind.CHECK, node, other)
            for metric in METRICS[1:]:
                yield _replaced(MutantKind.METRIC, node, f"{name}({metric})")


def _metric_edits(node: Node, name: str) -> Iterator[Edit]:
    for modes in (METRICS, CORNER_MODES):
        if name in modes and node.parent is not None and node.parent.type == "argument_list":
            for other in modes:
                if other != name:
                    yield _replaced(MutantKind.METRIC, node, other)


def _call_edits(call: Node, names: _Names) -> Iterator[Edit]:
    name, listed = method_name(call), arguments(call)
    receiver, method = call.child_by_field_name("receiver"), call.child_by_field_name("method")
    if name == "output" and receiver is not None:
        yield from _output_edits(call, listed)
    if method is None or _is_plain(call):
        return
    if (pair := _pair(call)) and f"{call.start_byte}" not in names.idle:
        others = [one for one in dict.fromkeys(names.pairs.values()) if one != pair]
        following = [one for one in others if list(names.pairs.values()).index(one) > _index(names, call)]
        for other in (following or others)[:1]:
            yield Edit(MutantKind.LAYER, listed[0].start_byte, listed[1].end_byte, other, f"{pair} became {other}")
    for other in OTHER_CHECKS.get(name, ()) if receiver is not None or name in DISTANCE_CHECKS else ():
        yield _replaced(MutantKind.CHECK, method, other)
    if name in DISTANCE_CHECKS and (listed or receiver is None):
        yield from _option_edits(call, name, listed)
    if receiver is None:
        return
    if name in DROPPABLE or (name == "merged" and listed):
        gone = text_of(call)[len(text_of(receiver)) :]
        yield Edit(MutantKind.DROPPED, call.start_byte, call.end_byte, text_of(receiver), f"without {_short(gone)}")
    if listed and _swaps(call, name, listed, names):
        first, second = text_of(receiver), text_of(listed[0])
        if listed[0].type not in ("identifier", "call", "parenthesized_statements"):
            second = f"({second})"
        text = call.text or b""
        start = listed[0].start_byte - call.start_byte
        end = listed[0].end_byte - call.start_byte
        between = text[receiver.end_byte - call.start_byte : start].decode()
        yield _replaced(MutantKind.SWAPPED, call, f"{second}{between}{first}{text[end:].decode()}")


def _index(names: _Names, call: Node) -> int:
    return list(names.pairs).index(f"{call.start_byte}")


def _swaps(call: Node, name: str, listed: list[Node], names: _Names) -> bool:
    if listed[0].type not in ("identifier", "call", "parenthesized_statements", "binary"):
        return False
    if ruby.is_number(listed[0], names.numbers):
        return False
    if name in ("separation", "sep", "overlap"):
        return any(_option_name(one) in ONE_SIDED_OPTIONS for one in listed)
    return name in SWAPPABLE and not (name in SYMMETRIC_WHEN_OUTPUT and _is_output(call))


def _is_output(call: Node) -> bool:
    return call.parent is not None and method_name(call.parent) == "output"


def _option_name(node: Node) -> str:
    return method_name(node.child_by_field_name("left") if node.type == "binary" else node)


def _option_edits(call: Node, name: str, listed: list[Node]) -> Iterator[Edit]:
    options = [_option_name(one) for one in listed]
    if listed and not set(options) & set(METRICS):
        place = listed[-1].end_byte
        for metric in METRICS[1:]:
            yield Edit(MutantKind.METRIC, place, place, f", {metric}", f"{name} measured by {metric}")
    for number, (option, node) in enumerate(zip(options, listed, strict=True)):
        if option not in OPTIONS or (option == "whole_edges" and _is_output(call)):
            continue  # whole edges instead of parts are as many violations
        if number:
            start, end = listed[number - 1].end_byte, node.end_byte
        else:
            start, end = node.start_byte, listed[1].start_byte if len(listed) > 1 else node.end_byte
        yield Edit(MutantKind.METRIC, start, end, "", f"{name} without {_short(text_of(node))}")


def _output_edits(call: Node, listed: list[Node]) -> Iterator[Edit]:
    if listed and listed[0].type == "string":
        place = listed[0].end_byte - 1
        yield Edit(MutantKind.CATEGORY, place, place, "_other", f"category {text_of(listed[0])} renamed")
    if call.parent is not None and call.parent.type not in ("call", "assignment", "argument_list", "binary"):
        yield Edit(MutantKind.SILENT, call.start_byte, call.end_byte, "nil", f"without {_short(text_of(call))}")


def _binary_edits(node: Node, names: _Names) -> Iterator[Edit]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = node.child_by_field_name("operator")
    if left is None or right is None or sign is None or ruby.is_string(left) or ruby.is_string(right):
        return
    operator = text_of(sign)
    if operator in OTHER_COMPARISONS:
        yield _replaced(MutantKind.COMPARISON, sign, OTHER_COMPARISONS[operator])
    if operator not in OTHER_OPERATORS:
        return
    yield _replaced(MutantKind.DROPPED, node, text_of(left))
    yield _replaced(MutantKind.DROPPED, node, text_of(right))
    if ruby.is_number(left, names.numbers) or ruby.is_number(right, names.numbers):
        return
    for other in OTHER_OPERATORS[operator]:
        yield _replaced(MutantKind.CHECK, sign, other)
    if operator == "-":
        last = f"({text_of(left)})" if left.type == "binary" else text_of(left)
        yield _replaced(MutantKind.SWAPPED, node, f"{text_of(right)} - {last}")


def _number_edits(node: Node, dbu_um: Decimal) -> Iterator[Edit]:
    text = text_of(node).replace("_", "")
    if re.fullmatch(r"0|[1-9]\d*|\d+\.\d+([eE][+-]?\d+)?", text) is None or node.parent is None:
        return  # hexadecimal and the like, which no deck measures with
    if node.parent.type == "element_reference":
        return
    value = Decimal(text)
    for sign in (1, -1):
        other = value + sign * _step(node, value, dbu_um)
        if other >= 0:
            written = f"{other.normalize():f}"
            written = f"{written}.0" if node.type == "float" and "." not in written else written
            yield _replaced(MutantKind.NUMBER, node, written)


def _step(node: Node, value: Decimal, dbu_um: Decimal) -> Decimal:
    """By how much a number is put wrong, in its own unit: one dbu, 1,000 dbu² of an area, 1° of an angle, a hundredth
    of what has no unit."""
    parent = node.parent
    unit = method_name(parent) if parent is not None and parent.type == "call" else ""
    unit = unit if unit in ruby.UNITS and parent is not None and parent.child_by_field_name("receiver") == node else ""
    context = ruby.measured_by(node)
    whole = node.type == "integer" and not unit
    if unit == "degree" or ANGLE.search(context):
        return Decimal(1)
    if RELATIVE.search(context):
        return Decimal(1) if whole else max(value / 100, Decimal("0.001"))
    area = unit.endswith("2") or (not unit and AREA.search(context) is not None)
    if whole or unit == "dbu":
        return Decimal(1000 if area else 1)
    scale = Decimal(ruby.UNITS_UM.get(unit.removesuffix("2"), "1"))
    return 1000 * (dbu_um / scale) ** 2 if area else dbu_um / scale
