"""Hooks that other plugins and conftest.py files can implement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_iclayout.agents.registry import AgentFactory
    from pytest_iclayout.checking.checker import Checker


@pytest.hookspec
def pytest_iclayout_checkers(config: pytest.Config) -> Iterable[Checker]:  # type: ignore[empty-body]
    """Return further checkers; their names can then stand in task files.

    A name that is taken already is a usage error.
    """


@pytest.hookspec
def pytest_iclayout_agents(config: pytest.Config) -> Mapping[str, AgentFactory]:  # type: ignore[empty-body]
    """Return further agents: name to a factory that takes what follows the colon of ``--agent=NAME:ARGUMENT``.

    A factory raises ValueError for an argument that it does not take.  Agents are made when pytest
    starts: a conftest.py that implements this must be the rootdir's or one of a folder given to pytest.
    A name that is taken already is a usage error.
    """
