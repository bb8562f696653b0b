"""Public fixtures: task, checker, layout_session, agent_session, deck_pool."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import pytest

from pytest_iclayout.options import agents, checkers, rule_settings, settings_key

if TYPE_CHECKING:
    from pytest_iclayout.agents.protocol import Agent
    from pytest_iclayout.checking.oracle import Oracle
    from pytest_iclayout.drc.decks.pool import DeckPool
    from pytest_iclayout.rules.evaluate import LayoutResult
    from pytest_iclayout.rules.rule import Rule
    from pytest_iclayout.session.session import LayoutSession
    from pytest_iclayout.suite.manifest import Suite
    from pytest_iclayout.suite.task import Task
    from pytest_iclayout.trial.record import AnyRecord, Attachments, RuleRecord, TrialRecord
    from pytest_iclayout.trial.rule_runner import RuleTrial
    from pytest_iclayout.trial.runner import Trial

_Record = TypeVar("_Record", bound="AnyRecord")
TRIAL_PROPERTY = "iclayout_trial"
"""Name of the user property that carries a trial's record, as JSON, from any process to the terminal."""
MUTANTS_PROPERTY = "iclayout_mutants"
"""Name of the user property that carries how many mutated gold decks a rule's layouts told, of how many."""
_MOST_WRONG = 5
"""Layouts of a rule that a failure lists."""


class TrialFailed(AssertionError):
    """The checker, or the labels of a rule, rejected what the agent made."""


class TrialError(Exception):
    """No valid verdict could be had: the trouble is the infrastructure's."""


class TrialResult(Generic[_Record]):
    """A finished, recorded trial."""

    def __init__(self, record: _Record, path: Path) -> None:
        self.record = record
        self.path = path

    def require_passed(self) -> None:
        """Return when what the agent made was accepted; raises TrialFailed or TrialError, or skips the test when the
        agent could not be run."""
        __tracebackhide__ = True
        from pytest_iclayout.trial.outcomes import OutcomeKind

        record = self.record
        if record.outcome is OutcomeKind.PASSED:
            return
        if record.outcome is OutcomeKind.NOT_RUN:
            pytest.skip(f"not run: {record.reason}")
        effort, details = _shown(record)
        # pytest shows the first line by itself in its summary: the reason must begin there.
        lines = [
            f"{record.agent} at {record.work_id}: {record.outcome.value}{effort}: {record.reason}",
            *([record.traceback.rstrip()] if record.traceback else []),
            *details,
            *([f"note: {record.note}"] if record.note else []),
            *(
                f"{kind}: {self.path.parent / name}"
                for kind in ("deck", "picture")
                if (name := getattr(record, kind, ""))
            ),
            f"record: {self.path}",
        ]
        message = "\n".join(lines)
        raise TrialFailed(message) if record.outcome is OutcomeKind.FAILED else TrialError(message)


def _shown(record: AnyRecord) -> tuple[str, list[str]]:
    """What a failure tells of a task's trial, or a rule's, alone: behind the outcome, and in lines of its own."""
    from pytest_iclayout.trial.record import RuleRecord

    if isinstance(record, RuleRecord):
        more = len(record.wrong) - _MOST_WRONG
        wrong = [f"  {_briefly(one, record.reason)}" for one in record.wrong[:_MOST_WRONG]]
        return "", [*wrong, *([f"  ... and {more} more layouts"] if more > 0 else [])]
    return (
        f" after {record.iterations} iteration(s)" if record.iterations else "",
        [f"{record.failed_commands} of {record.commands} commands failed; the last: {record.last_command_error}"]
        if record.failed_commands
        else [],
    )


def _briefly(layout: LayoutResult, reason: str) -> str:
    """Without a reason that the first line gives already: a deck that does not run fails on each layout alike."""
    told = layout.reason and f": {layout.reason};" in f"{reason};"
    return f"{layout.layout}: {layout.status.value}" if told else str(layout)


