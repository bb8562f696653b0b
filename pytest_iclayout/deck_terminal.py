"""The section on decks at the end of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import pytest
from pydantic import BaseModel, ConfigDict

from pytest_iclayout.rules.regression import NEXT_STEPS, RuleResult, RuleStatus
from pytest_iclayout.terminal import tally_key

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

RULE_PROPERTY = "iclayout_deck_rule"
"""A :class:`DeckRule` in JSON, at the report of a rule's item."""
REST_PROPERTY = "iclayout_deck_rest"
"""A :class:`DeckRest` in JSON, at the report of a deck's last item."""
_MOST_NAMES = 20


class DeckRule(BaseModel):
    """One rule of a deck; the numbers are of its labels."""

    model_config = ConfigDict(frozen=True)

    deck: str
    rule: str
    status: RuleStatus
    labels: int
    met: int
    missed: int
    false: int
    error: int

    @classmethod
    def of(cls, deck: str, result: RuleResult) -> DeckRule:
        counts = result.counts
        return cls(
            deck=deck,
            rule=result.rule,
            status=result.status,
            labels=len(result.labels),
            met=counts[RuleStatus.MET],
            missed=counts[RuleStatus.MISSED],
            false=counts[RuleStatus.FALSE],
            error=counts[RuleStatus.ERROR],
        )


class DeckRest(BaseModel):
    """Categories of a deck that no label names, and what of the labels says nothing."""

    model_config = ConfigDict(frozen=True)

    deck: str
    not_tested: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        if self.not_tested:
            names = ", ".join(self.not_tested[:_MOST_NAMES])
            more = len(self.not_tested) - _MOST_NAMES
            yield f"{self.deck}: not tested by the layouts: {names}{f' and {more} more' if more > 0 else ''}"
        yield from self.warnings


def summarize(reporter: TerminalReporter, config: pytest.Config) -> None:
    """Counts by status for each deck, and a table of the rules that are not met."""
    reports = config.stash[tally_key].reports
    rules = list(_read(reports, RULE_PROPERTY, DeckRule))
    rests = list(_read(reports, REST_PROPERTY, DeckRest))
    if not rules and not rests:
        return
    reporter.section("deck regression")
    for deck in dict.fromkeys([*(one.deck for one in rules), *(one.deck for one in rests)]):
        counts = Counter(one.status.value for one in rules if one.deck == deck)
        untested = sum(len(one.not_tested) for one in rests if one.deck == deck)
        if untested:
            counts[RuleStatus.NOT_TESTED.value] = untested
        parts = [f"{counts[status.value]} {status.value}" for status in RuleStatus if counts[status.value]]
        reporter.line(f"{deck}: {', '.join(parts) or 'no rule was judged'}")
    for line in _table([one for one in rules if one.status is not RuleStatus.MET]):
        reporter.line(line)
    for line in dict.fromkeys(line for one in rests for line in one.lines()):
        reporter.line(f"warning: {line}")


def _table(rules: list[DeckRule]) -> Iterator[str]:
    if not rules:
        return
    heading = ("rule", "status", "labels", "met", "missed", "false", "error", "what to do")
    several = len({one.deck for one in rules}) > 1
    rows = [
        heading,
        *(
            (
                f"{one.deck}::{one.rule}" if several else one.rule,
                one.status.value,
                *map(str, (one.labels, one.met, one.missed, one.false, one.error)),
                NEXT_STEPS[one.status],
            )
            for one in rules
        ),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heading))]
    for row in rows:
        cells = [
            cell.ljust(width) if column in (0, 1, 7) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


_Row = TypeVar("_Row", bound=BaseModel)


def _read(reports: Iterable[pytest.TestReport], name: str, model: type[_Row]) -> Iterator[_Row]:
    for report in reports:
        if str(report.when) == "call":
            yield from (model.model_validate_json(str(value)) for key, value in report.user_properties if key == name)
