"""``iclayout suite``: a suite listed, checked and locked."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_iclayout.cli.verbs import EXIT_DIFFERS, Verbs

if TYPE_CHECKING:
    from pytest_iclayout.suite.task import Task


def add_verb(verbs: Verbs) -> None:
    parser = verbs.add_parser("suite", help="list, check and lock the tasks of a suite")
    below = parser.add_subparsers(required=True, metavar="VERB")
    for name, run, text, description in (
        (
            "list",
            _suite_list,
            "show the tasks as a table",
            "Show the tasks below a folder, and how many there are by tier and by checker.",
        ),
        (
            "check",
            _suite_check,
            "look for faults of the suite",
            "Look for faults that no single trial shows: prompts without units or layers, tasks that are judged alike, "
            "checkers that do not pass their gate, parameters that do not load, content that is not what the version "
            "was locked with. A line for each; the exit code is 1 when there is a problem.",
        ),
        (
            "lock",
            _suite_lock,
            "write down what the tasks of this version are",
            "Write manifest.lock.toml with a digest of each task. Refused, with exit code 1, when the version is "
            "locked with other content already.",
        ),
    ):
        verb = below.add_parser(name, help=text, description=f"{description} Example: iclayout suite {name} my-tasks")
        verb.add_argument(
            "path", type=Path, nargs="?", metavar="PATH", help="the suite's folder (default: the bundled suite)"
        )
        verb.set_defaults(run=run)
        if name == "list":
            shape = verb.add_mutually_exclusive_group()
            shape.add_argument("--json", action="store_true", help="print one JSON array, with digests")
            shape.add_argument("--markdown", action="store_true", help="print a Markdown table")


def _suite_list(options: argparse.Namespace) -> int:
    from pytest_iclayout.suite.files import SuiteError
    from pytest_iclayout.suite.listing import listed, markdown_table, summary_lines, text_table

    tasks, problems = _suite_tasks(options.path)
    rows = listed(tasks.values())
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        table = markdown_table(rows) if options.markdown else text_table(rows)
        print(*table, "", *summary_lines(rows), sep="\n")
    if problems:
        raise SuiteError("\niclayout: ".join(problems))
    return 0


def _suite_check(options: argparse.Namespace) -> int:
    from iclayout_checkers import CHECKERS

    from pytest_iclayout.checking.registry import CheckerRegistry
    from pytest_iclayout.suite.folder import bundled_folder
    from pytest_iclayout.suite.lint import Weight, check_suite

    checked = check_suite(options.path or bundled_folder(), CheckerRegistry(CHECKERS))
    for complaint in checked.complaints:
        print(complaint)
    problems, warnings = checked.count(Weight.PROBLEM), checked.count(Weight.WARNING)
    print(f"{checked.tasks} tasks checked: {problems} problems, {warnings} warnings")
    return EXIT_DIFFERS if problems else 0


def _suite_lock(options: argparse.Namespace) -> int:
    from pytest_iclayout.suite.files import SuiteError
    from pytest_iclayout.suite.folder import bundled_folder
    from pytest_iclayout.suite.lock import LOCK_NAME, LockedError, write_lock
    from pytest_iclayout.suite.manifest import MANIFEST_NAME, load_suite

    folder = options.path or bundled_folder()
    tasks, problems = _suite_tasks(folder)
    if problems:
        raise SuiteError("\niclayout: ".join(problems))
    suite = load_suite(folder / MANIFEST_NAME)
    if differing := sorted(set(tasks) ^ set(suite.tasks)):
        raise SuiteError(
            f"{folder / MANIFEST_NAME}: tasks: {', '.join(differing)}: only listed here, or only a file; "
            "a lock holds what is both (iclayout suite check tells which)"
        )
    try:
        written = write_lock(folder, suite.version, {task_id: task.digest for task_id, task in tasks.items()})
    except LockedError as error:
        print(f"iclayout: {error}", file=sys.stderr)
        return EXIT_DIFFERS
    print(f"{folder / LOCK_NAME}: {'written' if written else 'unchanged'}: version {suite.version}, {len(tasks)} tasks")
    return 0


def _suite_tasks(folder: Path | None) -> tuple[dict[str, Task], list[str]]:
    """Raises SuiteError for a folder without tasks."""
    from iclayout_checkers import CHECKERS

    from pytest_iclayout.checking.registry import CheckerRegistry
    from pytest_iclayout.suite.files import SuiteError
    from pytest_iclayout.suite.folder import bundled_folder, load_tasks

    folder = folder or bundled_folder()
    tasks, problems = load_tasks(folder, CheckerRegistry(CHECKERS))
    if not tasks and not problems:
        raise SuiteError(f"{folder}: no task below this folder")
    return tasks, problems
