"""Python checkers at speed: scripts with ``klayout.db`` in place of decks, each run in a forked child, contained."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import klayout

import pytest_iclayout
from pytest_iclayout.drc.category_names import written_name
from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.execution import Conventions
from pytest_iclayout.drc.decks.execution_pool import ExecutionPool
from pytest_iclayout.drc.decks.store import ExecutionStore
from pytest_iclayout.drc.report import Counts, ReportError, count_items
from pytest_iclayout.sandbox.policy import Limits

_MOST_JSON_BYTES = 1 << 20


class ScriptPool(ExecutionPool):
    """As DeckPool, for Python checkers: a script (``Deck.of_text(text, "checker.py")``) in place of a deck.

    ``sys.argv[1]`` is the layout, ``sys.argv[2]`` where the script leaves its report: a report database of
    ``klayout.rdb``, or a JSON object of categories with the number of their violations, ``true`` or ``false``.
    Each run has a child of its own, also with ``batch``.  Raises SandboxUnavailable where jobs cannot be contained.
    """

    def __init__(
        self,
        children: int | None = None,
        *,
        sandbox: bool = True,
        limits: Limits | None = None,
        store: ExecutionStore | None = None,
    ) -> None:
        super().__init__(_Python(), children, sandbox=sandbox, limits=limits, store=store)


class _Python:
    """The interpreter that this process runs in, less what is installed beside klayout."""

    most_runs = 1
    advice = "it must be able to import klayout.db"

    def __init__(self) -> None:
        self.name = f"python {platform.python_version()} with klayout {version('klayout')}"
        self.program = _interpreter()
        self.conventions = Conventions("the Python interpreter", "sys.argv[2]", _complaint, count_report)

    def server_command(self, jobs_fd: int, done_fd: int, children: int) -> list[str]:
        words = ["-s", "-m", "pytest_iclayout.sandbox.python_server", str(jobs_fd), str(done_fd), str(children)]
        return [_interpreter(), *words]

    def folders(self) -> Sequence[Path]:
        """Not the whole environment: the bundled suite with its labels is installed there."""
        own = Path(pytest_iclayout.__file__).parent
        bases = dict.fromkeys((sys.base_prefix, sys.base_exec_prefix))
        found = [Path(_interpreter()), *(Path(base, name) for base in bases for name in ("lib", "lib64"))]
        for place in map(Path, klayout.__path__):
            found += [place, place.with_name("klayout.libs")]
        found += [own / "__init__.py", own / "sandbox"]
        return tuple(dict.fromkeys(path.absolute() for path in found if path.exists()))

    def environment(self) -> Mapping[str, str]:
        places = (*(Path(one).parent for one in klayout.__path__), Path(pytest_iclayout.__file__).parents[1])
        return {"PYTHONPATH": os.pathsep.join(dict.fromkeys(str(one.absolute()) for one in places))}

    def job(self, deck: Deck, script: Path, runs: Sequence[tuple[Path, Path]]) -> dict[str, Any]:
        ((layout, report),) = runs
        return {"script": str(script), "arguments": [str(layout), str(report)]}


def _interpreter() -> str:
    """That of which a virtual environment is made, whose own one finds the packages that are installed there."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


_FRAME = re.compile(r'^ *File "[^"/<]+", line (\d+)', re.MULTILINE)
"""Of the script itself, which a log names without a folder."""


def _complaint(log: str) -> str:
    """The last line, as Python ends a traceback with the exception, and where in the script that was."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if not lines:
        return ""
    frames = _FRAME.findall(log.rpartition("Traceback (most recent call last)")[2])
    return lines[-1][:400] + (f" (at line {frames[-1]})" if frames else "")


def count_report(path: Path) -> Counts:
    """Of a report database or of a JSON object. Raises ReportError."""
    try:
        with path.open("rb") as stream:
            begin = stream.read(_MOST_JSON_BYTES + 1)
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror}") from error
    if begin.lstrip().startswith(b"<"):
        return count_items(path)
    if not begin.lstrip().startswith(b"{"):
        # KLayout would take many a text for a report of another program.
        raise ReportError(f"{path}: neither a report database nor a JSON object")
    if len(begin) > _MOST_JSON_BYTES:
        raise ReportError(f"{path}: JSON of more than {_MOST_JSON_BYTES} bytes")
    try:
        pairs = json.loads(begin, object_pairs_hook=list)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path}: not JSON ({error})") from error
    found: dict[str, int] = {}
    for name, count in pairs:
        if not name.isprintable():  # also half a character, which no record could hold
            raise ReportError(f"{path}: category {name!r}: a name is of letters, digits and signs")
        if name in found:
            raise ReportError(f"{path}: category {name!r} stands twice")
        if not isinstance(count, int) or count < 0:
            raise ReportError(f"{path}: category {name!r}: write true, false or how many violations there are")
        found[name] = int(count)
    return Counts(found, tuple(written_name(name) for name, count in found.items() if count))
