"""Running an agent at a rule: its deck is run on the rule's layouts, out of its reach, and judged by their labels."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from random import SystemRandom
from typing import TYPE_CHECKING, Protocol

import klayout.db as db

from pytest_iclayout import defaults
from pytest_iclayout.agents.mock import MockAgent
from pytest_iclayout.agents.oracle import OracleAgent
from pytest_iclayout.agents.protocol import Agent, AgentUnavailable, DeckProposal, DeckTurn, DeckWriter
from pytest_iclayout.checking.rule_gate import RuleGateError, RuleGateFailure, require_sound
from pytest_iclayout.drc.decks.deck import Deck, encoded
from pytest_iclayout.drc.decks.execution import Execution, Status
from pytest_iclayout.drc.decks.pool import DeckPool, run_all
from pytest_iclayout.rules.evaluate import Reading, RuleVerdict, evaluate
from pytest_iclayout.rules.mock_decks import deck_for
from pytest_iclayout.rules.prompt import RuleContext, rule_context
from pytest_iclayout.rules.rule import Rule, RuleError
from pytest_iclayout.trial.crashes import encodable, frames_below, text_of
from pytest_iclayout.trial.engines import engine_versions
from pytest_iclayout.trial.identity import identity_of
from pytest_iclayout.trial.outcomes import OutcomeKind
from pytest_iclayout.trial.record import Attachments, RuleRecord

if TYPE_CHECKING:
    from pytest_iclayout.drc.decks.script_pool import ScriptPool


class RuleFeedback(str, Enum):
    NONE = "none"
    """As published: the agent hands in one deck and hears nothing."""
    COMPILE = "compile"
    """It is told whether its deck runs on an empty layout, and may correct it."""


@dataclass(frozen=True)
class RuleTrialSettings:
    """``context`` names what of the language's documentation is shown, ``documentation`` is its text."""

    max_iterations: int = defaults.MAX_ITERATIONS
    run_id: str = ""
    feedback: RuleFeedback = RuleFeedback.NONE
    reading: Reading = Reading.STRICT
    context: str = "none"
    documentation: str = ""


@dataclass(frozen=True)
class RuleTrial:
    """A finished trial: its record, and the files that go beside it."""

    record: RuleRecord
    attachments: Attachments


@dataclass
class _Progress:
    """What is known so far; an exception anywhere must not lose it."""

    context: RuleContext | None = None
    iterations: int = 0
    proposal: DeckProposal | None = None
    verdict: RuleVerdict | None = None
    engine: str = ""
    traceback: str = ""


class Pools(Protocol):
    """What runs decks and scripts; started when first asked for."""

    @property
    def decks(self) -> DeckPool: ...

    @property
    def scripts(self) -> ScriptPool: ...


def run_rule_trial(rule: Rule, agent: Agent, pools: Pools, settings: RuleTrialSettings, nodeid: str = "") -> RuleTrial:
    """Run one agent at one rule.

    Never raises for what the agent does: its exceptions become the outcome ``error`` (``not_run`` for
    AgentUnavailable), with the reason in the record.  A deck that does not run is a failure of the agent.
    """
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    clock = time.monotonic()
    progress = _Progress()
    outcome, reason = _attempt(rule, agent, pools, settings, progress)
    return _finish(rule, agent, settings, progress, outcome, reason, nodeid, started, time.monotonic() - clock)


def crashed_rule_trial(rule: Rule, agent: Agent, settings: RuleTrialSettings, nodeid: str, reason: str) -> RuleTrial:
    """The record of a trial whose process died."""
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return _finish(rule, agent, settings, _Progress(), OutcomeKind.ERROR, reason, nodeid, started, 0)


def rule_trial_not_run(rule: Rule, agent: Agent, settings: RuleTrialSettings, nodeid: str, reason: str) -> RuleTrial:
    """The record of a trial for which the machine lacks something: no KLayout application, no containment."""
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return _finish(rule, agent, settings, _Progress(), OutcomeKind.NOT_RUN, reason, nodeid, started, 0)


def _attempt(
    rule: Rule, agent: Agent, pools: Pools, settings: RuleTrialSettings, progress: _Progress
) -> tuple[OutcomeKind, str]:
    try:
        require_sound(rule, pools.decks)
        _write(rule, agent, pools, settings, progress)
        if progress.proposal is None or progress.proposal.text is None:
            return OutcomeKind.FAILED, "the agent handed in no deck"
        layouts = [one.gds() for one in rule.layouts]
        executions = _run(progress.proposal, layouts, rule, pools, progress, settings.reading)
        progress.verdict = evaluate(rule, executions, settings.reading)
    except AgentUnavailable as error:
        return OutcomeKind.NOT_RUN, text_of(error) or "the agent is not available"
    except RuleGateFailure as error:
        return OutcomeKind.ERROR, f"the rule may not judge, it did not pass its gate: {error.message}"
    except (RuleGateError, RuleError) as error:
        return OutcomeKind.ERROR, str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A crash of the agent is neither a pass nor a failure of it; also what is no Exception, sys.exit() say.
        progress.traceback = frames_below(error, __file__)
        return OutcomeKind.ERROR, f"{type(error).__name__}: {text_of(error)}".removesuffix(": ")
    if progress.verdict.success:
        return OutcomeKind.PASSED, ""
    return OutcomeKind.FAILED, f"the deck {progress.verdict.summary()}"


