"""The running pools of a pytest run: started when something is first run, ended with the run."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

import pytest

from pytest_iclayout.options import settings_key

if TYPE_CHECKING:
    from pytest_iclayout.drc.decks.pool import DeckPool
    from pytest_iclayout.drc.decks.script_pool import ScriptPool
    from pytest_iclayout.sandbox.policy import Limits

_key = pytest.StashKey["RunPools"]()


class PoolUnavailable(Exception):
    """No KLayout application, or no containment, on this machine; the message says what to install."""


class RunPools:
    """Of one pytest process: each worker of pytest-xdist has its own, and its share of the processors."""

    def __init__(self, sandbox: bool, timeout_s: int) -> None:
        self._sandbox = sandbox
        self._timeout_s = timeout_s
        processors = len(os.sched_getaffinity(0))
        workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
        self._children = max(1, processors // workers)

    @cached_property
    def decks(self) -> DeckPool:
        """Raises PoolUnavailable."""
        from pytest_iclayout.drc.decks.engines import EngineUnavailable
        from pytest_iclayout.drc.decks.pool import DeckPool
        from pytest_iclayout.sandbox.policy import SandboxUnavailable

        try:
            return DeckPool(self._children, sandbox=self._sandbox, limits=self._limits())
        except (EngineUnavailable, SandboxUnavailable) as error:
            raise PoolUnavailable(str(error)) from error

    @cached_property
    def scripts(self) -> ScriptPool:
        """Raises PoolUnavailable."""
        from pytest_iclayout.drc.decks.script_pool import ScriptPool
        from pytest_iclayout.sandbox.policy import SandboxUnavailable

        try:
            return ScriptPool(self._children, sandbox=self._sandbox, limits=self._limits())
        except SandboxUnavailable as error:
            raise PoolUnavailable(str(error)) from error

    def _limits(self) -> Limits:
        from pytest_iclayout.sandbox.policy import Limits

        return Limits(wall_s=self._timeout_s, cpu_s=self._timeout_s)

    def require(self) -> None:
        """Raises PoolUnavailable where decks cannot be run."""
        _ = self.decks

    def close(self) -> None:
        for name in ("decks", "scripts"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()


def pools(config: pytest.Config) -> RunPools:
    if _key not in config.stash:
        settings = config.stash[settings_key]
        config.stash[_key] = found = RunPools(settings.sandbox, settings.rule_timeout_s)
        config.add_cleanup(found.close)
    return config.stash[_key]
