"""nop: does nothing. No task and no rule may be solved by it."""

from __future__ import annotations

from pytest_iclayout.agents.protocol import DeckProposal, DeckTurn, LayoutTools, Proposal, Turn
from pytest_iclayout.rules.prompt import RuleContext
from pytest_iclayout.suite.context import TaskContext


class NopAgent:
    name = "nop"
    backend = "nop"

    def start(self, context: TaskContext) -> NopAgent:
        return self

    def propose(self, turn: Turn, layout: LayoutTools) -> Proposal:
        return Proposal(gives_up=True, note="does nothing")

    def start_rule(self, context: RuleContext) -> _EmptyDeck:
        return _EmptyDeck()


class _EmptyDeck:
    def propose(self, turn: DeckTurn) -> DeckProposal:
        return DeckProposal(text="", note="an empty deck")
