"""What pools of decks and of Python checkers share: a script on layouts, in forked children of a server, contained."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from typing_extensions import Self

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.execution import Conventions, Execution, Status, judge, signal_name
from pytest_iclayout.drc.decks.store import ExecutionStore
from pytest_iclayout.drc.decks.work_folder import WorkFolder, cleared_up, copied_for_job, end_of, is_large
from pytest_iclayout.geometry.atomic import replacing
from pytest_iclayout.sandbox.bubblewrap import wrapped
from pytest_iclayout.sandbox.fork_server import ForkServer, JobResult
from pytest_iclayout.sandbox.policy import Limits, Policy, support


class Language(Protocol):
    """What runs scripts of a kind, and how a job is told to it.

    ``name`` is the program's kind and version, as executions tell it, ``program`` its path, and ``advice`` what to do
    where it does not start; ``most_runs`` is how many layouts a child may take in turn.
    """

    @property
    def name(self) -> str: ...

    @property
    def program(self) -> str: ...

    @property
    def advice(self) -> str: ...

    @property
    def most_runs(self) -> int: ...

    @property
    def conventions(self) -> Conventions: ...

    def server_command(self, jobs_fd: int, done_fd: int, children: int) -> list[str]:
        """Starts the fork server."""

    def folders(self) -> Sequence[Path]:
        """What the server must read, beside the system's own files."""

    def environment(self) -> Mapping[str, str]:
        """Variables that the server needs, beside those of all servers."""

    def job(self, deck: Deck, script: Path, runs: Sequence[tuple[Path, Path]]) -> dict[str, Any]:
        """What the server is told: the script as staged, and layout and report of each run."""


