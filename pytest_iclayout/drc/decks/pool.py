"""Decks at speed: one KLayout application stays up, a forked child runs each deck on each layout, contained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.engines import ADVICE, Engine, find_engine
from pytest_iclayout.drc.decks.execution import Conventions, Execution
from pytest_iclayout.drc.decks.execution_pool import ExecutionPool
from pytest_iclayout.drc.decks.store import ExecutionStore
from pytest_iclayout.drc.report import count_items
from pytest_iclayout.sandbox.policy import Limits

_BATCH = 32
"""Layouts that one child takes in turn: enough to forget the fork, few enough that a crash costs little."""


class DeckPool(ExecutionPool):
    """Runs decks on layouts; ``children`` at a time, by default one for each processor that this process may use.

    ``sandbox`` False leaves containment out, for decks of one's own or who has accepted the danger.  ``store`` keeps
    executions and answers from them.  Thread-safe.  A context manager; :meth:`close` ends the application.

    Raises EngineUnavailable without a KLayout application, SandboxUnavailable where jobs cannot be contained.
    """

    def __init__(
        self,
        children: int | None = None,
        *,
        sandbox: bool = True,
        limits: Limits | None = None,
        engine: Engine | None = None,
        store: ExecutionStore | None = None,
    ) -> None:
        self.engine = engine or find_engine()
        super().__init__(_Drc(self.engine), children, sandbox=sandbox, limits=limits, store=store)


class _Drc:
    """KLayout's DRC language, in an application."""

    most_runs = _BATCH
    advice = ADVICE

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name = f"{engine.kind} {engine.version}"
        self.program = engine.program
        self.conventions = Conventions("the KLayout application", "$output", _complaint, count_items)

    def server_command(self, jobs_fd: int, done_fd: int, children: int) -> list[str]:
        return self._engine.server_command(jobs_fd, done_fd, children)

    def folders(self) -> Sequence[Path]:
        return (self._engine.server_script(), *self._engine.folders())

    def environment(self) -> Mapping[str, str]:
        return {}

    def job(self, deck: Deck, script: Path, runs: Sequence[tuple[Path, Path]]) -> dict[str, Any]:
        return {
            "deck": str(script),
            "runs": [[str(layout), str(report)] for layout, report in runs],
            "variables": deck.variables,
            "flat_markers": deck.flat_markers,
        }


_OBJECT = re.compile(r"#<(\w+(?:::\w+)*):0x[0-9a-f]+(?: (?:[^<>]|<[^<>]*>)*)?>")
"""An object as Ruby shows it: the address is another in each run, and what is in it says nothing of the deck."""


def _complaint(log: str) -> str:
    """The last line that names an error, as the engine prints them, with Ruby's hint and the line of the deck."""
    lines = [line.strip() for line in log.splitlines()]
    last = max((number for number, line in enumerate(lines) if line.startswith("ERROR:")), default=None)
    if last is None:
        return ""
    after = [line for line in lines[last + 1 :] if line.startswith(("at line ", "Did you mean?"))]
    hints = "".join(f" ({' '.join(line.split())})" for line in after)
    return _OBJECT.sub(r"#<\1>", lines[last][:2000])[:400] + hints


def run_all(
    pool: ExecutionPool, deck: Deck, layouts: Iterable[Path | bytes], *, batch: bool = False
) -> list[Execution]:
    """The executions of a deck on layouts, waited for."""
    return [future.result() for future in pool.run(deck, list(layouts), batch=batch)]