def _write(rule: Rule, agent: Agent, pools: Pools, settings: RuleTrialSettings, progress: _Progress) -> None:
    """The agent's deck, corrected as long as it may be."""
    context = rule_context(rule, settings.documentation)
    progress.context = context
    agent = _with_answer(agent, rule)
    if not isinstance(agent, DeckWriter):
        raise AgentUnavailable(f"agent {agent.name} draws layouts and writes no decks (it has no start_rule)")
    working = agent.start_rule(context)
    most = settings.max_iterations if settings.feedback is RuleFeedback.COMPILE else 1
    error: str | None = None
    for iteration in range(1, most + 1):
        proposal = working.propose(DeckTurn(iteration=iteration, error=error))
        if not isinstance(proposal, DeckProposal):
            raise TypeError(f"agent {agent.name} must return a DeckProposal (returned {type(proposal).__name__})")
        proposal = DeckProposal.model_validate(dict(proposal))  # pydantic checks no subclass, and not model_construct
        progress.iterations = iteration
        if proposal.text is None:
            # What was handed in before is worth as much as ever.
            progress.proposal = progress.proposal or proposal
            return
        progress.proposal = proposal
        if iteration == most:
            return
        (execution,) = _run(proposal, [_empty_layout(rule)], rule, pools, progress, settings.reading)
        if execution.ok:
            return
        error = execution.reason


def _with_answer(agent: Agent, rule: Rule) -> Agent:
    """The two agents that know more than a prompt: they are ours, and no subclass of them is told."""
    if type(agent) is OracleAgent:
        deck = rule.gold_deck()
        return OracleAgent(deck=None if deck is None else deck.text)
    if type(agent) is MockAgent:
        return MockAgent(deck=deck_for(rule))
    return agent


def _run(
    proposal: DeckProposal, layouts: list[bytes], rule: Rule, pools: Pools, progress: _Progress, reading: Reading
) -> list[Execution]:
    """A deck without an end is not run on each layout: read strictly, it is in error after one.

    Raises RuleGateError where a run could not be had for what is not the deck's fault.
    """
    python = proposal.language == "python"
    deck = Deck.of_text(proposal.text or "", f"{rule.id}{'.py' if python else '.drc'}")
    # In an order of chance: a deck that guesses from what ran before it, or from the age of files, learns no label.
    order = SystemRandom().sample(range(len(layouts)), len(layouts))
    pool = pools.scripts if python else pools.decks
    found = run_all(pool, deck, [layouts[number] for number in order[: pool.children]])
    rest = order[pool.children :]
    endless = next((one for one in found if one.status is Status.TIMEOUT), None)
    if endless is None or reading is Reading.LENIENT:
        found += run_all(pool, deck, [layouts[number] for number in rest])
    else:
        reason = f"not run, as on another layout the deck {endless.reason}"
        found += [Execution(status=Status.ERROR, reason=reason, engine=endless.engine) for _ in rest]
    executions = [execution for _, execution in sorted(zip(order, found, strict=True), key=lambda pair: pair[0])]
    for one in executions:
        if one.infrastructure:
            raise RuleGateError(one.reason)
    progress.engine = executions[0].engine if executions else ""
    return executions


def _empty_layout(rule: Rule) -> bytes:
    layout = db.Layout()
    layout.dbu = rule.dbu_um
    layout.create_cell("TOP")
    options = db.SaveLayoutOptions()
    options.format = "GDS2"
    return bytes(layout.write_bytes(options))


def _judges(rule: Rule) -> tuple[str, int]:
    """The digest, and the number of layouts; of a rule without any that can be had, nothing: the outcome says why."""
    try:
        return rule.digest, len(rule.layouts)
    except RuleError:
        return "", 0


def _finish(
    rule: Rule,
    agent: Agent,
    settings: RuleTrialSettings,
    progress: _Progress,
    outcome: OutcomeKind,
    reason: str,
    nodeid: str,
    started_at: str,
    wall_s: float,
) -> RuleTrial:
    digest, layouts = _judges(rule)
    verdict = progress.verdict if outcome in (OutcomeKind.PASSED, OutcomeKind.FAILED) else None
    proposal, context = progress.proposal, progress.context
    record = RuleRecord(
        rule_id=rule.id,
        group=rule.group,
        suite=rule.suite,
        suite_version=rule.suite_version,
        rule_digest=digest,
        **identity_of(agent),
        outcome=outcome,
        reason=encodable(reason),
        traceback=encodable(progress.traceback),
        success=outcome is OutcomeKind.PASSED,
        error=verdict is not None and verdict.error,
        f1=0.0 if verdict is None else verdict.f1,
        categories={} if verdict is None else verdict.categories,
        wrong=() if verdict is None else tuple(one for one in verdict.layouts if not one.right),
        layouts=layouts,
        reading=settings.reading,
        has_gold=rule.gold is not None,
        language="drc" if proposal is None else proposal.language,
        context=settings.context,
        feedback=settings.feedback.value,
        iterations=progress.iterations,
        prompt_tokens=0 if context is None else context.tokens_estimated,
        note="" if proposal is None else encodable(proposal.note),
        started_at=started_at,
        wall_ms=int(wall_s * 1000),
        nodeid=nodeid,
        run_id=settings.run_id,
        engine=progress.engine,
        engines=engine_versions(),
    )
    deck = None if proposal is None or proposal.text is None else encoded(proposal.text)
    suffix = ".py" if record.language == "python" else ".drc"
    return RuleTrial(record, Attachments(deck=deck, deck_suffix=suffix))
