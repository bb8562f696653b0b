"""How much of KLayout's DRC language decks use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from tree_sitter import Node

from pytest_iclayout.rules import ruby
from pytest_iclayout.rules.deck_vocabulary import OTHER_OPERATORS
from pytest_iclayout.rules.ruby import is_method_name, method_name, text_of
from pytest_iclayout.technology import toml

_DATA = Path(__file__).with_name("drc_methods.toml")
_BINDING = frozenset(
    {"block_parameters", "method_parameters", "lambda_parameters", "splat_parameter", "destructured_parameter"}
    | {"left_assignment_list", "rest_assignment", "exception_variable"}
)
"""Nodes whose names are variables."""
_RUBY_VALUES = frozenset({"array", "hash", "range", "string", "string_array", "symbol_array", "integer", "float"})


class Language(BaseModel):
    """The methods of the DRC language, of one version of KLayout.

    ``methods`` gives for each name the kinds of objects that have it: ``global``, ``layer``, ``source``, ``netter``,
    ``drc`` (expressions in ``layer.drc(...)``), or ``option`` for what is only an argument of others.
    """

    model_config = ConfigDict(frozen=True)

    version: str
    methods: dict[str, tuple[str, ...]]


class LanguageCoverage(BaseModel):
    """``used`` counts the decks by the methods that they use; ``missing`` are the methods that none does."""

    model_config = ConfigDict(frozen=True)

    klayout: str
    decks: int
    used: dict[str, int]
    missing: dict[str, tuple[str, ...]]


@cache
def drc_language() -> Language:
    return Language.model_validate(toml.loads(_DATA.read_text(encoding="utf-8")))


def methods_of(deck_text: str) -> frozenset[str]:
    """The methods of the DRC language that a deck names, operators included.

    Told from the text: variables, parameters and methods of the deck's own are none, nor is what is called on an
    array, a string or a number; ``join`` of a variable that holds an array is taken for that of a layer.
    """
    root = ruby.parse(deck_text)
    own = {text_of(one) for one in ruby.walk(root) if one.type == "identifier" and _binds(one)}
    return frozenset(name for one in ruby.walk(root) for name in _names(one, own)) & drc_language().methods.keys()


def language_coverage(deck_texts: Iterable[str]) -> LanguageCoverage:
    """What all the decks together use."""
    language = drc_language()
    counts: Counter[str] = Counter()
    decks = 0
    for text in deck_texts:
        counts.update(methods_of(text))
        decks += 1
    return LanguageCoverage(
        klayout=language.version,
        decks=decks,
        used={name: counts[name] for name in sorted(counts)},
        missing={name: objects for name, objects in language.methods.items() if name not in counts},
    )


def _binds(name: Node) -> bool:
    parent = name.parent
    if parent is None:
        return False
    if parent.type in ("assignment", "operator_assignment"):
        return parent.child_by_field_name("left") == name
    if parent.type in ("optional_parameter", "keyword_parameter", "method"):
        return parent.child_by_field_name("name") == name
    if parent.type == "for":
        return parent.child_by_field_name("pattern") == name
    return parent.type in _BINDING


def _names(node: Node, own: set[str]) -> Iterator[str]:
    if node.type == "identifier":
        if not is_method_name(node) and text_of(node) not in own:
            yield text_of(node)
    elif node.type == "call":
        receiver = node.child_by_field_name("receiver")
        name = method_name(node)
        if (receiver is None and name not in own) or (receiver is not None and not _is_ruby_value(receiver)):
            yield name
    elif node.type == "binary":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if (
            left is not None
            and right is not None
            and sign is not None
            and text_of(sign) in OTHER_OPERATORS
            and not any(ruby.is_number(one) or ruby.is_string(one) for one in (left, right))
        ):
            yield text_of(sign)
    elif node.type == "unary":
        sign = node.child_by_field_name("operator")
        if sign is not None and text_of(sign) == "!" and "drc" in map(method_name, ruby.argument_of(node)):
            yield "!"


def _is_ruby_value(node: Node) -> bool:
    while node.type == "parenthesized_statements" and len(node.named_children) == 1:
        node = node.named_children[0]
    return node.type in _RUBY_VALUES
