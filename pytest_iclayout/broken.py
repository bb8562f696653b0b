"""Broken files: one error each, and the other files still run."""

from __future__ import annotations

import pytest

_broken_key = pytest.StashKey[set[str]]()
_foreign_key = pytest.StashKey[bool]()


def broken_file(node: pytest.Collector, message: str) -> pytest.Collector.CollectError:
    """The error of a broken task file, manifest or file of labels, to be raised by its collector."""
    node.session.stash.setdefault(_broken_key, set()).add(node.nodeid)
    return node.CollectError(message)


class BrokenFiles:
    """Lets the other tasks run when broken files of ours are all that could not be collected.

    pytest stops at a collection error, since a module's failure may concern the others; a task file's
    concerns itself alone.  Registered once the session is there, of which the hook for a report knows nothing.
    """

    def __init__(self, session: pytest.Session) -> None:
        self._session = session

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and report.nodeid not in self._session.stash.get(_broken_key, set()):
            self._session.stash[_foreign_key] = True

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.stash.get(_broken_key, set()) and not session.stash.get(_foreign_key, False):
            session.config.option.continue_on_collection_errors = True
