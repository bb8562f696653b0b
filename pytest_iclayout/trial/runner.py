"""Running a trial: propose, verify, correct; then the frozen artifact is judged."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from pytest_iclayout import defaults
from pytest_iclayout.agents.oracle import OracleAgent
from pytest_iclayout.agents.protocol import Agent, AgentUnavailable, Feedback, LayoutTools, Proposal, Turn
from pytest_iclayout.checking.gate import GateFailure, require_sound
from pytest_iclayout.checking.oracle import Judgement
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.transcript import Outcome, PlanStep, format_transcript
from pytest_iclayout.suite.context import context_of
from pytest_iclayout.suite.task import Task
from pytest_iclayout.trial.crashes import encodable, frames_below, text_of
from pytest_iclayout.trial.engines import engine_versions
from pytest_iclayout.trial.identity import identity_of
from pytest_iclayout.trial.outcomes import OutcomeKind
from pytest_iclayout.trial.record import Attachments, TaskParameters, TrialRecord


@dataclass(frozen=True)
class TrialSettings:
    max_iterations: int = defaults.MAX_ITERATIONS
    run_id: str = ""


@dataclass(frozen=True)
class Trial:
    """A finished trial: its record, and the files that go beside it."""

    record: TrialRecord
    attachments: Attachments


@dataclass
class _Progress:
    """What is known so far; an exception anywhere must not lose it."""

    session: LayoutSession
    iterations: int = 0
    follow_ups_given: int = 0
    judgements: list[Judgement] = field(default_factory=list)
    plan: list[PlanStep] = field(default_factory=list)
    artifact: bytes | None = None
    note: str = ""
    traceback: str = ""


def _tools(session: LayoutSession) -> LayoutTools:
    """The agent's hands: commands in their JSON form, and nothing else of the session.

    What comes out is copied, as the session copies what goes in: an agent that alters a command or an answer
    afterwards, to use it again, must not alter the transcript.  What is no command at all is one that fails: a model
    that answers nonsense has failed, and is counted.
    """

    class Tools:
        __slots__ = ()

        def execute(self, command: Mapping[str, Any]) -> Outcome:
            return session.execute(command).model_copy(deep=True)

    return Tools()


def run_trial(task: Task, agent: Agent, settings: TrialSettings, nodeid: str = "") -> Trial:
    """Run one agent at one task.

    Never raises for what the agent, the checker or a tool does: their exceptions become the outcome
    ``error`` (or ``not_run`` for AgentUnavailable), with the reason in the record.
    """
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    clock = time.monotonic()
    progress = _Progress(task.oracle.session())
    outcome, reason = _attempt(task, agent, settings, progress)
    return _finish(
        task, agent, settings, progress, outcome, reason,
        nodeid=nodeid, started_at=started, wall_ms=int((time.monotonic() - clock) * 1000),
    )  # fmt: skip


def crashed_trial(task: Task, agent: Agent, settings: TrialSettings, nodeid: str, reason: str) -> Trial:
    """The record of a trial whose process died: an error, with nothing known of what was drawn."""
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    progress = _Progress(LayoutSession(technology=task.technology))
    trial = _finish(
        task, agent, settings, progress, OutcomeKind.ERROR, reason,
        nodeid=nodeid, started_at=started, wall_ms=0,
    )  # fmt: skip
    return Trial(trial.record.model_copy(update={"document_hash": None}), Attachments())


def _attempt(task: Task, agent: Agent, settings: TrialSettings, progress: _Progress) -> tuple[OutcomeKind, str]:
    try:
        require_sound(task.oracle)
        _iterate(task, agent, settings, progress)
    except AgentUnavailable as error:
        return OutcomeKind.NOT_RUN, text_of(error) or "the agent is not available"
    except GateFailure as error:
        return OutcomeKind.ERROR, f"the oracle may not judge, it did not pass its gate: {error.message}"
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A crash of the agent or the checker is neither a pass nor a failure of the agent.  Also what is no
        # Exception: sys.exit() in an agent's library, pytest.skip() or a time-out of a plugin in its frame.
        progress.traceback = frames_below(error, __file__)
        return OutcomeKind.ERROR, f"{type(error).__name__}: {text_of(error)}".removesuffix(": ")
    verdict = progress.judgements[-1].verdict
    if not verdict.ok:
        return OutcomeKind.FAILED, verdict.summary()
    given, all_of_them = progress.follow_ups_given, len(task.spec.refinement)
    if given < all_of_them:
        # What was not asked for yet was met by chance: nothing shows that the agent can do it.
        return OutcomeKind.FAILED, f"the agent gave up when {given} of {all_of_them} follow-up(s) were given"
    return OutcomeKind.PASSED, ""


def _most_iterations(task: Task, settings: TrialSettings) -> int:
    """Enough for every follow-up to be given and answered, whatever the run's limit."""
    return max(settings.max_iterations, len(task.spec.refinement) + 1)


