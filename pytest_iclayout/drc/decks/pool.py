"""Decks at speed: one KLayout application stays up, a forked child runs each deck on each layout, contained."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.engines import Engine, find_engine
from pytest_iclayout.drc.decks.execution import Execution, Status, judge
from pytest_iclayout.drc.decks.store import ExecutionStore
from pytest_iclayout.geometry.atomic import replacing
from pytest_iclayout.sandbox.bubblewrap import wrapped
from pytest_iclayout.sandbox.fork_server import ForkServer, JobResult
from pytest_iclayout.sandbox.policy import Limits, Policy, support

_LOG_BYTES = 4000
"""How much of the end of a deck's output an execution keeps."""
_BATCH = 32
"""Layouts that one child takes in turn: enough to forget the fork, few enough that a crash costs little."""


_CLEAR_UP = 'asker=$1 folder=$2; shift 2; "$@"; [ -d "/proc/$asker" ] || rm -rf -- "$folder"'
"""Runs the server; the folder goes with it where the process that asked for it was killed and cannot remove it."""


class DeckPool:
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
        self.limits = limits or Limits()
        self.children = children or len(os.sched_getaffinity(0))
        self._sandbox = sandbox
        self._store = store
        self._policy = Policy(limits=self.limits, contained=sandbox)
        self._policy.wire()  # says at once what cannot be had
        self._folder = _WorkFolder()
        self._numbers = itertools.count(1)
        self._server = ForkServer(
            self._command(),
            self.children,
            self._folder.environment(),
        )
        # Also when nobody closes the pool: the application goes with the last reference, or with the interpreter.
        self._end = weakref.finalize(self, _close, self._server, self._folder)

    def _command(self) -> Callable[[int, int], list[str]]:
        """Without a reference to the pool, which would keep it alive."""
        engine, children, folder = self.engine, self.children, self._folder.path
        bubblewrap = support().bubblewrap if self._sandbox else None

        def command(jobs: int, done: int) -> list[str]:
            server = engine.server_command(jobs, done, children)
            if bubblewrap is not None:
                server = wrapped(bubblewrap, server, [engine.server_script(), *engine.folders()], [folder])
            return ["/bin/sh", "-c", _CLEAR_UP, "sh", str(os.getpid()), str(folder), *server]

        return command

    def __enter__(self) -> DeckPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the application and remove its folder."""
        self._end()

    @property
    def restarts(self) -> int:
        """How often the application died and was started again."""
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
        size = _BATCH if batch else 1
        for start in range(0, len(jobs), size):
            self._submit(deck, jobs[start : start + size])
        return futures

    def _key(self, deck: Deck, layout: Path) -> str:
        limits = self.limits.model_dump_json()
        text = "\0".join((deck.digest, layout.name, self.engine.kind, self.engine.version, limits, str(self._sandbox)))
        return hashlib.sha256(text.encode()).hexdigest()

    def _failed(self, reason: str) -> Execution:
        engine = f"{self.engine.kind} {self.engine.version}"
        return Execution(status=Status.ERROR, reason=reason, infrastructure=True, engine=engine)

    def _submit(self, deck: Deck, runs: Sequence[_Run]) -> None:
        if not runs:
            return
        try:
            staged = self._folder.stage_deck(deck)
            folder = self._folder.path / "jobs" / str(next(self._numbers))
            self._server.start()
            readable = (self._folder.deck_folder(deck), *(run.layout for run in runs), *map(Path, self._server.paths))
            limits = self.limits.model_copy(update={"wall_s": self.limits.wall_s * len(runs)})
            policy = self._policy.model_copy(update={"readable": readable, "limits": limits}).job_folder(folder)
            outputs = [folder / f"report-{number}.lyrdb" for number in range(len(runs))]
            job: dict[str, Any] = {
                "deck": str(staged),
                "runs": [[str(run.layout), str(output)] for run, output in zip(runs, outputs, strict=True)],
                "folder": str(folder),
                "log": str(folder / "log"),
                "policy": policy.wire(),
            }
            done = self._server.submit(job, limits.wall_s)
        except (OSError, RuntimeError) as error:
            for run in runs:
                run.future.set_result(self._failed(str(error)))
            return
        done.add_done_callback(lambda future: self._take(future, deck, runs, outputs, folder))

    def _take(
        self, done: Future[JobResult], deck: Deck, runs: Sequence[_Run], outputs: Sequence[Path], folder: Path
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
        log = _end_of(folder / "log").replace(f"{self._folder.deck_folder(deck)}/", "").replace(f"{folder}/", "")
        for number, (run, output) in enumerate(zip(runs, outputs, strict=True)):
            try:
                execution = self._executed(result, number, runs, output, log, run.keep)
                if self._store is not None and execution.status in (Status.OK, Status.ERROR) and not result.ended_for:
                    self._store.put(run.key, execution)
            except Exception as error:  # the callback's caller would swallow it, and the future never be done
                execution = self._failed(f"{type(error).__name__}: {error}")
            run.future.set_result(execution)
        shutil.rmtree(folder, ignore_errors=True)

    def _executed(
        self, result: JobResult, number: int, runs: Sequence[_Run], output: Path, log: str, keep: Path | None
    ) -> Execution:
        status, reason, items = judge(result, number, len(runs), output, log, self.limits)
        reason = reason.replace(str(runs[number].layout), "the layout")
        if keep is not None and status is Status.OK:
            try:
                with replacing(keep) as beside:
                    shutil.copyfile(output, beside)
            except OSError as error:
                status, reason, items = Status.ERROR, f"{keep}: the report cannot be written: {error.strerror}", {}
        return Execution(
            status=status,
            reason=reason,
            items=items,
            log=log,
            wall_s=result.wall_s / len(runs),
            cpu_s=result.cpu_s / len(runs),
            engine=f"{self.engine.kind} {self.engine.version}",
            batched=len(runs) > 1,
        )


class _Run:
    def __init__(self, layout: Path, future: Future[Execution], keep: Path | None, key: str) -> None:
        self.layout = layout
        self.future = future
        self.keep = keep
        self.key = key


def _close(server: ForkServer, folder: _WorkFolder) -> None:
    server.close()
    folder.remove()


def _end_of(log: Path) -> str:
    try:
        with log.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - _LOG_BYTES))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


class _WorkFolder:
    """Where decks and layouts are put for the jobs' user to read, and jobs write: in memory where there is room.

    Below a name that tells the process, so that what a killed one leaves is found and removed by the next.
    """

    _NAME = "iclayout-decks-"

    def __init__(self) -> None:
        place = _in_memory() or Path(tempfile.gettempdir())
        _remove_left_behind(place, self._NAME)
        self.path = Path(tempfile.mkdtemp(prefix=f"{self._NAME}{os.getpid()}-", dir=place))
        # The jobs' user may go through, not look around.
        self.path.chmod(0o711)
        self._lock = threading.Lock()
        for name in ("home", "decks", "layouts", "jobs"):
            (self.path / name).mkdir(mode=0o700 if name == "home" else 0o711)

    def environment(self) -> dict[str, str]:
        """For the application: nothing of the user's own settings, no windows."""
        home = str(self.path / "home")
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": home,
            "KLAYOUT_HOME": home,
            "LANG": "C.UTF-8",
            "QT_QPA_PLATFORM": "offscreen",
            "TMPDIR": home,
        } | {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "KLAYOUT_PATH") if name in os.environ}

    def stage_layout(self, layout: Path | bytes) -> Path:
        """A layout's file in the folder, once for each content. Raises OSError."""
        data = layout if isinstance(layout, bytes) else layout.read_bytes()
        suffix = ".gds" if isinstance(layout, bytes) else "".join(layout.suffixes[-2:])[-16:]
        path = self.path / "layouts" / (hashlib.sha256(data).hexdigest() + suffix)
        self._put(path, data)
        return path

    def stage_deck(self, deck: Deck) -> Path:
        """The deck's script in the folder, with what it includes. Raises OSError."""
        folder = self.deck_folder(deck)
        # The script last: where it is, all is.
        for name in sorted(deck.files, key=lambda one: one == deck.name):
            self._put(folder / name, deck.files[name])
        return folder / deck.name

    def deck_folder(self, deck: Deck) -> Path:
        return self.path / "decks" / deck.digest

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def _put(self, path: Path, data: bytes) -> None:
        with self._lock:
            if path.exists():
                return
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            beside = path.with_name(path.name + ".part")
            try:
                beside.write_bytes(data)
                beside.chmod(0o644)
                beside.replace(path)
            except OSError:
                beside.unlink(missing_ok=True)
                raise


_ROOM = 1 << 30
"""Bytes that the memory's folder must have free: many containers have 64 MB there."""


def _in_memory() -> Path | None:
    place = Path("/dev/shm")
    try:
        return place if os.access(place, os.W_OK) and shutil.disk_usage(place).free >= _ROOM else None
    except OSError:
        return None


def _remove_left_behind(place: Path, prefix: str) -> None:
    for folder in place.glob(f"{prefix}*-*"):
        process = folder.name.removeprefix(prefix).partition("-")[0]
        if process.isdecimal() and not Path(f"/proc/{process}").exists() and folder.lstat().st_uid == os.geteuid():
            shutil.rmtree(folder, ignore_errors=True)


def run_all(pool: DeckPool, deck: Deck, layouts: Iterable[Path | bytes], *, batch: bool = False) -> list[Execution]:
    """The executions of a deck on layouts, waited for."""
    return [future.result() for future in pool.run(deck, list(layouts), batch=batch)]
