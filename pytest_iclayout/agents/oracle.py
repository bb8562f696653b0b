"""oracle: plays the checker's own witness, or hands in the rule's gold deck. Everything must be solved by it."""

from __future__ import annotations

from pytest_iclayout.agents.protocol import (
    AgentUnavailable,
    DeckProposal,
    DeckTurn,
    LayoutTools,
    Proposal,
    Turn,
)
from pytest_iclayout.rules.prompt import RuleContext
from pytest_iclayout.session.commands import dump_command
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.suite.context import TaskContext


class OracleAgent:
    """The one agent that is given the witness, or the gold deck; the trial runners know it by its type."""

    name = "oracle"
    backend = "oracle"

    def __init__(self, witness: Drawing | None = None, deck: str | None = None) -> None:
        self._witness = witness
        self._deck = deck

    def start(self, context: TaskContext) -> OracleAgent:
        if self._witness is None:
            raise AgentUnavailable("the oracle plays a witness and was given none")
        return self

    def propose(self, turn: Turn, layout: LayoutTools) -> Proposal:
        if turn.feedback is None:
            for command in self._witness or ():
                layout.execute(dump_command(command))
            return Proposal(note="played the witness")
        # The witness is right for all follow-ups: they only have to be heard.
        return Proposal(gives_up=turn.feedback.follow_up is None, note="played the witness")

    def start_rule(self, context: RuleContext) -> _GoldDeck:
        if self._deck is None:
            raise AgentUnavailable("the rule has no gold deck for the oracle to hand in")
        return _GoldDeck(self._deck)


class _GoldDeck:
    def __init__(self, deck: str) -> None:
        self._deck = deck

    def propose(self, turn: DeckTurn) -> DeckProposal:
        return DeckProposal(text=self._deck, note="handed in the gold deck")
