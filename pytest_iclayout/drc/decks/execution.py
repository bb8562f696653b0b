"""What became of one run of a deck, or a Python checker, on a layout."""

from __future__ import annotations

import signal
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.drc.report import Counts, ReportError
from pytest_iclayout.sandbox.fork_server import JobResult
from pytest_iclayout.sandbox.policy import Limits


class Status(str, Enum):
    OK = "ok"
    """The deck ran to its end and its report is whole."""
    ERROR = "error"
    """It did not: an exception, a status, no report, a report that cannot be read."""
    TIMEOUT = "timeout"
    """It used up its time, by the clock or of the processor."""
    KILLED = "killed"
    """A signal ended it: out of memory or of disk, a crash of the engine, a limit."""


class Execution(BaseModel):
    """``items`` counts the report's markers by category, the empty ones included, and ``written`` has those with
    markers as the report writes them; both are empty unless ``ok``.

    ``reason`` says why an execution is not ``ok``; with ``infrastructure`` it is not the deck's fault: a layout that
    cannot be read, a disk that is full.  ``log`` is the end of what the deck printed.  ``engine`` is the
    application's kind and version; ``batched`` tells that other layouts ran before in the same process.
    """

    model_config = ConfigDict(frozen=True)

    status: Status
    reason: str = ""
    infrastructure: bool = False
    items: dict[str, int] = {}
    written: tuple[str, ...] = ()
    log: str = ""
    wall_s: float = 0
    cpu_s: float = 0
    engine: str = ""
    batched: bool = False
    cached: bool = False

    @property
    def ok(self) -> bool:
        return self.status is Status.OK

    @property
    def violated(self) -> frozenset[str]:
        """The categories with at least one marker: the bits that verdicts compare."""
        return frozenset(name for name, count in self.items.items() if count)


class Conventions(NamedTuple):
    """What differs between the languages of scripts when their runs are judged.

    ``server`` is what runs them and ``output`` where they are told to leave the report, in words; ``complaint`` finds
    the reason of a failed run in what it printed; ``markers`` counts those of a report and raises ReportError.
    """

    server: str
    output: str
    complaint: Callable[[str], str]
    markers: Callable[[Path], Counts]


_NONE = Counts({}, ())


def judge(
    result: JobResult, run: int, runs: int, report: Path, log: str, limits: Limits, conventions: Conventions
) -> tuple[Status, str, Counts]:
    """Status, reason and counts of run number ``run`` (of ``runs``) of a child.

    Good is only a child that ended by itself with status 0, said so once for each run, and left a report that
    can be read whole.  A report of any other child says nothing.
    """
    if result.ended_for == "time":
        return Status.TIMEOUT, f"did not end within {limits.wall_s:g} s", _NONE
    if result.ended_for == "disk":
        return Status.KILLED, f"wrote more than {limits.folder_bytes} bytes", _NONE
    if result.ended_for is not None:
        return Status.ERROR, f"{conventions.server} died while it ran this script, twice", _NONE
    if result.signal is not None:
        return _by_signal(result, limits)
    if result.exit != 0:
        return Status.ERROR, conventions.complaint(log)[:500] or f"ended with status {result.exit}", _NONE
    if len(result.runs) != runs:
        return Status.ERROR, f"ended early: {len(result.runs)} of {runs} run(s) reported", _NONE
    if result.runs[run] != 0:
        return Status.ERROR, conventions.complaint(log)[:500] or f"ended with status {result.runs[run]}", _NONE
    if report.is_symlink() or not report.is_file():
        return Status.ERROR, f"left no report at {conventions.output}", _NONE
    try:
        return Status.OK, "", conventions.markers(report)
    except ReportError as error:
        return Status.ERROR, str(error).replace(f"{report}: ", f"the report at {conventions.output}: "), _NONE


def _by_signal(result: JobResult, limits: Limits) -> tuple[Status, str, Counts]:
    assert result.signal is not None
    if result.signal in (signal.SIGXCPU, signal.SIGKILL) and result.cpu_s >= limits.cpu_s - 0.5:
        return Status.TIMEOUT, f"used {limits.cpu_s} s of processor time", _NONE
    if result.signal == signal.SIGXFSZ:
        return Status.KILLED, f"wrote a file of more than {limits.file_bytes} bytes", _NONE
    return Status.KILLED, f"killed by {signal_name(result.signal)}", _NONE


def signal_name(number: int) -> str:
    """``SIGKILL`` of 9; a number that has no name as ``signal 40``."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
