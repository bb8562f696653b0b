"""mock: a deterministic stand-in for a model, which needs neither money nor a network.

It plays scripts: for each task the commands of one or more turns.  Some scripts are wrong at first
and are put right in a later turn, so that propose, verify and correct are all exercised: a turn with
``expects`` is only played when the feedback says that.

For a rule that declares what it measures it writes a deck by template; at others it fails.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pytest_iclayout.agents.protocol import (
    AgentUnavailable,
    DeckProposal,
    DeckTurn,
    LayoutTools,
    Proposal,
    Turn,
)
from pytest_iclayout.rules.prompt import RuleContext
from pytest_iclayout.suite.context import TaskContext
from pytest_iclayout.technology import toml

_REPORT_OF_NOTHING = 'source($input)\nreport("mock", $output)\n'


class ScriptTurn(BaseModel):
    """``expects`` is text that the feedback before this turn must hold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    expects: str = ""
    commands: tuple[dict[str, Any], ...] = Field(min_length=1)


class MockAgent:
    """The trial runner of rules knows it by its type, and gives it the deck that templates make of the rule."""

    name = "mock"
    backend = "mock"

    def __init__(self, deck: str | None = None) -> None:
        self._deck = deck

    def start(self, context: TaskContext) -> _MockSession:
        turns = scripts().get(context.task_id)
        if turns is None:
            published = context.task_id.rpartition(".")[0]
            if published in scripts():
                raise AgentUnavailable(
                    f"mock has no script for {context.task_id}; it plays {published} with its fixed values only"
                )
            raise AgentUnavailable(f"mock has no script for {context.task_id}; it plays the bundled suite's tasks")
        return _MockSession(turns)

    def start_rule(self, context: RuleContext) -> _MockDeck:
        return _MockDeck(self._deck)


class _MockDeck:
    def __init__(self, deck: str | None) -> None:
        self._deck = deck

    def propose(self, turn: DeckTurn) -> DeckProposal:
        if self._deck is None:
            return DeckProposal(text=_REPORT_OF_NOTHING, note="no template: the rule declares no structure")
        return DeckProposal(text=self._deck, note="a deck by template")


class _MockSession:
    def __init__(self, turns: tuple[ScriptTurn, ...]) -> None:
        self._turns = turns

    def propose(self, turn: Turn, layout: LayoutTools) -> Proposal:
        if turn.iteration > len(self._turns):
            return Proposal(gives_up=True, note="the script is at its end")
        script = self._turns[turn.iteration - 1]
        feedback = "" if turn.feedback is None else turn.feedback.as_text()
        if script.expects not in feedback:
            return Proposal(gives_up=True, note=f"expected feedback with {script.expects!r}")
        for command in script.commands:
            layout.execute(command)
        return Proposal()


@cache
def scripts() -> dict[str, tuple[ScriptTurn, ...]]:
    """The scripts by task id, from the files of the folder ``mock_scripts`` beside this module."""
    found: dict[str, tuple[ScriptTurn, ...]] = {}
    for file in sorted((resources.files(__package__) / "mock_scripts").iterdir(), key=lambda one: one.name):
        for task_id, turns in toml.loads(file.read_text(encoding="utf-8")).items():
            if task_id in found:
                raise ValueError(f"mock_scripts/{file.name}: {task_id} has a script in another file already")
            found[task_id] = tuple(ScriptTurn.model_validate(turn) for turn in turns)
    return found
