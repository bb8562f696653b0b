"""The syntax tree of a deck, which is a Ruby script. tree-sitter parses it; nothing of the deck is run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import tree_sitter_ruby
from tree_sitter import Language, Node, Parser

UNITS_UM = {"um": "1", "micron": "1", "nm": "0.001", "mm": "1000", "m": "1000000"}
"""Methods of numbers that give them a unit, in µm; each but ``micron2`` also has one with a 2 for areas."""
UNITS = frozenset({*UNITS_UM, *(f"{name}2" for name in UNITS_UM), "dbu", "degree"})


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_ruby.language()))


def parse(text: str) -> Node:
    """The root of a deck's tree. What is no Ruby becomes ``ERROR`` nodes, which :func:`walk` leaves out."""
    return _parser().parse(text.encode()).root_node


def walk(root: Node) -> Iterator[Node]:
    """All nodes in the order of the text, but not below strings, comments and what could not be parsed."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            continue
        yield node
        if node.type not in ("string", "heredoc_body", "comment"):
            waiting.extend(reversed(node.children))


def text_of(node: Node) -> str:
    return (node.text or b"").decode()


def method_name(node: Node | None) -> str:
    """What a call calls, or a bare name that may be a call; empty for all else."""
    if node is not None and node.type == "call":
        node = node.child_by_field_name("method")
    return text_of(node) if node is not None and node.type in ("identifier", "constant") else ""


def arguments(call: Node) -> list[Node]:
    listed = call.child_by_field_name("arguments")
    return [] if listed is None else [one for one in listed.named_children if one.type != "comment"]


def is_method_name(node: Node) -> bool:
    """Whether a name stands after the dot, or before the arguments, of a call."""
    return node.parent is not None and node.parent.type == "call" and node.parent.child_by_field_name("method") == node


def argument_of(node: Node) -> Iterator[Node]:
    """The calls that a node is part of an argument of, the nearest first; not beyond a block."""
    while (parent := node.parent) is not None and parent.type not in ("block", "do_block", "method"):
        if parent.type == "argument_list" and parent.parent is not None:
            yield parent.parent
            parent = parent.parent
        node = parent


def measured_by(node: Node) -> str:
    """The name of the nearest call that a number is an argument of, or of what it is compared with; may be empty."""
    while (parent := node.parent) is not None and parent.type not in ("block", "do_block", "method"):
        if parent.type == "argument_list":
            return method_name(parent.parent)
        if parent.type == "binary":
            left, right = parent.child_by_field_name("left"), parent.child_by_field_name("right")
            if name := method_name(right if left == node else left):
                return name
        node = parent
    return ""


def is_number(node: Node, names: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is a number, as far as its text says: ``names`` are variables that hold one."""
    if node.type in ("integer", "float"):
        return True
    if node.type == "identifier":
        return text_of(node) in names
    if node.type in ("unary", "parenthesized_statements"):
        return len(node.named_children) == 1 and is_number(node.named_children[0], names)
    if node.type == "binary":
        sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        return all(side is not None and is_number(side, names) for side in sides)
    receiver = node.child_by_field_name("receiver") if node.type == "call" else None
    return receiver is not None and method_name(node) in UNITS and is_number(receiver, names)


def is_string(node: Node) -> bool:
    """Whether an expression is a text, or joins one to something."""
    if node.type == "binary":
        sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        return any(side is not None and is_string(side) for side in sides)
    return node.type in ("string", "chained_string", "heredoc_beginning")
