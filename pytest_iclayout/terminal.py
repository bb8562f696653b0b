"""What people see: header, statuses, the section of trials, and the run's exit code."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_iclayout import rule_warnings
from pytest_iclayout.fixtures import MUTANTS_PROPERTY, TRIAL_PROPERTY, TrialError
from pytest_iclayout.options import settings_key
from pytest_iclayout.trial.summary import RuleLine, TrialLine, line_of, reason_lines, rule_table, trial_table

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

EXIT_INFRASTRUCTURE = 10
"""Exit code of a run whose only trouble is infrastructure: trials that ended in error or were not run."""

_MOST_REASONS = 3
_infrastructure_key = pytest.StashKey[bool]()
_ERROR_PROPERTY = "iclayout_infrastructure"
_GATE_ITEM = re.compile(r"\.(toml|yaml|parquet|jsonl)::([\w.\-]+::)?(accepts|rejects)$", re.ASCII)
"""Node ids of the gate's items, of a task, a variant or a rule."""


def header(config: pytest.Config) -> list[str]:
    settings = config.stash[settings_key]
    if not settings.agent_specs:
        return []
    return [f"iclayout: agents {', '.join(settings.agent_specs)}; results in {settings.results}"]


def annotate(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Mark reports of trials that ended in error, so that any process can tell them from failures."""
    if call.excinfo is None:
        return
    if report.skipped and any(name == TRIAL_PROPERTY for name, _ in report.user_properties):
        # Not run: pytest would name the plugin's line that says so, and fold the tasks into one.
        report.longrepr = (str(item.path), (item.location[1] or 0) + 1, str(call.excinfo.value))
    solves = getattr(item, "agent", None) is not None
    if isinstance(call.excinfo.value, TrialError) or (solves and report.when != "call" and report.failed):
        report.user_properties.append((_ERROR_PROPERTY, "1"))


def test_status(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """An infrastructure error is shown as ERROR, not as FAILED; its text is printed like any other error."""
    if str(report.when) in ("call", "???") and report.failed and _is_infrastructure(report):
        return "error", "E", "ERROR"
    return None


def summarize(reporter: TerminalReporter, config: pytest.Config) -> None:
    """The section on the gate and on trials, by agent and tier."""
    tally = config.stash[tally_key]
    trials = list(_trials(tally))
    gates = _gate_counts(tally)
    odd = [] if config.option.collectonly else list(rule_warnings.lines(config))
    if not trials and not gates:
        _say_that_nothing_ran(reporter, config, odd)
        return
    reporter.section("iclayout")
    if gates:
        text = ", ".join(f"{count} {outcome}" for outcome, count in sorted(gates.items()))
        layouts = sum(_gate_layouts(tally))
        reporter.line(f"gate: {text}; {layouts} layouts tried")
        for reason, count in _gate_skips(tally).most_common(_MOST_REASONS):
            reporter.line(f"gate not run {count}: {reason}")
    killed, mutants = _mutants(tally)
    if mutants:
        others = "; -rA shows the others" if killed < mutants else ""
        reporter.line(
            f"rules: the layouts tell {killed} of {mutants} mutated gold decks ({killed / mutants:.1%}){others}"
        )
    layout_trials = [one for one in trials if isinstance(one, TrialLine)]
    rule_trials = [one for one in trials if isinstance(one, RuleLine)]
    for line in [*odd, *trial_table(layout_trials), *rule_table(rule_trials), *reason_lines(trials)]:
        reporter.line(line)
    if config.stash.get(_infrastructure_key, False):
        reporter.line(f"exit code {EXIT_INFRASTRUCTURE}: nothing failed, but not every trial could be judged")
    if trials:
        results = shown_path(config.stash[settings_key].results, config)
        reporter.line(f"more: iclayout results {results}")


def _say_that_nothing_ran(reporter: TerminalReporter, config: pytest.Config, odd: list[str]) -> None:
    asked = config.stash[settings_key].agent_specs and not config.option.collectonly
    if asked or odd:
        reporter.section("iclayout")
    for line in odd:
        reporter.line(line)
    if asked:
        reporter.line("no task was run: none was collected, or all were deselected")
        reporter.line("the bundled suite: pytest --pyargs iclayout_tasks --agent=mock")


class Tally:
    """The reports of a run, kept by the plugin itself: the terminal's own need not be there."""

    def __init__(self) -> None:
        self.reports: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome in ("passed", "failed", "skipped"):
            self.reports.append(report)


tally_key = pytest.StashKey[Tally]()


def set_exit_status(session: pytest.Session, exitstatus: int) -> None:
    """Give a run with nothing but infrastructure trouble its own exit code (pytest's stay for all else)."""
    tally = session.config.stash.get(tally_key, None)
    if tally is None or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return
    # Errors of collection are counted by the session too, and are never of this kind.
    infrastructure = sum(one.failed and _is_infrastructure(one) for one in tally.reports)
    if session.testsfailed > infrastructure or any(one.failed and not _is_infrastructure(one) for one in tally.reports):
        return
    if infrastructure or any(one.outcome in ("error", "not_run") for one in _trials(tally)):
        session.exitstatus = EXIT_INFRASTRUCTURE
        session.config.stash[_infrastructure_key] = True


def _is_infrastructure(report: pytest.TestReport) -> bool:
    return any(name == _ERROR_PROPERTY for name, _ in report.user_properties) or _is_crashed_solve(report)


def _is_crashed_solve(report: pytest.TestReport) -> bool:
    """xdist reports a worker's death at the item it ran; no trial was recorded there."""
    return report.failed and str(report.when) == "???" and "::solve[" in report.nodeid


def _trials(tally: Tally) -> Iterator[TrialLine | RuleLine]:
    for report in tally.reports:
        recorded = [value for name, value in report.user_properties if name == TRIAL_PROPERTY]
        if recorded and str(report.when) in ("call", "???"):
            yield line_of(json.loads(str(recorded[-1])))
        elif not recorded and _is_infrastructure(report) and not _GATE_ITEM.search(report.nodeid):
            agent = report.nodeid.partition("::solve[")[2].removesuffix("]")
            yield TrialLine(agent or "?", None, "error", 0, str(report.longrepr))


def _gate_counts(tally: Tally) -> Counter[str]:
    return Counter(
        "error" if _is_infrastructure(report) else report.outcome
        for report in tally.reports
        if report.when in ("call", "???") and _GATE_ITEM.search(report.nodeid)
    )


def _gate_skips(tally: Tally) -> Counter[str]:
    """Why items of the gate were not run: a gate that tried nothing must not look like one that passed."""
    return Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in tally.reports
        if report.skipped and isinstance(report.longrepr, tuple) and _GATE_ITEM.search(report.nodeid)
    )


def _gate_layouts(tally: Tally) -> Iterator[int]:
    for report in tally.reports:
        for name, value in report.user_properties:
            if name == "iclayout_gate" and report.when == "call":
                yield int(str(value).split(" ", 1)[0])


def _mutants(tally: Tally) -> tuple[int, int]:
    """How many mutated gold decks the layouts of rules told, and of how many."""
    killed = mutants = 0
    for report in tally.reports:
        for name, value in report.user_properties:
            if name == MUTANTS_PROPERTY and report.when == "call":
                told, _, all_of_them = str(value).partition("/")
                killed, mutants = killed + int(told), mutants + int(all_of_them)
    return killed, mutants


def shown_path(path: Path, config: pytest.Config) -> str:
    """From where pytest was started, if it is below."""
    here = config.invocation_params.dir
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
