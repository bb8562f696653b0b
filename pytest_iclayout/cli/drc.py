"""``iclayout drc``: a DRC deck run on layouts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import Future, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_iclayout.cli.verbs import EXIT_DIFFERS, Verbs

if TYPE_CHECKING:
    from pytest_iclayout.drc.decks.execution import Execution


def add_verb(verbs: Verbs) -> None:
    verb = verbs.add_parser(
        "drc",
        help="run a DRC deck on layouts",
        description="Run a deck in KLayout's DRC language on layouts (GDS or OASIS), with $input and $output set as "
        "klayout -b -r DECK -rd input=... -rd output=... does, in one application for all of them and contained: no "
        "network, no other files, no other processes. The exit code is 0 when every run came to its end, whatever it "
        "found, else 1. Example: iclayout drc rules.drc chip.gds --rdb reports",
    )
    verb.add_argument("deck", type=Path, metavar="DECK")
    verb.add_argument("layouts", type=Path, nargs="+", metavar="LAYOUT")
    verb.add_argument("--json", action="store_true", help="print one JSON array")
    verb.add_argument("--rdb", type=Path, metavar="DIR", help="keep the report databases here, NAME.lyrdb for NAME.gds")
    verb.add_argument(
        "--root", type=Path, metavar="DIR", help="files that the deck includes lie below (default: its folder)"
    )
    verb.add_argument("--children", type=_positive, metavar="N", help="runs at a time (default: one a processor)")
    verb.add_argument("--timeout", type=_positive, metavar="S", default=60, help="seconds a run (default: 60)")
    verb.add_argument("--memory", type=_positive, metavar="MB", default=2048, help="a run's memory (default: 2048)")
    verb.add_argument("--unsafe-no-sandbox", action="store_true", help="run a deck that you trust uncontained")
    verb.set_defaults(run=_drc)


def _positive(text: str) -> int:
    value = int(text)
    if not 1 <= value <= _MOST:
        raise ValueError
    return value


_MOST = 1_000_000
_positive.__name__ = f"whole number from 1 to {_MOST}"


def _drc(options: argparse.Namespace) -> int:
    from pytest_iclayout.drc.decks.deck import Deck
    from pytest_iclayout.drc.decks.engines import EngineUnavailable
    from pytest_iclayout.drc.decks.pool import DeckPool
    from pytest_iclayout.sandbox.policy import Limits, SandboxUnavailable

    deck = Deck.of_file(options.deck, options.root)
    layouts: list[Path] = options.layouts
    if missing := [path for path in layouts if not path.is_file()]:
        raise ValueError(f"{missing[0]}: no such layout file")
    reports = None if options.rdb is None else _report_paths(options.rdb, layouts)
    limits = Limits(
        wall_s=options.timeout,
        cpu_s=max(1, options.timeout),
        memory_bytes=max(64, options.memory) << 20,
        file_bytes=1 << 30,
        folder_bytes=2 << 30,
    )
    try:
        with DeckPool(options.children, sandbox=not options.unsafe_no_sandbox, limits=limits) as pool:
            executions = _results(pool.run(deck, layouts, reports=reports))
    except (EngineUnavailable, SandboxUnavailable) as error:
        raise ValueError(str(error)) from error
    if options.json:
        rows = [
            {"layout": str(path), **one.model_dump(mode="json")} for path, one in zip(layouts, executions, strict=True)
        ]
        print(json.dumps(rows, indent=2))
    else:
        for path, one in zip(layouts, executions, strict=True):
            _print(path, one)
        _print_sum(executions)
    return 0 if all(one.ok for one in executions) else EXIT_DIFFERS


def _results(futures: Sequence[Future[Execution]]) -> list[Execution]:
    """Waits; on a terminal it is told how many came to an end."""
    if sys.stderr.isatty():
        for number, _ in enumerate(as_completed(futures), 1):
            print(f"\r{number} of {len(futures)} layouts", end="", file=sys.stderr, flush=True)
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return [one.result() for one in futures]


def _report_paths(folder: Path, layouts: Sequence[Path]) -> list[Path]:
    """Raises ValueError where two layouts would share a report."""
    names = [f"{path.stem}.lyrdb" for path in layouts]
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"--rdb {folder}: two layouts would write {double[0]}; run them apart")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--rdb {folder}: {error.strerror}") from error
    return [folder / name for name in names]


def _print(path: Path, execution: Execution) -> None:
    if not execution.ok:
        print(f"{path}: {execution.status.value}: {execution.reason}")
        return
    found = [f"{name} {count}" for name, count in execution.items.items() if count]
    checked = f"{len(execution.items)} categories"
    print(f"{path}: {'; '.join(found) if found else 'clean'} ({checked})")


def _print_sum(executions: Sequence[Execution]) -> None:
    ran = [one for one in executions if one.ok]
    clean = sum(not one.violated for one in ran)
    failed = len(executions) - len(ran)
    print(
        f"{len(executions)} layouts: {clean} clean, {len(ran) - clean} with violations, {failed} not run to the end "
        f"({executions[0].engine})"
    )
