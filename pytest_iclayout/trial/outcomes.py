"""How a trial can end, and what follows from it: one table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class OutcomeKind(str, Enum):
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    NOT_RUN = "not_run"


@dataclass(frozen=True)
class Policy:
    """``counts``: the agent was measured (the trial is in a score's denominator); ``infrastructure``:
    the trouble is not the agent's, and a run with only such trouble ends with its own exit code."""

    counts: bool
    infrastructure: bool
    meaning: str


POLICY: dict[OutcomeKind, Policy] = {
    OutcomeKind.PASSED: Policy(counts=True, infrastructure=False, meaning="the checker accepted the artifact"),
    OutcomeKind.FAILED: Policy(counts=True, infrastructure=False, meaning="the checker rejected the artifact"),
    OutcomeKind.ERROR: Policy(
        counts=False, infrastructure=True, meaning="no valid verdict could be had (agent, checker or tool crashed)"
    ),
    OutcomeKind.NOT_RUN: Policy(counts=False, infrastructure=True, meaning="the agent could not be started at all"),
}
