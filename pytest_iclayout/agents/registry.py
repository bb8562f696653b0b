"""Agents by the name given to ``--agent``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_iclayout.agents.mock import MockAgent
from pytest_iclayout.agents.nop import NopAgent
from pytest_iclayout.agents.oracle import OracleAgent
from pytest_iclayout.agents.protocol import Agent
from pytest_iclayout.agents.random_rectangles import RandomAgent
from pytest_iclayout.agents.replay import ReplayAgent

AgentFactory = Callable[[str], Agent]
"""Makes an agent from what follows the colon in ``--agent=NAME:ARGUMENT`` (empty without a colon)."""


class AgentNameError(ValueError):
    """An agent that does not exist or does not take that argument."""


def _plain(make: Callable[[], Agent], name: str) -> AgentFactory:
    def factory(argument: str) -> Agent:
        if argument:
            raise AgentNameError(f"agent {name} takes no argument (given {argument!r})")
        return make()

    return factory


def _replay(argument: str) -> Agent:
    folder = Path(argument)
    if not argument or not folder.is_dir():
        raise AgentNameError(f"replay:DIR needs a folder of transcripts; {argument!r} is none")
    return ReplayAgent(folder, f"replay:{argument}")


BUILT_IN: Mapping[str, AgentFactory] = {
    "mock": _plain(MockAgent, "mock"),
    "nop": _plain(NopAgent, "nop"),
    "oracle": _plain(OracleAgent, "oracle"),
    "random": _plain(RandomAgent, "random"),
    "replay": _replay,
}


@dataclass
class AgentRegistry:
    factories: dict[str, AgentFactory] = field(default_factory=lambda: dict(BUILT_IN))

    def add(self, factories: Mapping[str, AgentFactory]) -> None:
        """Raises AgentNameError for a name that is taken."""
        for name, factory in factories.items():
            if name in self.factories:
                raise AgentNameError(f"agent {name!r} is registered twice")
            self.factories[name] = factory

    def make(self, spec: str) -> Agent:
        """Raises AgentNameError that lists the names."""
        name, _, argument = spec.partition(":")
        if name not in self.factories:
            known = ", ".join(sorted(self.factories))
            raise AgentNameError(
                f"{spec!r} is no agent; known are {known} (replay as replay:DIR); those of a conftest.py are known "
                "where that is the rootdir's or in a folder that pytest is given, others come with -p MODULE"
            )
        return self.factories[name](argument)