class RuleRun:
    """One agent at one rule, started by :meth:`run`."""

    def __init__(self, request: pytest.FixtureRequest, rule: Rule, agent: Agent) -> None:
        self._request = request
        self.rule = rule
        self.agent = agent

    def run(self) -> TrialResult[RuleRecord]:
        """As :meth:`TrialRun.run`: the agent writes its deck, which the rule's layouts judge."""
        __tracebackhide__ = True
        from pytest_iclayout.pools import PoolUnavailable, pools
        from pytest_iclayout.trial.rule_runner import rule_trial_not_run, run_rule_trial

        config, nodeid = self._request.config, self._request.node.nodeid
        _refuse_reruns(self._request.node, f"{self.agent.name} at {self.rule.id}")
        settings, found = rule_settings(config), pools(config)
        try:
            found.require()
        except PoolUnavailable as error:
            trial = rule_trial_not_run(self.rule, self.agent, settings, nodeid, str(error))
        else:
            trial = run_rule_trial(self.rule, self.agent, found, settings, nodeid=nodeid)
        return _recorded(self._request, trial.record, trial.attachments, lambda: self._picture(trial))

    def _picture(self, trial: RuleTrial) -> bytes | None:
        """Of the layout that tells most of what is wrong with the deck."""
        from pytest_iclayout.drc.decks.deck import Deck
        from pytest_iclayout.pools import pools
        from pytest_iclayout.rules.evaluate import most_telling
        from pytest_iclayout.rules.layout_picture import picture_of_result
        from pytest_iclayout.trial.outcomes import OutcomeKind

        record, attachments = trial.record, trial.attachments
        result = most_telling(record.wrong)
        if record.outcome is not OutcomeKind.FAILED or result is None or attachments.deck is None:
            return None
        found = pools(self._request.config)
        pool = found.scripts if record.language == "python" else found.decks
        deck = Deck.of_text(attachments.deck, f"{self.rule.id}{attachments.deck_suffix}")
        return picture_of_result(self.rule, result, record.agent, deck, pool, record.reading)


def _refuse_reruns(node: pytest.Item, what: str) -> None:
    if getattr(node, "execution_count", 1) > 1:
        raise TrialError(
            f"{what}: run again by a plugin (pytest-rerunfailures?); a trial counts "
            "once, so its first record stands: run pytest without reruns"
        )


class TrialRun:
    """One agent at one task, started by :meth:`run`."""

    def __init__(self, request: pytest.FixtureRequest, task: Task, agent: Agent) -> None:
        self._request = request
        self.task = task
        self.agent = agent

    def run(self) -> TrialResult[TrialRecord]:
        """Let the agent work, judge what it made and write the record; returns the result, whatever it is.

        Raises TrialError when the record cannot be written: an unrecorded trial did not happen.
        """
        __tracebackhide__ = True
        from pytest_iclayout.trial.runner import TrialSettings, run_trial

        settings = self._request.config.stash[settings_key]
        _refuse_reruns(self._request.node, f"{self.agent.name} at {self.task.id}")
        trial = run_trial(
            self.task,
            self.agent,
            TrialSettings(settings.max_iterations, settings.run_id),
            nodeid=self._request.node.nodeid,
        )
        return _recorded(self._request, trial.record, trial.attachments, lambda: self._picture(trial))

    def _picture(self, trial: Trial) -> bytes | None:
        from pytest_iclayout.trial.outcomes import OutcomeKind
        from pytest_iclayout.trial.picture import picture_of

        record = trial.record
        if record.outcome is not OutcomeKind.FAILED or record.verdict is None:
            return None
        return picture_of(self.task, trial.attachments.gds, record.verdict, record.agent)


def _recorded(
    request: pytest.FixtureRequest, record: _Record, attachments: Attachments, draw: Callable[[], bytes | None]
) -> TrialResult[_Record]:
    """Write the record, and once more with a picture. Raises TrialError."""
    __tracebackhide__ = True
    from pytest_iclayout.trial.record import record_path, write_record

    properties = request.node.user_properties
    path = record_path(request.config.stash[settings_key].results, record.suite, record.work_id, record.agent)
    try:
        # The record first: whatever a picture takes, what was measured is kept.
        record = write_record(path, record, attachments)
        properties.append((TRIAL_PROPERTY, record.model_dump_json()))
        if picture := draw():
            record = write_record(path, record, attachments.model_copy(update={"png": picture}))
            properties[-1] = (TRIAL_PROPERTY, record.model_dump_json())
    except OSError as error:
        raise TrialError(
            f"{record.agent} at {record.work_id}: the record could not be written to {path}: {error.strerror}"
        ) from error
    return TrialResult(record, path)


