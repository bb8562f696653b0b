"""Running decks in an application of their own for each layout, and what both ways are compared by."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import klayout.rdb as rdb
from hypothesis import settings

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.engines import Engine
from pytest_iclayout.drc.decks.pool import DeckPool
from pytest_iclayout.drc.report import ReportError, count_items


class Found(NamedTuple):
    """Whether the run counts, the categories with markers, and all markers without order."""

    ok: bool
    bits: frozenset[str]
    items: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Category, cell and values of each."""


def is_nightly() -> bool:
    """Whether Hypothesis' profile is the one for long runs."""
    default = settings.default
    assert default is not None
    return default.max_examples >= 1000


FAILED = Found(False, frozenset(), ())


def _read(report: Path) -> Found:
    try:
        counts = count_items(report).items
    except ReportError:
        return FAILED
    database = rdb.ReportDatabase("")
    database.load(str(report))
    items = sorted(
        (
            database.category_by_id(item.category_id()).path(),
            database.cell_by_id(item.cell_id()).qname(),
            tuple(sorted(str(value) for value in item.each_value())),
        )
        for item in database.each_item()
    )
    return Found(True, frozenset(name for name, count in counts.items() if count), tuple(items))


IN_STRMRUN = """# strmrun has no windows, which the DRC language asks about.
module RBA
  class CellView; def self.active; nil; end; end unless const_defined?(:CellView)
  class LayoutView; def self.current; nil; end; end unless const_defined?(:LayoutView)
end
exit(RBA::Macro.new($deck).run)
"""


def run_alone(engine: Engine, script: Path, layout: Path) -> Found:
    """In a process of its own, as anyone would."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.lyrdb"
        environment = os.environ | {"HOME": folder, "KLAYOUT_HOME": folder, "QT_QPA_PLATFORM": "offscreen"}
        if engine.kind == "strmrun":
            runner = Path(folder) / "runner.rb"
            runner.write_text(IN_STRMRUN, encoding="utf-8")
            environment["LD_PRELOAD"] = str(engine.library)
            command = [str(runner), "-v", f"deck={script}", "-v", f"input={layout}", "-v", f"output={report}"]
        else:
            command = ["-b", "-r", str(script), "-rd", f"input={layout}", "-rd", f"output={report}"]
        done = subprocess.run(
            [engine.program, *command],
            capture_output=True,
            env=environment,
            timeout=300,
            check=False,
        )
        return _read(report) if done.returncode == 0 and report.is_file() else FAILED


def run_all_alone(engine: Engine, decks: Sequence[Path], layouts: Sequence[Path]) -> list[list[Found]]:
    """Every deck on every layout, as many at a time as there are processors."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        runs = [[workers.submit(run_alone, engine, deck, layout) for layout in layouts] for deck in decks]
        return [[run.result() for run in row] for row in runs]


def run_pooled(pool: DeckPool, deck: Path, layouts: Sequence[Path], *, batch: bool = False) -> list[Found]:
    with tempfile.TemporaryDirectory() as folder:
        reports = [Path(folder) / f"{number}.lyrdb" for number in range(len(layouts))]
        futures = pool.run(Deck.of_file(deck), layouts, batch=batch, reports=reports)
        return [
            _read(report) if future.result().ok else FAILED for future, report in zip(futures, reports, strict=True)
        ]
