"""A checker bound to one task: the only thing that may judge an artifact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pytest_iclayout.checking.checker import Bench, Checker, Params
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.drc.engine import first_violations
from pytest_iclayout.geometry.extent import ExtentError, measure
from pytest_iclayout.geometry.findings import MAX_FINDINGS, Finding
from pytest_iclayout.geometry.io import LayoutFileError
from pytest_iclayout.geometry.view import LayoutView, UnjudgeableLayoutError, open_view
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.sketch import Drawing, draw_on


@dataclass(frozen=True)
class Judgement:
    """The verdict, and the design-rule violations of the same cell (feedback, not part of the verdict)."""

    verdict: Verdict
    violations: tuple[Finding, ...] = ()
    more_violations: int = 0
    """Those beyond the first MAX_FINDINGS."""

    @property
    def violation_count(self) -> int:
        return len(self.violations) + self.more_violations


@dataclass(frozen=True, eq=False)
class Oracle:
    checker: Checker
    params: Params
    bench: Bench
    cell_name: str | None = None
    good: tuple[Drawing, ...] = ()
    """Further layouts that must be accepted, from the task file."""
    bad: tuple[Drawing, ...] = ()
    """Further layouts that must be rejected, from the task file."""

    def judge(self, artifact: bytes) -> Verdict:
        """Judge GDS or OASIS bytes; bytes that hold no judgeable layout are rejected, never an exception."""
        view = self._open(artifact)
        return view if isinstance(view, Verdict) else self.checker.check(view, self.params)

    def judge_with_violations(self, artifact: bytes) -> Judgement:
        """The verdict and a run of the task's rule set, for the propose-verify-correct loop."""
        view = self._open(artifact)
        if isinstance(view, Verdict):
            return Judgement(view)
        found = first_violations(view, self.bench.rules)
        listed, rest = found.findings[:MAX_FINDINGS], found.findings[MAX_FINDINGS:]
        return Judgement(self.checker.check(view, self.params), listed, len(rest) + found.more)

    def witness(self) -> Drawing:
        return self.checker.witness(self.params, self.bench)

    def session(self, *, records: bool = True) -> LayoutSession:
        """A fresh session in the task's technology that holds the given layout, if there is one."""
        fresh = LayoutSession(technology=self.bench.technology, rule_set=self.bench.rule_set, records=records)
        return draw_on(fresh, self.bench.start)

    def build(self, drawing: Drawing) -> bytes:
        """The artifact of a drawing, in the task's technology, after the given layout."""
        return draw_on(self.session(records=False), drawing).export()

    @cached_property
    def start_view(self) -> LayoutView | None:
        """The given layout; None where there is none.  Raises what :func:`open_view` does."""
        if not self.bench.start:
            return None
        given = self.session(records=False).export()
        return open_view(given, self.bench.technology, self.bench.rule_set, self.cell_name, origin="start")

    def _open(self, artifact: bytes) -> LayoutView | Verdict:
        try:
            view = open_view(
                artifact, self.bench.technology, self.bench.rule_set, self.cell_name, start=self.start_view
            )
            measure(view.layout, view.cell)
        except (LayoutFileError, UnjudgeableLayoutError, ExtentError) as error:
            return Verdict.of(Finding(rule="artifact", message=str(error)))
        return view
