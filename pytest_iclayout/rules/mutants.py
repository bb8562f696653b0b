"""Mutants of a gold deck: decks with one small fault each, which good layouts tell from the gold deck."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.rules import ruby
from pytest_iclayout.rules.deck_edits import MutantKind, edits
from pytest_iclayout.rules.rule import Rule

MOST_MUTANTS = 24
"""Of a rule that are tried unless somebody asks for another number."""


class MutantKeyError(ValueError):
    """A key that is none, or that names no mutant of the deck."""


class Mutant(BaseModel):
    """A deck with one fault. ``line`` and ``column`` (in characters) count from 1, as ``number`` does the faults of
    one kind in one place."""

    model_config = ConfigDict(frozen=True)

    kind: MutantKind
    line: int
    column: int
    number: int
    description: str
    text: str

    @property
    def key(self) -> str:
        """``kind:line:column:number``, the same each time for the same deck."""
        return f"{self.kind.value}:{self.line}:{self.column}:{self.number}"


class MutationReport(BaseModel):
    """What a rule's layouts say of the mutants of its gold deck. ``equivalent`` are those that were left out."""

    model_config = ConfigDict(frozen=True)

    rule: str
    killed: int
    survivors: tuple[Mutant, ...]
    equivalent: int = 0

    @property
    def tried(self) -> int:
        return self.killed + len(self.survivors)

    @property
    def share(self) -> float:
        """Of the tried mutants that were killed; 1 where none was tried."""
        return self.killed / self.tried if self.tried else 1.0


def mutants_of(deck_text: str, dbu_um: float = 0.001) -> list[Mutant]:
    """All mutants of a deck, each text once, by kind and then by place.

    Strings (but for the category of an output), comments, and what ``source`` and ``report`` are given stay as they
    are.  What cannot be parsed is not mutated.
    """
    data = deck_text.encode()
    numbers: Counter[tuple[MutantKind, int, int]] = Counter()
    seen = {deck_text}
    found = []
    order = {kind: number for number, kind in enumerate(MutantKind)}
    listed = edits(ruby.parse(deck_text), len(data), str(dbu_um))
    for edit in sorted(listed, key=lambda one: (order[one.kind], one.start)):  # sorted() keeps the order of equals
        before = data[: edit.start].decode()
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        numbers[edit.kind, line, column] += 1
        text = f"{before}{edit.text}{data[edit.end :].decode()}"
        if text in seen:
            continue
        seen.add(text)
        found.append(
            Mutant(
                kind=edit.kind,
                line=line,
                column=column,
                number=numbers[edit.kind, line, column],
                description=edit.description,
                text=text,
            )
        )
    return found


def check_keys(keys: Collection[str], mutants: Sequence[Mutant]) -> None:
    """Raises MutantKeyError for a key that names none of the mutants."""
    kinds = "|".join(one.value for one in MutantKind)
    known = {one.key for one in mutants}
    for key in keys:
        match = re.fullmatch(rf"({kinds}):(\d+):\d+:\d+", key)
        if match is None:
            raise MutantKeyError(f"{key!r} is no mutant's key; write KIND:LINE:COLUMN:NUMBER with a kind of {kinds}")
        if key not in known:
            near = [one.key for one in mutants if one.key.startswith(f"{match[1]}:{match[2]}:")]
            near = near or [one.key for one in mutants if one.kind.value == match[1]]
            raise MutantKeyError(f"{key!r} names no mutant of the gold deck; near it are {', '.join(near) or 'none'}")


def chosen(mutants: Sequence[Mutant], most: int = MOST_MUTANTS) -> list[Mutant]:
    """At most so many, always the same: as many of each kind as can be, and those spread evenly over the deck."""
    by_kind = {kind: [one for one in mutants if one.kind is kind] for kind in MutantKind}
    shares = dict.fromkeys(MutantKind, 0)
    left = min(most, len(mutants))
    while left > 0:
        for kind in MutantKind:
            if left and shares[kind] < len(by_kind[kind]):
                shares[kind] += 1
                left -= 1
    return [
        by_kind[kind][number * len(by_kind[kind]) // share] for kind, share in shares.items() for number in range(share)
    ]


def mutants_to_try(rule: Rule, most: int = MOST_MUTANTS) -> list[Mutant]:
    """Of the rule's gold deck, without those that the rule declares equivalent; none of a rule without a gold deck.

    Raises RuleError for a gold deck that cannot be read, MutantKeyError for a key that names no mutant.
    """
    gold = rule.gold_deck()
    if gold is None:
        return []
    mutants = mutants_of(gold.files[gold.name].decode("utf-8", "replace"), rule.dbu_um)
    check_keys(rule.equivalent, mutants)
    return chosen([one for one in mutants if one.key not in rule.equivalent], most)
