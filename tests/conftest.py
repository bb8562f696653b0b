"""``bundled_task`` in a test's arguments: the test runs for every task of the bundled suite."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import iclayout_tasks
import pytest
from iclayout_checkers import CHECKERS

from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.suite.manifest import MANIFEST_NAME, Suite, load_suite
from pytest_iclayout.suite.task import Task, load_task


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "bundled_task" in metafunc.fixturenames:
        metafunc.parametrize("bundled_task", _tasks(), ids=[task.id for task in _tasks()])


@pytest.fixture(autouse=True)
def terminal_as_a_users(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pytest runs in a test: lines of its summary are cut off at a terminal's width, whole messages in CI."""
    if "pytester" in request.fixturenames:
        monkeypatch.setenv("COLUMNS", "300")
        for name in ("CI", "BUILD_NUMBER"):
            monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def bundled_suite() -> Suite:
    return _suite()


@pytest.fixture(scope="session")
def bundled_tasks() -> tuple[Task, ...]:
    """In the order of the files' paths."""
    return _tasks()


@cache
def _suite() -> Suite:
    return load_suite(Path(iclayout_tasks.__file__).parent / MANIFEST_NAME)


@cache
def _tasks() -> tuple[Task, ...]:
    registry = CheckerRegistry(CHECKERS)
    paths = sorted((_suite().folder / "layout").rglob("*.toml"))
    return tuple(load_task(path, _suite(), registry) for path in paths)
