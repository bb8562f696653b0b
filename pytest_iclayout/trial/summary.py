"""Trials summed up by agent and tier: the table of the terminal and of ``iclayout results``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_COLUMNS = ("passed", "failed", "error", "not_run")


@dataclass(frozen=True)
class TrialLine:
    """What a summary needs of a trial."""

    agent: str
    tier: int | None
    outcome: str
    iterations: int
    reason: str = ""


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


def reason_lines(trials: Iterable[TrialLine], most: int = 5) -> list[str]:
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
