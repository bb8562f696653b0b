"""All that the plugin knows of pytest-xdist."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_iclayout import rule_warnings
from pytest_iclayout.options import settings_key

_WARNINGS = "iclayout_rule_warnings"


def is_installed(config: pytest.Config) -> bool:
    return config.pluginmanager.hasplugin("xdist")


class XdistHooks:
    """Registered only where xdist is, because pytest refuses hooks that nobody has specified."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """A worker died in an item: the trial it ran gets its record from here, where nothing died."""
        from pytest_iclayout.crash import record_crash

        record_crash(self._config, crashitem, report)

    def pytest_sessionfinish(self) -> None:
        """A worker collects the rules, and tells nobody: what it noted goes to the process that does."""
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_WARNINGS] = rule_warnings.noted(self._config)

    def pytest_testnodedown(self, node: Any) -> None:
        rule_warnings.merge(self._config, getattr(node, "workeroutput", {}).get(_WARNINGS))

    def pytest_configure_node(self, node: Any) -> None:
        """All workers of a run write one run id."""
        node.workerinput["iclayout_run_id"] = self._config.stash[settings_key].run_id