class ExecutionPool:
    """Runs scripts of a language on layouts, ``children`` at a time. See DeckPool and ScriptPool."""

    def __init__(
        self,
        language: Language,
        children: int | None = None,
        *,
        sandbox: bool = True,
        limits: Limits | None = None,
        store: ExecutionStore | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.children = children or len(os.sched_getaffinity(0))
        self._language = language
        self._sandbox = sandbox
        self._store = store
        self._policy = Policy(limits=self.limits, contained=sandbox)
        self._policy.wire()  # says at once what cannot be had
        self._folder = WorkFolder()
        self._numbers = itertools.count(1)
        environment = self._folder.environment() | dict(language.environment())
        self._server = ForkServer(self._command(), self.children, environment, language.program, language.advice)
        # Also when nobody closes the pool: the server goes with the last reference, or with the interpreter.
        self._end = weakref.finalize(self, _close, self._server, self._folder)

    def _command(self) -> Callable[[int, int], list[str]]:
        """Without a reference to the pool, which would keep it alive."""
        language, children, folder = self._language, self.children, self._folder.path
        bubblewrap = support().bubblewrap if self._sandbox else None

        def command(jobs: int, done: int) -> list[str]:
            server = language.server_command(jobs, done, children)
            if bubblewrap is not None:
                server = wrapped(bubblewrap, server, language.folders(), [folder])
            return cleared_up(server, folder)

        return command

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server and remove its folder."""
        self._end()

    @property
    def restarts(self) -> int:
        """How often the server died and was started again."""
        return self._server.restarts

    def run(
        self,
        deck: Deck,
        layouts: Sequence[Path | bytes],
        *,
        batch: bool = False,
        reports: Sequence[Path] | None = None,
    ) -> list[Future[Execution]]:
        """One future for each layout, GDS or OASIS, as a file or as bytes.

        ``batch`` lets one child run several layouts in turn, which is faster; a deck that keeps Ruby globals may then
        see what it did before, so it is for decks that are trusted.  ``reports`` names a file for each layout, to
        which its report database is copied; those executions are not taken from the store.  What cannot be read or
        written makes an execution of status ``error``.
        """
        futures: list[Future[Execution]] = [Future() for _ in layouts]
        jobs: list[_Run] = []
        for number, (layout, future) in enumerate(zip(layouts, futures, strict=True)):
            keep = None if reports is None else reports[number]
            try:
                staged = self._folder.stage_layout(layout)
            except OSError as error:
                future.set_result(
                    self._failed(f"the layout cannot be had: {error.strerror}: {error.filename or layout!r}")
                )
                continue
            one = _Run(staged, future, keep, self._key(deck, staged))
            known = None if self._store is None or keep is not None else self._store.get(one.key)
            if known is not None:
                future.set_result(known.model_copy(update={"cached": True}))
            else:
                jobs.append(one)
        size = self._language.most_runs if batch else 1
        for start in range(0, len(jobs), size):
            self._submit(deck, jobs[start : start + size])
        return futures

    def _key(self, deck: Deck, layout: Path) -> str:
        limits = self.limits.model_dump_json()
        # With the fields: what was kept by a version that knew other ones says less, or something else.
        text = "\0".join(
            (*Execution.model_fields, deck.digest, layout.name, self._language.name, limits, str(self._sandbox))
        )
        return hashlib.sha256(text.encode()).hexdigest()

    def _failed(self, reason: str) -> Execution:
        return Execution(status=Status.ERROR, reason=reason, infrastructure=True, engine=self._language.name)

    def _submit(self, deck: Deck, runs: Sequence[_Run]) -> None:
        if not runs:
            return
        try:
            staged = self._folder.stage_deck(deck)
            folder = self._folder.path / "jobs" / str(next(self._numbers))
            self._server.start()
            large = [run.layout for run in runs if is_large(run.layout)]
            readable = (self._folder.deck_folder(deck), *large, *map(Path, self._server.paths))
            limits = self.limits.model_copy(update={"wall_s": self.limits.wall_s * len(runs)})
            policy = self._policy.model_copy(update={"readable": readable, "limits": limits}).job_folder(folder)
            layouts = [
                run.layout if run.layout in large else copied_for_job(run.layout, folder, number)
                for number, run in enumerate(runs)
            ]
            outputs = [folder / f"report-{number}.lyrdb" for number in range(len(runs))]
            job: dict[str, Any] = {
                **self._language.job(deck, staged, list(zip(layouts, outputs, strict=True))),
                "folder": str(folder),
                "log": str(folder / "log"),
                "policy": policy.wire(),
            }
            done = self._server.submit(job, limits.wall_s)
        except (OSError, RuntimeError) as error:
            reason = f"the job could not begin: {error}" if isinstance(error, OSError) else str(error)
            for run in runs:
                run.future.set_result(self._failed(reason))
            return
        done.add_done_callback(lambda future: self._take(future, deck, runs, layouts, outputs, folder))

    def _take(
        self,
        done: Future[JobResult],
        deck: Deck,
        runs: Sequence[_Run],
        layouts: Sequence[Path],
        outputs: Sequence[Path],
        folder: Path,
    ) -> None:
        try:
            result = done.result()
        except RuntimeError as error:
            for run in runs:
                run.future.set_result(self._failed(str(error)))
            return
        if len(runs) > 1 and not (result.ended_well and len(result.runs) == len(runs)):
            # One layout's misfortune is not the others': each on its own.
            shutil.rmtree(folder, ignore_errors=True)
            for run in runs:
                self._submit(deck, [run])
            return
        # Messages are to name files as who wrote the deck knows them.
        log = end_of(folder / "log")
        for layout in layouts:
            log = log.replace(str(layout), "the layout")
        log = log.replace(f"{self._folder.deck_folder(deck)}/", "").replace(f"{folder}/", "")
        for number, (run, output) in enumerate(zip(runs, outputs, strict=True)):
            try:
                execution = self._executed(result, number, runs, output, log, run.keep)
                known = execution.status in (Status.OK, Status.ERROR) and not execution.infrastructure
                if self._store is not None and known and not result.ended_for:
                    self._store.put(run.key, execution)
            except Exception as error:  # the callback's caller would swallow it, and the future never be done
                execution = self._failed(f"{type(error).__name__}: {error}")
            run.future.set_result(execution)
        shutil.rmtree(folder, ignore_errors=True)

    def _executed(
        self, result: JobResult, number: int, runs: Sequence[_Run], output: Path, log: str, keep: Path | None
    ) -> Execution:
        if not result.begun and result.ended_for != "server":
            why = " ".join(log.split())[-500:] or (f"killed by {signal_name(result.signal)}" if result.signal else "")
            return self._failed(f"the job could not begin: {why or 'it said nothing'}")
        if not output.parent.is_dir():
            return self._failed("the job's folder is gone: something else removed it")
        status, reason, counts = judge(result, number, len(runs), output, log, self.limits, self._language.conventions)
        if status is Status.ERROR and _is_full(output.parent):
            return self._failed(f"the disk of the pool's folder is full: {reason}")
        if keep is not None and status is Status.OK:
            try:
                with replacing(keep) as beside:
                    shutil.copyfile(output, beside)
            except OSError as error:
                return self._failed(f"{keep}: the report cannot be written: {error.strerror}")
        return Execution(
            status=status,
            reason=reason,
            items=counts.items,
            written=counts.written,
            log=log,
            wall_s=result.wall_s / len(runs),
            cpu_s=result.cpu_s / len(runs),
            engine=self._language.name,
            batched=len(runs) > 1,
        )


_LEAST_FREE = 1 << 20
"""Bytes: with less, a deck that failed may have failed for want of room."""


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _LEAST_FREE
    except OSError:
        return False


class _Run:
    def __init__(self, layout: Path, future: Future[Execution], keep: Path | None, key: str) -> None:
        self.layout = layout
        self.future = future
        self.keep = keep
        self.key = key


def _close(server: ForkServer, folder: WorkFolder) -> None:
    server.close()
    folder.remove()
