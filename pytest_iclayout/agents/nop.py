"""nop: does nothing. No task may be solved by it."""

from __future__ import annotations

from pytest_iclayout.agents.protocol import LayoutTools, Proposal, Turn
from pytest_iclayout.suite.context import TaskContext


class NopAgent:
    name = "nop"
    backend = "nop"

    def start(self, context: TaskContext) -> NopAgent:
        return self

    def propose(self, turn: Turn, layout: LayoutTools) -> Proposal:
        return Proposal(gives_up=True, note="does nothing")
