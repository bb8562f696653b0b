"""The two-way gate of a rule: its gold deck must meet every label, and its layouts must catch mutated decks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from pytest_iclayout.checking.gate import GateFailure, GateSettings
from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.execution import Execution
from pytest_iclayout.drc.decks.pool import DeckPool, run_all
from pytest_iclayout.rules.agreement import disagreement
from pytest_iclayout.rules.deck_edits import MutantKind
from pytest_iclayout.rules.evaluate import LayoutResult, evaluate, most_telling
from pytest_iclayout.rules.mutants import MOST_MUTANTS, Mutant, MutantKeyError, MutationReport, mutants_to_try
from pytest_iclayout.rules.published import check_layouts
from pytest_iclayout.rules.random_layouts import labelled_layouts
from pytest_iclayout.rules.rule import LabelledLayout, Rule

_PORTIONS = (4, 12)
"""Mutants are run on so many layouts first, and those that are left on more."""


_TOGETHER = 8
"""Random layouts of one example."""


class RuleGateFailure(GateFailure):
    """The rule may not judge decks; ``layout`` is one that shows why, where there is one, and ``result`` what the gold
    deck said of it."""

    def __init__(self, message: str, layout: LabelledLayout | None = None, result: LayoutResult | None = None) -> None:
        super().__init__(message, b"")
        self.layout = layout
        self.result = result


class RuleGateError(Exception):
    """Nothing could be told of the rule: the trouble is the machine's."""


@dataclass(frozen=True)
class _Tried:
    """A gold deck's executions on the rule's layouts, and what is wrong with them.  It holds the rule so that no other
    one can have its identity."""

    rule: Rule
    executions: tuple[Execution, ...] = ()
    failure: RuleGateFailure | None = None


_tried: dict[int, _Tried] = {}
"""By the identity of the rule, once in a process."""


def require_sound(rule: Rule, pool: DeckPool) -> None:
    """Run before a rule judges an agent's deck, whatever of its gate was selected.

    A rule whose layouts violate nothing may not: a deck that reports nothing would be right.  One without a gold deck
    has nobody to ask: its labels are taken as they are.  Raises RuleGateFailure, RuleGateError.
    """
    failure = _gold(rule, pool).failure
    if failure is not None:
        raise RuleGateFailure(failure.message, failure.layout, failure.result)


def check_accepts(rule: Rule, pool: DeckPool, key: str, gate: GateSettings) -> int:
    """How many layouts were tried: the gold deck meets every label.

    Where the rule declares what it measures, so do the embedded engine and the gold deck on ``gate.examples`` random
    layouts for each category: three that must agree.  Raises RuleGateFailure with the smallest layout that
    Hypothesis finds, RuleGateError.
    """
    if problems := check_layouts(rule):
        raise RuleGateFailure("; ".join(problems))
    require_sound(rule, pool)
    deck, tried = rule.gold_deck(), len(rule.layouts)
    if deck is None:
        return tried
    for category in rule.structures:
        for layout, execution in zip(rule.layouts, _gold(rule, pool).executions, strict=True):
            if message := disagreement(rule, category, layout, execution):
                raise RuleGateFailure(message, layout)
        tried += _random_layouts_agree(rule, category, deck, pool, key, gate)
    return tried


def check_rejects(rule: Rule, pool: DeckPool, most: int = MOST_MUTANTS) -> MutationReport:
    """The rule's layouts tell mutated gold decks from the gold deck.

    Raises RuleGateFailure where they tell none, or where the rule names an equivalent mutant that is none;
    RuleGateError.
    """
    require_sound(rule, pool)
    try:
        mutants = mutants_to_try(rule, most)
    except MutantKeyError as error:
        raise RuleGateFailure(f"equivalent: {error}") from error
    survivors = _survivors(rule, mutants, pool)
    # A deck that crashes is told by any layout with a shape.
    faults, left = (sum(one.kind is not MutantKind.CRASH for one in some) for some in (mutants, survivors))
    if faults and faults == left:
        raise RuleGateFailure(f"none of {faults} mutated gold decks is told by the {len(rule.layouts)} layouts")
    return MutationReport(
        rule=rule.id,
        killed=len(mutants) - len(survivors),
        survivors=tuple(survivors),
        equivalent=len(rule.equivalent),
    )


