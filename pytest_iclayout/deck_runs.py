"""The runs of decks on labelled layouts: each once in a test run, whichever process asks first."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pytest_iclayout.deck_options import DeckSettings
from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.execution import Execution, Status
from pytest_iclayout.drc.decks.pool import DeckPool
from pytest_iclayout.geometry.atomic import replacing, write_atomically
from pytest_iclayout.sandbox.policy import Limits

_FILE_BYTES = 1 << 30


class LayoutRun(NamedTuple):
    """``report`` is a file where the execution is ``ok``."""

    execution: Execution
    report: Path


class DeckRuns:
    """``folder`` is shared by the workers of a test run: who needs a deck's runs first makes them, the others wait."""

    def __init__(self, settings: DeckSettings, run_id: str, *, sandbox: bool) -> None:
        self._settings = settings
        self._sandbox = sandbox
        self._pool: DeckPool | None = None
        self._folder = Path(tempfile.gettempdir()) / f"iclayout-deck-{run_id}"
        self._known: dict[tuple[str, Path], LayoutRun] = {}

    def of(self, deck: Deck, layouts: Iterable[Path], keep: dict[Path, Path]) -> dict[Path, LayoutRun]:
        """The run of the deck on each layout.  ``keep`` says where reports are to be copied to.

        Raises OSError where the folder cannot be written, and EngineUnavailable and SandboxUnavailable as DeckPool.
        """
        wanted = list(dict.fromkeys(layouts))
        if any((deck.digest, path) not in self._known for path in wanted):
            with self._locked(deck):
                self._run([path for path in wanted if not self._read(deck, path)], deck, keep)
        return {path: self._known[deck.digest, path] for path in wanted}

    def close(self, *, remove: bool) -> None:
        """End the application; ``remove`` for whoever outlives the other processes."""
        if self._pool is not None:
            self._pool.close()
        if remove:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, layouts: list[Path], deck: Deck, keep: dict[Path, Path]) -> None:
        if not layouts:
            return
        if self._pool is None:
            self._pool = DeckPool(sandbox=self._sandbox, limits=_limits(self._settings))
        reports = [self._file(deck, path, ".lyrdb") for path in layouts]
        futures = self._pool.run(deck, layouts, reports=reports)
        for path, report, future in zip(layouts, reports, futures, strict=True):
            execution = future.result()
            if execution.ok and path in keep:
                execution = _kept(execution, report, keep[path])
            write_atomically(self._file(deck, path, ".json"), execution.model_dump_json().encode())
            self._known[deck.digest, path] = LayoutRun(execution, report)

    def _read(self, deck: Deck, layout: Path) -> bool:
        """Whether the run is known, here or to another process."""
        if (deck.digest, layout) in self._known:
            return True
        file = self._file(deck, layout, ".json")
        if not file.is_file():
            return False
        execution = Execution.model_validate_json(file.read_bytes())
        self._known[deck.digest, layout] = LayoutRun(execution, self._file(deck, layout, ".lyrdb"))
        return True

    def _file(self, deck: Deck, layout: Path, suffix: str) -> Path:
        name = hashlib.sha256(os.fsencode(layout)).hexdigest()[:32]
        return self._folder / f"{deck.digest[:32]}-{name}{suffix}"

    @contextmanager
    def _locked(self, deck: Deck) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._folder / f"{deck.digest[:32]}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _kept(execution: Execution, report: Path, copy: Path) -> Execution:
    """The execution, in error where the report could not be kept as it was asked for."""
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        with replacing(copy) as beside:
            shutil.copyfile(report, beside)
    except OSError as error:
        reason = f"{copy}: the report cannot be written: {error.strerror}"
        return execution.model_copy(
            update={"status": Status.ERROR, "reason": reason, "infrastructure": True, "items": {}}
        )
    return execution


def _limits(settings: DeckSettings) -> Limits:
    return Limits(
        wall_s=settings.timeout_s,
        # A deck may have threads, whose times add up.
        cpu_s=settings.timeout_s * len(os.sched_getaffinity(0)),
        memory_bytes=settings.memory_mb << 20,
        file_bytes=_FILE_BYTES,
        folder_bytes=2 * _FILE_BYTES,
    )
