"""Judging a deck by the executions on a rule's labelled layouts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.drc.category_names import written_name
from pytest_iclayout.drc.decks.execution import Execution, Status
from pytest_iclayout.rules.rule import Rule


class Reading(str, Enum):
    STRICT = "strict"
    """A run that did not come to its end says nothing: the deck is in error."""
    LENIENT = "lenient"
    """As the published evaluator reads it: such a run found no violation, and categories are compared with what
    stands in the report, where KLayout quotes some names."""


class Confusion(BaseModel):
    """Counts over the layouts of a rule; a violation is the positive class."""

    model_config = ConfigDict(frozen=True)

    true_positive: int = 0
    false_positive: int = 0
    false_negative: int = 0
    true_negative: int = 0

    @property
    def f1(self) -> float:
        """2 TP / (2 TP + FP + FN); 0 where that is 0 / 0, as the published evaluator has it."""
        wrong = self.false_positive + self.false_negative
        return 0.0 if self.true_positive == 0 else 2 * self.true_positive / (2 * self.true_positive + wrong)

    @property
    def right(self) -> bool:
        return self.false_positive == self.false_negative == 0


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
    when read strictly."""

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
    counts = {name: [0, 0, 0, 0] for name in rule.category_names}
    results = []
    for layout, execution in zip(rule.layouts, executions, strict=True):
        found = execution.violated if execution.ok else frozenset[str]()
        if reading is Reading.LENIENT:
            found = frozenset(map(written_name, found))
        for name in rule.category_names:
            counts[name][2 * (name not in found) + (name not in layout.violates)] += 1
        silent = not execution.ok
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
        name: Confusion(true_positive=tp, false_positive=fp, false_negative=fn, true_negative=tn)
        for name, (tp, fp, fn, tn) in counts.items()
    }
    error = any(one.status is not Status.OK for one in results)
    f1 = sum(one.f1 for one in categories.values()) / len(categories)
    if reading is Reading.STRICT:
        right = all(one.right for one in results)
        return RuleVerdict(
            reading=reading, success=right, error=error, f1=0.0 if error else f1,
            categories=categories, layouts=tuple(results),
        )  # fmt: skip
    met = all(one.f1 == 1.0 for one in categories.values()) and not any(one.unexpected for one in results)
    return RuleVerdict(
        reading=reading, success=met, error=error, f1=f1, categories=categories, layouts=tuple(results)
    )  # fmt: skip