def _survivors(rule: Rule, mutants: Sequence[Mutant], pool: DeckPool) -> Sequence[Mutant]:
    """The mutants that meet every label: run on a few layouts first, which tell most of them."""
    left = mutants
    for layouts in _portions(rule.layouts):
        part = replace(rule, layouts=layouts)
        data = [one.gds() for one in layouts]
        # All are queued before the first is waited for.
        running = [pool.run(Deck.of_text(one.text, f"{rule.id}.drc"), data, batch=True) for one in left]
        verdicts = [evaluate(part, _checked(future.result() for future in futures)) for futures in running]
        left = [one for one, verdict in zip(left, verdicts, strict=True) if verdict.success]
    return left


def _portions(layouts: Sequence[LabelledLayout]) -> Iterator[Sequence[LabelledLayout]]:
    """Some layouts of both labels, then more, then all others."""
    clean, violating = ([one for one in layouts if bool(one.violates) is which] for which in (False, True))
    mixed = [one for pair in zip_longest(violating, clean) for one in pair if one is not None]
    for start, end in pairwise((0, *_PORTIONS, len(mixed))):
        if mixed[start:end]:
            yield mixed[start:end]


def _gold(rule: Rule, pool: DeckPool) -> _Tried:
    """Raises RuleGateError."""
    if id(rule) not in _tried:
        _tried[id(rule)] = _try(rule, pool)
    return _tried[id(rule)]


def _try(rule: Rule, pool: DeckPool) -> _Tried:
    deck = rule.gold_deck()
    if deck is None and (problems := check_layouts(rule)):
        # Nothing else tells that a deck is not to blame.
        return _Tried(rule, failure=RuleGateFailure("; ".join(problems)))
    executions = () if deck is None else tuple(_run(deck, rule.layouts, pool))
    if deck is not None:
        verdict = evaluate(rule, executions)
        if wrong := most_telling(verdict.layouts):
            layout = next(one for one in rule.layouts if one.name == wrong.layout)
            return _Tried(rule, failure=RuleGateFailure(f"the gold deck {verdict.summary()}", layout, wrong))
    if not any(one.violates for one in rule.layouts):
        return _Tried(
            rule, failure=RuleGateFailure("no layout violates anything: a deck that reports nothing is right")
        )
    return _Tried(rule, executions)


def _random_layouts_agree(rule: Rule, category: str, deck: Deck, pool: DeckPool, key: str, gate: GateSettings) -> int:
    """How many were tried.  A child of the pool takes several in turn."""
    from hypothesis import given
    from hypothesis import strategies as st

    several = min(gate.examples, _TOGETHER)
    strategy = labelled_layouts(category, rule.structures[category], rule.layers, rule.dbu_um)
    seen = 0

    @gate.hypothesis(f"{key}-{category}", -(-gate.examples // several))
    @given(st.lists(strategy, min_size=several, max_size=several).map(_Several))
    def all_three_agree(layouts: _Several) -> None:
        nonlocal seen
        seen += len(layouts)
        for layout, execution in zip(layouts, _run(deck, layouts, pool), strict=True):
            if message := disagreement(rule, category, layout, execution):
                raise RuleGateFailure(message, layout)

    all_three_agree()
    return seen


class _Several(list[LabelledLayout]):
    """Hypothesis shows a failing example whole; the one layout that matters is in the failure."""

    def __repr__(self) -> str:
        return f"<{len(self)} layouts>"


def _run(deck: Deck, layouts: Sequence[LabelledLayout], pool: DeckPool) -> list[Execution]:
    return _checked(run_all(pool, deck, [one.gds() for one in layouts], batch=True))


def _checked(executions: Iterable[Execution]) -> list[Execution]:
    """Raises RuleGateError where a run could not be had for what is not the deck's fault."""
    found = list(executions)
    for one in found:
        if one.infrastructure:
            raise RuleGateError(one.reason)
    return found
