"""What an agent is to the trial runner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.rules.prompt import RuleContext
from pytest_iclayout.session.transcript import Outcome
from pytest_iclayout.suite.context import TaskContext

_MOST_LINES = 20
"""Findings of one kind that are told to an agent; a layout of wrong shapes can have thousands."""


class AgentUnavailable(Exception):
    """The agent cannot be run at all: program missing, not authenticated, nothing recorded. The trial is *not run*."""


class Feedback(BaseModel):
    """What is asked for next, and what was wrong after an iteration.

    ``follow_up`` is a text of the task that the agent has not been told before, ``findings`` are the
    verdict's, ``violations`` those of the task's rule set, ``errors`` the messages of commands that failed.
    ``more_findings`` and ``more_violations`` count those that are too many to be listed.
    """

    model_config = ConfigDict(frozen=True)

    iteration: int
    follow_up: str | None = None
    findings: tuple[Finding, ...] = ()
    violations: tuple[Finding, ...] = ()
    errors: tuple[str, ...] = ()
    more_findings: int = 0
    more_violations: int = 0

    def as_text(self) -> str:
        """Plain text for a model; places and lengths in dbu."""
        sections = [
            ("The task is not fulfilled yet:", [str(one) for one in self.findings], self.more_findings),
            ("Design-rule violations:", [str(one) for one in self.violations], self.more_violations),
            ("Commands that failed and changed nothing:", list(self.errors), 0),
        ]
        lines = [f"After iteration {self.iteration}:"]
        if self.follow_up is not None:
            lines += ["The task goes on:", *(f"  {line}" for line in self.follow_up.strip().splitlines())]
        for title, entries, unlisted in sections:
            if entries:
                lines += [title, *(f"  {entry}" for entry in entries[:_MOST_LINES])]
                if rest := len(entries[_MOST_LINES:]) + unlisted:
                    lines.append(f"  ... and {rest} more")
        return "\n".join(lines) + "\n"


class Turn(BaseModel):
    """One iteration's call: ``iteration`` counts from 1; ``feedback`` is None in the first."""

    model_config = ConfigDict(frozen=True)

    iteration: int
    feedback: Feedback | None = None


class Proposal(BaseModel):
    """The end of an agent's turn. ``gives_up`` ends the trial; ``note`` goes into the record."""

    model_config = ConfigDict(frozen=True)

    gives_up: bool = False
    note: str = ""


class LayoutTools(Protocol):
    """All that an agent can do to a layout."""

    def execute(self, command: Mapping[str, Any]) -> Outcome:
        """Carry out one command in its JSON form."""
        ...


class AgentSession(Protocol):
    """An agent at work on one task."""

    def propose(self, turn: Turn, layout: LayoutTools) -> Proposal:
        """Draw or correct through ``layout``; return when the layout is to be judged.

        Raises AgentUnavailable when the agent cannot run at all; any other exception makes the trial
        an error of the infrastructure, never a failure of the agent.
        """
        ...


class Agent(Protocol):
    """``name`` is what stands in item ids and records; ``backend`` as result records of the field have it.

    An agent may further have ``model`` and ``quantization`` (text or None), which go into its records.
    """

    name: str
    backend: str

    def start(self, context: TaskContext) -> AgentSession:
        """Begin a task. Raises AgentUnavailable."""
        ...


class DeckTurn(BaseModel):
    """One request for a deck: ``iteration`` counts from 1.

    ``error`` is why the deck of the iteration before does not run, None in the first.  It is told of nothing but
    that, and only with ``--rule-feedback compile``.
    """

    model_config = ConfigDict(frozen=True)

    iteration: int
    error: str | None = None


class DeckProposal(BaseModel):
    """A deck, or None to give up.

    ``language`` is ``drc`` for a script in KLayout's DRC language, ``python`` for a checker with klayout.db.
    """

    model_config = ConfigDict(frozen=True)

    text: str | None
    language: Literal["drc", "python"] = "drc"
    note: str = ""


class DeckSession(Protocol):
    """An agent at work on one rule."""

    def propose(self, turn: DeckTurn) -> DeckProposal:
        """Write or correct the deck.

        Raises AgentUnavailable when the agent cannot run at all; any other exception makes the trial
        an error of the infrastructure, never a failure of the agent.
        """
        ...


@runtime_checkable
class DeckWriter(Protocol):
    """What an agent has that also solves rules."""

    def start_rule(self, context: RuleContext) -> DeckSession:
        """Begin a rule. Raises AgentUnavailable."""
        ...
