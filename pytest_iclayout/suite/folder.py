"""All tasks below a folder, for the command line."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.suite.files import SuiteError
from pytest_iclayout.suite.manifest import suite_above, suite_of_folder
from pytest_iclayout.suite.sniff import MANIFEST_NAME
from pytest_iclayout.suite.task import Task, is_task_file, load_task


def load_tasks(folder: Path, registry: CheckerRegistry) -> tuple[dict[str, Task], list[str]]:
    """Tasks by id, and a message for each that cannot be used: a broken one concerns itself alone.

    Raises SuiteError for a folder that is none.
    """
    if not folder.is_dir():
        raise SuiteError(f"{folder}: no folder")
    tasks: dict[str, Task] = {}
    problems: list[str] = []
    for path in sorted(folder.resolve().rglob("*.toml")):
        try:
            suite = suite_above(path.parent, Path(path.anchor))
            if path.name == MANIFEST_NAME or not is_task_file(path, suite):
                continue
            task = load_task(path, suite or suite_of_folder(path.parent), registry)
            if task.id in tasks:
                raise SuiteError(f"{path}: id: {task.id!r} is the id of {tasks[task.id].path} already")
        except SuiteError as error:
            problems.append(str(error))
        else:
            tasks[task.id] = task
    return tasks, problems


def bundled_folder() -> Path:
    """Where the bundled suite (iclayout_tasks) is installed."""
    spec = find_spec("iclayout_tasks")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent
