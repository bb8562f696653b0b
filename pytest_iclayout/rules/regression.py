"""Judging a deck that somebody maintains: rule by rule, by what it reports where labels stand."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.drc.decks.execution import Execution
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.rules.markers import in_um


class RuleStatus(str, Enum):
    """Of a rule, and of one label of it."""

    MET = "met"
    MISSED = "missed violation"
    FALSE = "false violation"
    NOT_IMPLEMENTED = "not implemented"
    NOT_TESTED = "not tested"
    ERROR = "error"


NEXT_STEPS = {
    RuleStatus.MISSED: "look at the picture; compare the check's value, layers and options with the rule",
    RuleStatus.FALSE: "look at the picture; the check forbids what the rule allows, or the label is wrong",
    RuleStatus.NOT_IMPLEMENTED: "add the check, or name its category as the labels do",
    RuleStatus.NOT_TESTED: "label a layout for it",
    RuleStatus.ERROR: "mend the deck first; iclayout drc DECK LAYOUT shows what it prints",
}
"""What to do about a rule that is not met."""

_WORST_FIRST = (
    RuleStatus.ERROR, RuleStatus.NOT_IMPLEMENTED, RuleStatus.MISSED, RuleStatus.FALSE, RuleStatus.MET
)  # fmt: skip


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Label(_Frozen):
    """What a layout says of a rule: of the whole layout, or of the region in a box (dbu of the top cell).

    ``layout`` is the file's name for messages, ``dbu_um`` the layout's database unit where there is a region.
    """

    rule: str
    layout: str
    violated: bool
    region: Rect | None = None
    dbu_um: float = 0.001

    @property
    def where(self) -> str:
        return self.layout if self.region is None else f"{self.layout} box {in_um(self.region.to_db(), self.dbu_um)}"


class Observation(_Frozen):
    """What the deck said of the layout or region of a label; ``places`` are markers in dbu of the top cell."""

    execution: Execution
    reported: bool = False
    places: tuple[Rect, ...] = ()


class LabelResult(_Frozen):
    label: Label
    status: RuleStatus
    reason: str = ""
    """Of an error: why the run did not come to its end."""
    places: tuple[Rect, ...] = ()

    def __str__(self) -> str:
        wanted = "labelled fail" if self.label.violated else "labelled pass"
        if self.status is RuleStatus.ERROR:
            return f"error: {self.label.where}: {self.reason}"
        if self.status is RuleStatus.MISSED:
            return f"missed violation: {self.label.where}: {wanted}, the deck reports nothing there"
        if self.status is not RuleStatus.FALSE:
            return f"{self.status.value}: {self.label.where}: {wanted}"
        shown = [in_um(place.to_db(), self.label.dbu_um) for place in self.places[:_MOST_PLACES]]
        more = len(self.places) - len(shown)
        at = f" at {', '.join(shown)}{f' and {more} more' if more else ''}" if shown else ""
        return f"false violation: {self.label.where}: {wanted}, the deck reports one{at}"


_MOST_PLACES = 3


class RuleResult(_Frozen):
    """``status`` is the worst of the labels'."""

    rule: str
    status: RuleStatus
    labels: tuple[LabelResult, ...]
    similar: tuple[str, ...] = ()
    """Categories of the deck whose names look like that of a rule that it does not implement."""

    @property
    def counts(self) -> Counter[RuleStatus]:
        return Counter(one.status for one in self.labels)

    @property
    def summary(self) -> str:
        """One line: ``2 missed violation, 11 met of 13 labels``."""
        if self.status is RuleStatus.NOT_IMPLEMENTED:
            known = f"; similar ones: {', '.join(self.similar)}" if self.similar else ""
            return f"not implemented: the deck's reports have no category {self.rule}{known}"
        counts = self.counts
        parts = [f"{counts[status]} {status.value}" for status in _WORST_FIRST if counts[status]]
        return f"{', '.join(parts)} of {len(self.labels)} label{'s' * (len(self.labels) != 1)}"


def judge_rule(rule: str, labels: Iterable[tuple[Label, Observation]]) -> RuleResult:
    """A rule by all its labels.

    It is not implemented when no report has its category, which only runs that came to their end can tell.  Where
    some reports have it, one without is read as one without markers: decks leave out checks of absent layers.
    """
    pairs = list(labels)
    ran = [seen.execution for _, seen in pairs if seen.execution.ok]
    implemented = any(rule in one.items for one in ran)
    results = tuple(_judge(label, seen, implemented) for label, seen in pairs)
    found = {one.status for one in results}
    known = sorted({name for one in ran for name in one.items})
    return RuleResult(
        rule=rule,
        status=next((status for status in _WORST_FIRST if status in found), RuleStatus.NOT_TESTED),
        labels=results,
        similar=() if implemented else tuple(similar_names(rule, known)),
    )


def _judge(label: Label, seen: Observation, implemented: bool) -> LabelResult:
    if not seen.execution.ok:
        reason = f"{seen.execution.status.value}: {seen.execution.reason}"
        return LabelResult(label=label, status=RuleStatus.ERROR, reason=reason)
    if not implemented:
        return LabelResult(label=label, status=RuleStatus.NOT_IMPLEMENTED)
    if seen.reported == label.violated:
        return LabelResult(label=label, status=RuleStatus.MET)
    status = RuleStatus.MISSED if label.violated else RuleStatus.FALSE
    return LabelResult(label=label, status=status, places=seen.places)


def not_tested(executions: Iterable[Execution], labelled: Iterable[str]) -> tuple[str, ...]:
    """Categories of the deck that no label names, sorted."""
    known = {name for one in executions if one.ok for name in one.items}
    return tuple(sorted(known - set(labelled)))


def similar_names(name: str, known: Sequence[str]) -> list[str]:
    """Of ``known`` those that somebody may have meant by ``name``: m1_1 and M1.1 are near."""
    plain = {one: _plain(one) for one in known}
    same = [one for one in known if plain[one] == _plain(name)]
    return same or difflib.get_close_matches(name, known, n=3)


def _plain(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())
