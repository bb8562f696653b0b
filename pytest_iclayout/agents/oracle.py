"""oracle: plays the checker's own witness. Every task must be solved by it."""

from __future__ import annotations

from pytest_iclayout.agents.protocol import AgentUnavailable, LayoutTools, Proposal, Turn
from pytest_iclayout.session.commands import dump_command
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.suite.context import TaskContext


class OracleAgent:
    """The one agent that is given the witness; the trial runner knows it by its type."""

    name = "oracle"
    backend = "oracle"

    def __init__(self, witness: Drawing | None = None) -> None:
        self._witness = witness

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
