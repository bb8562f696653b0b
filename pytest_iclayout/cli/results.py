"""``iclayout results``: trial records as a table, or one of them whole."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_iclayout.cli.verbs import EXIT_DIFFERS, Verbs
from pytest_iclayout.defaults import RESULTS

if TYPE_CHECKING:
    from pytest_iclayout.trial.record import AnyRecord, RuleRecord, TrialRecord


def add_verb(verbs: Verbs) -> None:
    results = verbs.add_parser(
        "results",
        help="show trial records as a table, or one of them whole",
        description="Show the trial records below a folder: a line each, or with --task everything that is known of "
        "one task's trials. Example: iclayout results .iclayout/results --outcome failed",
    )
    default = Path(RESULTS)
    text = f"a folder that records were written to (default: {default} in the current folder)"
    results.add_argument("folder", type=Path, nargs="?", default=default, metavar="DIR", help=text)
    results.add_argument("--task", metavar="ID", help="show this task's, or rule's, trials whole")
    results.add_argument(
        "--agent", action="append", metavar="NAME", help="only this agent's; may be given several times"
    )
    results.add_argument("--outcome", choices=["passed", "failed", "error", "not_run"], help="only these")
    results.add_argument("--json", action="store_true", help="print the records as one JSON array")
    results.set_defaults(run=_results)


def _results(options: argparse.Namespace) -> int:
    from pytest_iclayout.trial.record import RecordError, TrialRecord, read_any_record
    from pytest_iclayout.trial.summary import RuleLine, TrialLine, line_of, rule_table, trial_table

    folder: Path = options.folder
    if not folder.is_dir():
        raise RecordError(f"{folder}: no folder of trial records; pytest --agent=... writes them there")
    shown, unreadable = [], []
    for path in sorted(folder.rglob("*.json")):
        try:
            record = read_any_record(path)
        except RecordError as error:
            unreadable.append(str(error))
            continue
        if (
            options.outcome in (None, record.outcome.value)
            and options.task in (None, record.work_id)
            and (options.agent is None or record.agent in options.agent)
        ):
            shown.append((path, record))
    if options.json:
        print(json.dumps([record.model_dump(mode="json") for _, record in shown], indent=2))
    elif not shown:
        print(f"no such trial record in {folder}")
    elif options.task is not None:
        for path, record in shown:
            if isinstance(record, TrialRecord):
                _print_whole(path, record)
            else:
                _print_rule(path, record)
    else:
        records = [record for _, record in shown]
        _print_table(records)
        lines = [line_of(one.model_dump(mode="json")) for one in records]
        tasks = [one for one in lines if isinstance(one, TrialLine)]
        rules = [one for one in lines if isinstance(one, RuleLine)]
        for table in (trial_table(tasks), rule_table(rules)):
            if table:
                print("", *table, sep="\n")
    if unreadable:
        # Last, and after the records that can be read: one damaged file does not hide the others.
        raise RecordError("\niclayout: ".join(unreadable))
    return 0 if shown else EXIT_DIFFERS


def _print_table(records: list[AnyRecord]) -> None:
    rows = [("agent", "suite", "task", "outcome", "iterations", "reason")]
    for record in sorted(records, key=lambda one: (one.agent, one.suite, one.work_id)):
        reason = record.reason.splitlines()[0] if record.reason else ""
        outcome, iterations = record.outcome.value, str(record.iterations)
        rows.append((record.agent, record.suite, record.work_id, outcome, iterations, reason))
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


def _print_rule(path: Path, record: RuleRecord) -> None:
    from pytest_iclayout.drc.decks.execution import Status
    from pytest_iclayout.rules.evaluate import Reading

    print(f"== {record.agent} at {record.rule_id} (suite {record.suite} {record.suite_version})")
    print(f"outcome: {record.outcome.value} after {record.iterations} iteration(s), {record.wall_ms} ms")
    for line in [*record.reason.splitlines(), *record.traceback.splitlines()]:
        print(f"  {line}")
    for name, one in record.categories.items():
        in_error = f", {one.error} in error" if one.error else ""
        print(
            f"{name}: F1 {one.f1:.3f}; {one.true_positive} found, {one.false_negative} missed, "
            f"{one.false_positive} false, {one.true_negative} rightly clean{in_error}"
        )
    ended = sum(one.status is not Status.OK for one in record.wrong)
    if ended and record.reading is Reading.LENIENT:
        print(f"read leniently: on {ended} of {record.layouts} layouts the deck did not run and counts as silent")
    for one_wrong in record.wrong:
        print(f"  {one_wrong}")
    for label, file in (("deck", record.deck), ("picture", record.picture)):
        if file is not None:
            print(f"{label}: {path.parent / file}")
    print(f"record: {path}")
