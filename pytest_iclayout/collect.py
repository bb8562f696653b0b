"""Task files as pytest collectors, and the items that they yield."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_iclayout.broken import broken_file
from pytest_iclayout.checking.gate import GateFailure, GateReport, GateSettings, check_accepts, check_rejects
from pytest_iclayout.fixtures import TrialRun, highest_folder, load_task_instances
from pytest_iclayout.items import OneOfSeveral, WorkItem, items_of, keep_picture
from pytest_iclayout.options import agents, settings_key
from pytest_iclayout.suite.files import SuiteError, read_toml
from pytest_iclayout.suite.manifest import load_suite, suite_above
from pytest_iclayout.suite.sniff import MANIFEST_NAME, is_suite_manifest
from pytest_iclayout.suite.task import Task, is_task_file

_ids_key = pytest.StashKey[dict[str, dict[str, Path]]]()
"""Task ids seen, with their files, for each suite's name: records go by both."""


def collect_toml(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A collector for a task file or a suite's manifest; None for any other TOML file."""
    if file_path.name == MANIFEST_NAME:
        if is_suite_manifest(file_path):
            return ManifestFile.from_parent(parent, path=file_path)
        return None
    try:
        suite = suite_above(file_path.parent, highest_folder(file_path, parent.config))
    except SuiteError:
        # The manifest's own collector says what is wrong with it; the task's says that it is.
        return TaskFile.from_parent(parent, path=file_path)
    if parent.session.isinitpath(file_path) or is_task_file(file_path, suite):
        return TaskFile.from_parent(parent, path=file_path)
    return None


class ManifestFile(pytest.File):
    """A suite's manifest: yields no items, but is an error when a task that it lists has no file."""

    def collect(self) -> Iterator[pytest.Item]:
        try:
            suite = load_suite(self.path)
        except SuiteError as error:
            raise broken_file(self, str(error)) from error
        ids = {_id_in(path) for path in self.path.parent.rglob("*.toml")}
        missing = [task_id for task_id in suite.tasks if task_id not in ids]
        if missing:
            raise broken_file(
                self,
                f"{self.path}: tasks: no file for {', '.join(missing)}; each needs a TOML file below this folder",
            )
        return iter(())


_ID_AT_ONCE = re.compile(
    rb'(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*id[ \t]*=[ \t]*"([\w.-]+)"[ \t]*(?:#[^\n]*)?\r?\n', re.ASCII
)
"""The first key of a file, below nothing but comments: where the id stands there, the rest need not be parsed."""


def _id_in(path: Path) -> str:
    """The id that a file gives, or for a damaged file (an error of its own) its name."""
    try:
        if path.is_file():
            with path.open("rb") as stream:
                at_once = _ID_AT_ONCE.match(stream.read(4096))
            if at_once:
                return at_once[1].decode()
        return str(read_toml(path).get("id", path.stem))
    except (OSError, SuiteError):
        return path.stem


class TaskFile(pytest.File):
    """One task file: an item for each agent and the two items of the gate, or as many for each variant."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        try:
            tasks = self._load()
            # Here and not in a variant's collector: agents that cannot be made are the error of the file.
            agents(self.config)
        except (SuiteError, pytest.UsageError) as error:
            raise broken_file(self, str(error)) from error
        for task in tasks:
            if task.drawn is None:
                yield from _items(self, task)
            else:
                yield OneOfSeveral.from_parent(self, name=task.id, items=partial(_items, task=task))

    def _load(self) -> tuple[Task, ...]:
        tasks = load_task_instances(self.path, self.config)
        for task in tasks:
            ids = self.session.stash.setdefault(_ids_key, {}).setdefault(task.suite.name, {})
            other = ids.setdefault(task.id, self.path)
            if other != self.path:
                raise SuiteError(
                    f"{self.path}: id: {task.id!r} is the id of {other} already; ids are unique in a suite "
                    f"(both files are in one named {task.suite.name!r}; a {MANIFEST_NAME} can give it another name)"
                )
        return tasks


def _items(parent: pytest.Collector, task: Task) -> Iterator[pytest.Item]:
    # -k tier1 and -k <checker> also work where the files of all tiers share a folder.
    words = {f"tier{task.spec.tier}", task.oracle.checker.name, *(() if task.drawn is None else ("variant",))}
    return items_of(TaskItem, parent, accepts=_accepts, rejects=_rejects, solve=_solve, words=words, task=task)


class TaskItem(WorkItem):
    """An item of a task."""

    def __init__(self, *, task: Task, **kwargs: Any) -> None:
        super().__init__(work_id=task.id, **kwargs)
        self.task = task


# The functions take the task from their item and not from the fixture: a conftest.py may well have a
# fixture of its own called task or checker.


def _solve(request: pytest.FixtureRequest) -> None:
    TrialRun(request, request.node.task, request.node.agent).run().require_passed()


def _accepts(request: pytest.FixtureRequest) -> None:
    _gate(request, request.node.task, check_accepts)


def _rejects(request: pytest.FixtureRequest) -> None:
    _gate(request, request.node.task, check_rejects)


def _gate(request: pytest.FixtureRequest, task: Task, check: Callable[..., GateReport]) -> None:
    settings = request.config.stash[settings_key]
    gate = GateSettings(settings.gate_examples, settings.gate_database)
    try:
        report = check(task.oracle, f"{task.suite.name}-{task.id}", gate)
    except GateFailure as error:
        _attach_picture(request, task, error)
        raise
    request.node.user_properties.append(("iclayout_gate", f"{report.total} layouts: {report}"))


def _attach_picture(request: pytest.FixtureRequest, task: Task, failure: GateFailure) -> None:
    """Draw the layout that the oracle got wrong, and name the file in the failure."""
    from pytest_iclayout.trial.picture import picture_of

    picture = picture_of(task, failure.artifact, failure.verdict, request.node.name, failure.message)
    keep_picture(request.node, task.suite.name, picture, failure)
