"""What is odd about the rules of a run: noted where they are collected, told once at the end."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_iclayout.rules.rule import Rule

_IDLE = "have no item: no gold deck for the gate, and no --agent=NAME that would write a deck"
_MOST_KINDS = 5
_MOST_IDS = 3
_MOST_PATHS = 3

_key = pytest.StashKey[dict[str, list[tuple[str, str]]]]()
"""By suite and id of a rule: kinds of its warnings with its id.  Of simple types: it goes from process to process."""


def note(config: pytest.Config, rule: Rule, *, idle: bool) -> None:
    """Keep the rule's warnings, and whether it has no item at all."""
    kinds = [*(_kind(rule, one) for one in rule.warnings), *([_IDLE] if idle else [])]
    if kinds:
        noted(config)[f"{rule.suite}/{rule.id}"] = [(kind, rule.id) for kind in kinds]


def noted(config: pytest.Config) -> dict[str, list[tuple[str, str]]]:
    return config.stash.setdefault(_key, {})


def merge(config: pytest.Config, others: Any) -> None:
    """Take over what a worker noted: all of them collect the same rules."""
    noted(config).update(others or {})


def lines(config: pytest.Config) -> Iterator[str]:
    """A line for each kind of warning, with the first rules that have it; none where there are no warnings."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for warnings in noted(config).values():
        for kind, rule_id in warnings:
            kinds[kind].append(rule_id)
    idle = kinds.pop(_IDLE, [])
    if idle:
        yield f"{len(idle)} rules {_IDLE}"
    if not kinds:
        return
    total, rules = sum(map(len, kinds.values())), {one for ids in kinds.values() for one in ids}
    yield f"{total} warnings about {len(rules)} rules; all of them: iclayout rules list {_paths(config)}"
    for kind, ids in list(kinds.items())[:_MOST_KINDS]:
        first = list(dict.fromkeys(ids))
        more = f" and {len(first) - _MOST_IDS} more" if len(first) > _MOST_IDS else ""
        yield f"  {len(ids)} x {kind} ({', '.join(first[:_MOST_IDS])}{more})"
    if len(kinds) > _MOST_KINDS:
        yield f"  and {len(kinds) - _MOST_KINDS} other kinds"


def _kind(rule: Rule, warning: str) -> str:
    """The warning up to its semicolon, with words in place of what only this rule has in it."""
    kind = re.sub(r"^(layout|category) [^:]+:", r"\1 NAME:", warning.partition(";")[0])
    names = {**dict.fromkeys(rule.category_names, "NAME"), rule.id: "ID"}
    for name in sorted(names, key=len, reverse=True):
        kind = re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", names[name], kind)
    return kind


def _paths(config: pytest.Config) -> str:
    """What pytest was given, as far as it is on the disk."""
    given = (Path(one.partition("::")[0]) for one in config.args)
    here = config.invocation_params.dir
    shown = [os.path.relpath(one, here) if one.is_relative_to(here) else str(one) for one in given if one.exists()]
    return " ".join(shown) if 0 < len(shown) <= _MOST_PATHS else "PATH"
