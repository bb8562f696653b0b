"""Judging a deck by the executions on a rule's labelled layouts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.drc.decks.execution import Execution, Status
from pytest_iclayout.rules.rule import Rule


class Reading(str, Enum):
    STRICT = "strict"
    """A run that did not come to its end says nothing: the deck is in error."""
    LENIENT = "lenient"
    """As the published evaluator reads it: such a run found no violation, and categories are compared with what
    stands in the report, where KLayout quotes some names."""


class Confusion(BaseModel):
    """Counts over the layouts of a rule; a violation is the positive class.

    ``error`` counts those on which the deck did not run to its end, which are none of the others: it said nothing.
    """

    model_config = ConfigDict(frozen=True)

    true_positive: int = 0
    false_positive: int = 0
    false_negative: int = 0
    true_negative: int = 0
    error: int = 0

    @property
    def f1(self) -> float:
        """2 TP / (2 TP + FP + FN); 0 where that is 0 / 0, as the published evaluator has it, and in error."""
        wrong = self.false_positive + self.false_negative
        if self.error or self.true_positive == 0:
            return 0.0
        return 2 * self.true_positive / (2 * self.true_positive + wrong)


class LayoutResult(BaseModel):
    """What a deck said of one layout: ``missed`` violations, and ``false`` ones, which are none."""

    model_config = ConfigDict(frozen=True)

    layout: str
    status: Status
    reason: str = ""
    missed: tuple[str, ...] = ()
    false: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    """Categories with violations that the rule does not have."""

    def __str__(self) -> str:
        if self.status is not Status.OK:
            return f"{self.layout}: {self.status.value}: {self.reason}"
        said = (("missed", self.missed), ("false", self.false), ("no category of the rule", self.unexpected))
        return f"{self.layout}: " + "; ".join(f"{what}: {', '.join(names)}" for what, names in said if names)

    @property
    def right(self) -> bool:
        return self.status is Status.OK and not (self.missed or self.false or self.unexpected)


class RuleVerdict(BaseModel):
    """``success``: every label of every category is met, no other category is reported and, read strictly, every
    run came to its end.  ``error``: at least one run did not.  ``f1`` is the mean over the categories; 0 in error
    when read strictly.  Read leniently, a run that did not come to its end is counted as one that found nothing."""

    model_config = ConfigDict(frozen=True)

    reading: Reading
    success: bool
    error: bool
    f1: float
    categories: dict[str, Confusion]
    layouts: tuple[LayoutResult, ...]

    def summary(self) -> str:
        """One line: what is wrong, first what says most."""
        ended = [one for one in self.layouts if one.status is not Status.OK]
        missed = [one for one in self.layouts if one.missed]
        false = [one for one in self.layouts if one.false]
        other = sorted({name for one in self.layouts for name in one.unexpected})
        total = len(self.layouts)
        parts = []
        if ended:
            parts.append(f"did not run to its end on {len(ended)} of {total} layouts: {ended[0].reason}")
        if missed:
            parts.append(f"missed violations on {len(missed)} of {total} layouts ({missed[0].layout})")
        if false:
            parts.append(f"reported false violations on {len(false)} of {total} layouts ({false[0].layout})")
        if other:
            parts.append(f"reports categories that the rule does not have: {', '.join(other)}")
        return "; ".join(parts) or f"all {total} layouts as labelled"


def evaluate(rule: Rule, executions: Sequence[Execution], reading: Reading = Reading.STRICT) -> RuleVerdict:
    """One execution for each of the rule's layouts, in their order.

    The published evaluator (see docs/rules.md) counts a run without a report as one without violations, a category
    whose labels are all 0 as failed, and sees no category that KLayout quotes; the lenient reading does all of it.
    """
    counts = {name: [0, 0, 0, 0, 0] for name in rule.category_names}
    results = []
    for layout, execution in zip(rule.layouts, executions, strict=True):
        found = frozenset(execution.written) if reading is Reading.LENIENT else execution.violated
        silent = not execution.ok
        for name in rule.category_names:
            told = 2 * (name not in found) + (name not in layout.violates)
            counts[name][4 if silent and reading is Reading.STRICT else told] += 1
        results.append(
            LayoutResult(
                layout=layout.name,
                status=execution.status,
                reason=execution.reason,
                missed=() if silent else tuple(sorted(layout.violates - found)),
                false=() if silent else tuple(name for name in rule.category_names if name in found - layout.violates),
                unexpected=tuple(sorted(found - set(rule.category_names))),
            )
        )
    categories = {
        name: Confusion(true_positive=tp, false_positive=fp, false_negative=fn, true_negative=tn, error=error)
        for name, (tp, fp, fn, tn, error) in counts.items()
    }
    if reading is Reading.STRICT:
        success = all(one.right for one in results)
    else:
        success = all(one.f1 == 1.0 for one in categories.values()) and not any(one.unexpected for one in results)
    return RuleVerdict(
        reading=reading,
        success=success,
        error=any(one.status is not Status.OK for one in results),
        f1=sum(one.f1 for one in categories.values()) / len(categories),
        categories=categories,
        layouts=tuple(results),
    )


def most_telling(results: Sequence[LayoutResult]) -> LayoutResult | None:
    """The first that is wrong: with a label that is not met, else with another category, else in error."""
    wrong = [one for one in results if not one.right]
    return min(wrong, key=lambda one: (not (one.missed or one.false), one.status is not Status.OK), default=None)
