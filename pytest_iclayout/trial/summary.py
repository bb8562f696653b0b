"""Trials summed up: the tables of the terminal and of ``iclayout results``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

_COLUMNS = ("passed", "failed", "error", "not_run")


@dataclass(frozen=True)
class TrialLine:
    """What a summary needs of a trial; the fields are the record's."""

    agent: str
    tier: int | None
    outcome: str
    iterations: int
    reason: str = ""


@dataclass(frozen=True)
class RuleLine:
    """What a summary needs of a trial of a rule; the fields are the record's."""

    agent: str
    group: str
    outcome: str
    error: bool
    f1: float
    reading: str
    reason: str = ""
    context: str = "none"
    feedback: str = "none"
    suite: str = ""


def line_of(record: Mapping[str, Any]) -> TrialLine | RuleLine:
    """The line of a record in its JSON form, of a task or a rule."""
    kind = RuleLine if record.get("work") == "rule" else TrialLine
    return kind(**{one.name: record[one.name] for one in fields(kind)})


def trial_table(trials: Iterable[TrialLine]) -> list[str]:
    """Rows by agent and tier: trials by outcome, the rate, and the mean iterations of those that passed.

    The rate is passed / (passed + failed): what ended in error or was not run says nothing of the agent.
    """
    by_row: dict[tuple[str, int], list[TrialLine]] = {}
    for one in trials:
        by_row.setdefault((one.agent, one.tier or 0), []).append(one)
    if not by_row:
        return []
    width = max(5, *(len(agent) for agent, _ in by_row))
    lines = [f"{'agent':<{width}}  tier  {'  '.join(f'{name:>7}' for name in _COLUMNS)}    rate  iterations"]
    for (agent, tier), rows in sorted(by_row.items()):
        counts = Counter(one.outcome for one in rows)
        judged = counts["passed"] + counts["failed"]
        rate = f"{counts['passed'] / judged:>6.0%}" if judged else f"{'-':>6}"
        passed = [one.iterations for one in rows if one.outcome == "passed"]
        mean = f"{sum(passed) / len(passed):>10.2f}" if passed else f"{'-':>10}"
        cells = "  ".join(f"{counts[name]:>7}" for name in _COLUMNS)
        lines.append(f"{agent:<{width}}  {tier or '-':>4}  {cells}  {rate}  {mean}")
    return lines


def rule_table(trials: Iterable[RuleLine]) -> list[str]:
    """Rows by agent and group of rules, and one over all groups: trials by outcome, the success rate with its
    95 % interval, the share of decks in error, and the mean F1, over the rules that were judged; and lines on what
    makes the figures other than they look: decks read leniently, asked for in different ways, of several suites."""
    by_row: dict[tuple[str, str], list[RuleLine]] = {}
    found = list(trials)
    for one in found:
        by_row.setdefault((one.agent, one.group or "-"), []).append(one)
    if not by_row:
        return []
    for agent in sorted({agent for agent, _ in by_row}):
        groups = [rows for (who, _), rows in by_row.items() if who == agent]
        if len(groups) > 1:
            by_row[agent, "all"] = [one for rows in groups for one in rows]
    width = max(5, *(len(agent) for agent, _ in by_row))
    second = max(5, *(len(group) for _, group in by_row))
    lines = [
        f"{'agent':<{width}}  {'rules':<{second}}  {'  '.join(f'{name:>7}' for name in _COLUMNS)}"
        "  success        95 %  deck error     F1"
    ]
    for (agent, group), rows in sorted(by_row.items(), key=lambda item: (item[0][0], item[0][1] == "all", item[0][1])):
        counts = Counter(one.outcome for one in rows)
        judged = [one for one in rows if one.outcome in ("passed", "failed")]
        cells = "  ".join(f"{counts[name]:>7}" for name in _COLUMNS)
        lines.append(f"{agent:<{width}}  {group:<{second}}  {cells}  {_rule_rates(judged)}")
    return [*lines, *_setting_lines(found)]


def _setting_lines(trials: list[RuleLine]) -> Iterator[str]:
    judged = [one for one in trials if one.outcome in ("passed", "failed")]
    lenient = sum(one.reading == "lenient" for one in judged)
    if lenient:
        which = "all" if lenient == len(judged) else f"{lenient} of {len(judged)}"
        yield f"{which} read leniently (--lenient-crash): where a deck is in error it counts as reporting nothing"
    asked = Counter((one.context, one.feedback) for one in judged)
    if len(asked) > 1:
        ways = (f"{count} with --context={how[0]} --rule-feedback={how[1]}" for how, count in sorted(asked.items()))
        yield f"not all were asked for alike: {', '.join(ways)}"
    suites = Counter(one.suite for one in judged)
    if len(suites) > 1:
        yield f"of {len(suites)} suites: {', '.join(f'{name} {count}' for name, count in sorted(suites.items()))}"


def _rule_rates(judged: list[RuleLine]) -> str:
    if not judged:
        return f"{'-':>7}  {'-':>10}  {'-':>10}  {'-':>5}"
    from pytest_iclayout.rules.metrics import wilson  # every run of pytest loads this module

    passed = sum(one.outcome == "passed" for one in judged)
    found = wilson(passed, len(judged))
    interval = f"{100 * found.low:.0f}-{100 * found.high:.0f} %"
    errors = sum(one.error for one in judged) / len(judged)
    f1 = sum(one.f1 for one in judged) / len(judged)
    return f"{passed / len(judged):>7.1%}  {interval:>10}  {errors:>10.1%}  {f1:>5.3f}"


def reason_lines(trials: Iterable[TrialLine | RuleLine], most: int = 5) -> list[str]:
    """Why trials ended in error or were not run: a line for each different reason, the commonest first."""
    reasons = Counter(
        (one.outcome, one.agent, _first_line(one.reason)) for one in trials if one.outcome in ("error", "not_run")
    )
    lines = [f"{outcome} {count}: {agent}: {reason}" for (outcome, agent, reason), count in reasons.most_common(most)]
    if len(reasons) > most:
        lines.append(f"... and {len(reasons) - most} more reasons")
    return lines


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0] or "no reason is known"