def _iterate(task: Task, agent: Agent, settings: TrialSettings, progress: _Progress) -> None:
    most, follow_ups = _most_iterations(task, settings), task.spec.refinement
    context = context_of(task, most)
    if type(agent) is OracleAgent:  # no subclass: the witness is for this one alone
        agent = OracleAgent(task.oracle.witness())
    working = agent.start(context)
    tools = _tools(progress.session)
    feedback: Feedback | None = None
    for iteration in range(1, most + 1):
        done_before = len(progress.session.journal)
        # One with each feedback, so none before the first proposal.
        progress.follow_ups_given = min(iteration - 1, len(follow_ups))
        proposal = working.propose(Turn(iteration=iteration, feedback=feedback), tools)
        if not isinstance(proposal, Proposal):
            raise TypeError(f"agent {agent.name} must return a Proposal (returned {type(proposal).__name__})")
        progress.iterations = iteration
        progress.note = proposal.note
        progress.artifact = progress.session.export()
        judgement = task.oracle.judge_with_violations(progress.artifact)
        progress.judgements.append(judgement)
        entries = progress.session.journal[done_before:]
        progress.plan.append(
            PlanStep(
                goal=f"task {task.id}, iteration {iteration}",
                intended_tools=tuple(str(entry.command.get("op")) for entry in entries),
                expected_checks=("drc", task.oracle.checker.name),
            )
        )
        tells_last, told_all = iteration >= len(follow_ups), iteration > len(follow_ups)
        if proposal.gives_up or (judgement.verdict.ok and told_all):
            return
        feedback = Feedback(
            iteration=iteration,
            follow_up=None if told_all else follow_ups[iteration - 1],
            # The verdict is on what the last follow-up asks for: findings would tell it before its turn.
            findings=judgement.verdict.findings if tells_last else (),
            violations=judgement.violations,
            more_findings=judgement.verdict.more if tells_last else 0,
            more_violations=judgement.more_violations,
            errors=tuple(
                f"{entry.command.get('op')}: {entry.outcome.error_message}" for entry in entries if not entry.outcome.ok
            ),
        )


def _parameters_of(task: Task) -> TaskParameters | None:
    if task.values is None:
        return None
    drawn = task.drawn
    return TaskParameters(
        values=task.values,
        seed=None if drawn is None else drawn.seed,
        variant=None if drawn is None else drawn.number,
    )


def _finish(
    task: Task,
    agent: Agent,
    settings: TrialSettings,
    progress: _Progress,
    outcome: OutcomeKind,
    reason: str,
    *,
    nodeid: str,
    started_at: str,
    wall_ms: int,
) -> Trial:
    session, judged = progress.session, progress.judgements
    ran = outcome is not OutcomeKind.NOT_RUN
    failed = [entry for entry in session.journal if not entry.outcome.ok]
    record = TrialRecord(
        task_id=task.id,
        **identity_of(agent),
        suite_version=task.suite.version,
        success=outcome is OutcomeKind.PASSED,
        iterations=progress.iterations,
        first_proposal_violations=judged[0].violation_count if judged else None,
        final_violations=judged[-1].violation_count if judged else None,
        wall_ms=wall_ms,
        suite=task.suite.name,
        tier=task.spec.tier,
        outcome=outcome,
        reason=encodable(reason),
        traceback=encodable(progress.traceback),
        verdict=judged[-1].verdict if judged and outcome is not OutcomeKind.ERROR else None,
        note=encodable(str(progress.note)),
        technology=task.technology.name,
        rule_set=task.oracle.bench.rule_set,
        checker=task.oracle.checker.name,
        task_digest=task.digest,
        parameters=_parameters_of(task),
        max_iterations=_most_iterations(task, settings),
        follow_ups_given=progress.follow_ups_given,
        commands=max(0, len(session.journal) - len(task.oracle.bench.start)),
        failed_commands=len(failed),
        last_command_error=f"{failed[-1].command.get('op')}: {failed[-1].outcome.error_message}" if failed else "",
        started_at=started_at,
        nodeid=nodeid,
        run_id=settings.run_id,
        document_hash=session.document_hash() if ran else None,
        engines=engine_versions(),
    )
    transcript = format_transcript(session.journal, session.document_hash(), progress.plan) if ran else None
    return Trial(record, Attachments(gds=progress.artifact, transcript=transcript, png=None))