def highest_folder(path: Path, config: pytest.Config) -> Path:
    """Up to where a file's manifest is looked for: the rootdir, or for a file outside of it the file system's root."""
    return config.rootpath if path.is_relative_to(config.rootpath) else Path(path.anchor)


def load_rule_instances(path: Path, config: pytest.Config) -> tuple[Rule, ...]:
    """The rules of a file with their suite, wherever in the run they are asked for. Raises RuleError, SuiteError."""
    from pytest_iclayout.rules.sniff import SPEC_NAME
    from pytest_iclayout.suite.rule_files import load_rules

    # A published rule is a folder: the one that holds all of them is the suite.
    suite = _suite_of(path, config, path.parent.parent if path.name == SPEC_NAME else path.parent)
    return load_rules(path, suite.name, suite.version)


def load_task_file(path: Path, config: pytest.Config) -> Task:
    """A task with its suite and fixed values, wherever in the run it is asked for. Raises SuiteError."""
    from pytest_iclayout.suite.task import load_task

    return load_task(path, _suite_of(path, config), checkers(config))


def load_task_instances(path: Path, config: pytest.Config) -> tuple[Task, ...]:
    """What a run collects of a file: the task, or with ``--variants`` its variants. Raises SuiteError."""
    from pytest_iclayout.suite.task import load_variants

    settings = config.stash[settings_key]
    if not settings.variants:
        return (load_task_file(path, config),)
    return load_variants(path, _suite_of(path, config), checkers(config), settings.variants, settings.variant_seed)


def _suite_of(path: Path, config: pytest.Config, folder: Path | None = None) -> Suite:
    """The suite that a manifest gives; without one, ``folder``, by default the file's, is its name."""
    from pytest_iclayout.suite.manifest import suite_above, suite_of_folder

    return suite_above(path.parent, highest_folder(path, config)) or suite_of_folder(folder or path.parent)


def _item_task(request: pytest.FixtureRequest) -> Task | None:
    found: Task | None = getattr(request.node, "task", None)
    return found


@pytest.fixture
def task(request: pytest.FixtureRequest) -> Task:
    """The task of a collected item, or of the marker ``layout_task(path)`` of a test of one's own.

    A relative path is taken from the test file's folder.
    """
    own = _item_task(request)
    if own is not None:
        return own
    marker = request.node.get_closest_marker("layout_task")
    if marker is None or len(marker.args) != 1:
        pytest.fail("the task fixture needs @pytest.mark.layout_task('path/to/task.toml')", pytrace=False)
    from pytest_iclayout.suite.files import SuiteError

    try:
        return load_task_file((request.path.parent / marker.args[0]).resolve(), request.config)
    except SuiteError as error:
        problem = str(error)
    pytest.fail(problem, pytrace=False)


@pytest.fixture
def checker(task: Task) -> Oracle:
    """The task's checker bound to its parameters: ``checker.judge(gds_bytes)`` gives a Verdict."""
    return task.oracle


@pytest.fixture
def layout_session(request: pytest.FixtureRequest) -> LayoutSession:
    """A fresh layout session: with the task's technology and given layout where the test has one, else SKY130."""
    from pytest_iclayout.session.session import LayoutSession

    if _item_task(request) is None and request.node.get_closest_marker("layout_task") is None:
        return LayoutSession()
    task: Task = request.getfixturevalue("task")
    return task.oracle.session()


@pytest.fixture
def agent_session(request: pytest.FixtureRequest, task: Task) -> TrialRun:
    """An agent ready for the task: ``agent_session.run().require_passed()``.

    A test of one's own that asks for it runs once for each ``--agent``.
    """
    agent: Agent | None = getattr(request.node, "agent", None)
    if agent is None:
        agent = agents(request.config)[request.param]
    return TrialRun(request, task, agent)


@pytest.fixture(scope="session")
def deck_pool(request: pytest.FixtureRequest) -> DeckPool:
    """Runs DRC decks contained, in one KLayout application for the whole run, or for each worker of pytest-xdist.

    Tests are skipped, with what to install, where there is no application or no containment.
    """
    from pytest_iclayout.pools import PoolUnavailable, pools

    try:
        return pools(request.config).decks
    except PoolUnavailable as error:
        pytest.skip(str(error))
