"""The ``iclayout`` program: results and transcripts outside pytest."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_iclayout import __version__
from pytest_iclayout.defaults import RESULTS

if TYPE_CHECKING:
    from pytest_iclayout.suite.task import Task
    from pytest_iclayout.trial.record import TrialRecord
    from pytest_iclayout.trial.replaying import Replayed

EXIT_DIFFERS = 1
EXIT_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns 0, 1 when something that was asked about does not hold, 2 for bad input."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, say) has seen enough; Python flushes once more at exit and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ValueError as error:  # every error of ours about a user's input is one
        sys.stdout.flush()  # what could be shown comes before what could not, also through a pipe
        print(f"iclayout: {error}", file=sys.stderr)
        return EXIT_USAGE
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="iclayout",
        description="Look at trial records and transcripts of pytest-iclayout. Trials themselves are run by pytest: "
        "pytest --pyargs iclayout_tasks --agent=mock -k tier1",
    )
    parser.add_argument("--version", action="version", version=f"pytest-iclayout {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    results = verbs.add_parser(
        "results",
        help="show trial records as a table, or one of them whole",
        description="Show the trial records below a folder: a line each, or with --task everything that is known of "
        "one task's trials. Example: iclayout results .iclayout/results --outcome failed",
    )
    default = Path(RESULTS)
    text = f"a folder that records were written to (default: {default} in the current folder)"
    results.add_argument("folder", type=Path, nargs="?", default=default, metavar="DIR", help=text)
    results.add_argument("--task", metavar="ID", help="show this task's trials whole")
    results.add_argument("--outcome", choices=["passed", "failed", "error", "not_run"], help="only these")
    results.add_argument("--json", action="store_true", help="print the records as one JSON array")
    results.set_defaults(run=_results)

    replaying = verbs.add_parser(
        "replay",
        help="replay transcripts and judge what they drew",
        description="Replay transcripts (files, or folders of *.jsonl), judge each with the task of its name, and "
        "compare with the *.result.json beside it. The exit code is 1 when a verdict differs from its record or a "
        "replay from its transcript. Example: iclayout replay runs/ --tasks path/to/layout-tasks",
    )
    replaying.add_argument("paths", type=Path, nargs="+", metavar="PATH")
    replaying.add_argument("--tasks", type=Path, metavar="DIR", help="tasks to judge with (default: the bundled suite)")
    replaying.add_argument("--json", action="store_true", help="print one JSON array")
    replaying.set_defaults(run=_replay)
    _add_suite_verbs(verbs.add_parser("suite", help="list, check and lock the tasks of a suite"))
    return parser


def _add_suite_verbs(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(required=True, metavar="VERB")
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
        verb = verbs.add_parser(name, help=text, description=f"{description} Example: iclayout suite {name} my-tasks")
        verb.add_argument(
            "path", type=Path, nargs="?", metavar="PATH", help="the suite's folder (default: the bundled suite)"
        )
        verb.set_defaults(run=run)
        if name == "list":
            shape = verb.add_mutually_exclusive_group()
            shape.add_argument("--json", action="store_true", help="print one JSON array, with digests")
            shape.add_argument("--markdown", action="store_true", help="print a Markdown table")


def _results(options: argparse.Namespace) -> int:
    from pytest_iclayout.trial.record import RecordError, read_record
    from pytest_iclayout.trial.summary import TrialLine, trial_table

    folder: Path = options.folder
    if not folder.is_dir():
        raise RecordError(f"{folder}: no folder of trial records; pytest --agent=... writes them there")
    shown, unreadable = [], []
    for path in sorted(folder.rglob("*.json")):
        try:
            record = read_record(path)
        except RecordError as error:
            unreadable.append(str(error))
            continue
        if options.outcome in (None, record.outcome.value) and options.task in (None, record.task_id):
            shown.append((path, record))
    if options.json:
        print(json.dumps([record.model_dump(mode="json") for _, record in shown], indent=2))
    elif not shown:
        print("no such trial record")
    elif options.task is not None:
        for path, record in shown:
            _print_whole(path, record)
    else:
        records = [record for _, record in shown]
        _print_table(records)
        lines = [TrialLine(one.agent, one.tier, one.outcome.value, one.iterations, one.reason) for one in records]
        print("", *trial_table(lines), sep="\n")
    if unreadable:
        # Last, and after the records that can be read: one damaged file does not hide the others.
        raise RecordError("\niclayout: ".join(unreadable))
    return 0 if shown else EXIT_DIFFERS


def _print_table(records: list[TrialRecord]) -> None:
    rows = [("agent", "suite", "task", "outcome", "iterations", "reason")]
    for record in sorted(records, key=lambda one: (one.agent, one.suite, one.task_id)):
        reason = record.reason.splitlines()[0] if record.reason else ""
        outcome, iterations = record.outcome.value, str(record.iterations)
        rows.append((record.agent, record.suite, record.task_id, outcome, iterations, reason))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        cells = [
            f"{cell:>{width}}" if cell.isdigit() else f"{cell:<{width}}"
            for cell, width in zip(row, widths, strict=False)
        ]
        print("  ".join([*cells, row[5]]).rstrip())


def _print_whole(path: Path, record: TrialRecord) -> None:
    print(f"== {record.agent} at {record.task_id} (suite {record.suite} {record.suite_version})")
    print(f"outcome: {record.outcome.value} after {record.iterations} iteration(s), {record.wall_ms} ms")
    verdict = record.verdict
    told = record.reason if verdict is None or verdict.ok else verdict.summary(len(verdict.findings))
    for line in told.splitlines():
        print(f"  {line}")
    for line in record.traceback.splitlines():
        print(f"  {line}")
    if record.failed_commands:
        print(f"{record.failed_commands} of {record.commands} commands failed; the last: {record.last_command_error}")
    if record.final_violations is not None:
        print(f"design-rule violations: first {record.first_proposal_violations}, final {record.final_violations}")
    for label, name in (("layout", record.artifact), ("transcript", record.transcript), ("picture", record.picture)):
        if name is not None:
            print(f"{label}: {path.parent / name}")
    print(f"record: {path}")


def _replay(options: argparse.Namespace) -> int:
    from iclayout_checkers import CHECKERS

    from pytest_iclayout.checking.registry import CheckerRegistry
    from pytest_iclayout.session.transcript import TranscriptError
    from pytest_iclayout.suite.files import SuiteError
    from pytest_iclayout.suite.folder import bundled_folder, load_tasks
    from pytest_iclayout.trial.replaying import replay_file, transcripts_in

    tasks, problems = load_tasks(options.tasks or bundled_folder(), CheckerRegistry(CHECKERS))
    replayed = []
    for path in transcripts_in(options.paths):
        try:
            replayed.append(replay_file(path, tasks))
        except (SuiteError, TranscriptError) as error:
            problems.append(str(error))
    if options.json:
        print(json.dumps([one.to_json() for one in replayed], indent=2))
    else:
        for one in replayed:
            _print_replayed(one)
        judged = [one for one in replayed if one.verdict is not None]
        compared = [one for one in judged if one.recorded is not None]
        print(
            f"{len(replayed)} transcripts replayed, {len(judged)} judged, "
            f"{sum(not one.differs for one in compared)} of {len(compared)} as recorded"
        )
        if len(judged) < len(replayed) and options.tasks is None:
            unknown = len(replayed) - len(judged)
            print(f"{unknown} have no task in the bundled suite; --tasks DIR judges with the tasks of a folder")
    if problems:
        # Last, and after what could be replayed: one damaged file does not hide the others.
        raise SuiteError("\niclayout: ".join(problems))
    return EXIT_DIFFERS if any(one.differs or one.divergences for one in replayed) else 0


def _print_replayed(one: Replayed) -> None:
    ours = {None: "no task of that id", True: "accepted", False: "rejected"}[one.accepted]
    recorded = {None: "", True: "; recorded as a success", False: "; recorded as a failure"}[one.recorded]
    print(f"{one.path}: {one.commands} commands; {ours}{recorded}{'  <- differs' if one.differs else ''}")
    for divergence in one.divergences:
        print(f"  diverges: {divergence}")
    if one.verdict is not None and not one.verdict.ok:
        for line in one.verdict.summary(3).splitlines():
            print(f"  {line}")


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
