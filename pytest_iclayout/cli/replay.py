"""``iclayout replay``: transcripts replayed and judged."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_iclayout.cli.verbs import EXIT_DIFFERS, Verbs

if TYPE_CHECKING:
    from pytest_iclayout.trial.replaying import Replayed


def add_verb(verbs: Verbs) -> None:
    replaying = verbs.add_parser(
        "replay",
        help="replay transcripts and judge what they drew",
        description="Replay transcripts (files, or folders of *.jsonl), judge each with the task of its name, or the "
        "variant of one, and compare with the *.result.json beside it. The exit code is 1 when a verdict differs from "
        "its record or a replay from its transcript. Example: iclayout replay runs/ --tasks path/to/layout-tasks",
    )
    replaying.add_argument("paths", type=Path, nargs="+", metavar="PATH")
    replaying.add_argument("--tasks", type=Path, metavar="DIR", help="tasks to judge with (default: the bundled suite)")
    replaying.add_argument("--json", action="store_true", help="print one JSON array")
    replaying.set_defaults(run=_replay)


def _replay(options: argparse.Namespace) -> int:
    from iclayout_checkers import CHECKERS

    from pytest_iclayout.checking.registry import CheckerRegistry
    from pytest_iclayout.session.transcript import TranscriptError
    from pytest_iclayout.suite.files import SuiteError
    from pytest_iclayout.suite.folder import bundled_folder, load_tasks
    from pytest_iclayout.trial.replaying import replay_file, transcripts_in

    registry = CheckerRegistry(CHECKERS)
    tasks, problems = load_tasks(options.tasks or bundled_folder(), registry)
    replayed = []
    for path in transcripts_in(options.paths):
        try:
            replayed.append(replay_file(path, tasks, registry))
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
        if unknown := len(replayed) - len(judged):
            where = "the bundled suite; --tasks DIR judges with the tasks of a folder"
            print(f"{unknown} have no task in {where if options.tasks is None else options.tasks}")
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
