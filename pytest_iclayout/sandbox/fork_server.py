"""The Python end of a fork server: jobs in, results out, restarts in between.

The other end is a program that reads a JSON line a job from one descriptor, forks a child for each and writes a JSON
line a job to another: ``drc/decks/server.rb`` in the KLayout application, :mod:`.python_server` in Python.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

_START_S = 20
"""A server that is not ready by then is not coming: KLayout starts in one to two seconds on a busy machine."""
_MOST_TOLD = 500
_GRACE_S = 30
"""The server ends overdue children itself; if it does not report one so long after its time, it hangs."""


class ServerError(RuntimeError):
    """The server cannot be had; the message says why."""


class JobResult(BaseModel):
    """How a child ended.

    ``begun`` tells whether it came to run what it was given; before that the trouble is the machine's: a folder that
    is gone, a policy that cannot be entered.  ``runs`` has the exit status that the child reported for each of its
    runs, as far as it came; ``exit`` its own exit status, or ``signal`` what killed it; ``ended_for`` why the server
    killed it: ``time``, ``disk``, or ``server`` when the server itself died (twice, the second time with this job
    alone).
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    begun: bool = False
    runs: tuple[int | None, ...] = ()
    exit: int | None = None
    signal: int | None = None
    ended_for: str | None = None
    wall_s: float = Field(default=0, ge=0)
    cpu_s: float = Field(default=0, ge=0)

    @property
    def ended_well(self) -> bool:
        return self.exit == 0 and self.signal is None and self.ended_for is None


class _Job:
    def __init__(self, data: Mapping[str, Any], wall_s: float) -> None:
        self.data = data
        self.wall_s = wall_s
        self.future: Future[JobResult] = Future()
        self.sent_at = 0.0
        self.suspect = False


class ForkServer:
    """``command(jobs_fd, done_fd)`` gives the program's arguments; ``children`` jobs run at a time.  ``program``
    is what errors call it, as the command may begin with walls around it, and ``advice`` what they say to do.

    A server that never started is not tried again.  One that dies is; the jobs that it had are then tried one at a
    time: one that a server dies with again is reported, once, and the others are unharmed.  Thread-safe; end it with
    :meth:`close`.
    """

    def __init__(
        self,
        command: Callable[[int, int], Sequence[str]],
        children: int,
        environment: Mapping[str, str],
        program: str,
        advice: str,
    ) -> None:
        self._command = command
        self._program = program
        self._advice = advice
        self._has_run = False
        self._refusal = ""
        self._children = children
        self._environment = dict(environment)
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        self._waiting: deque[_Job] = deque()
        self._sent: dict[int, _Job] = {}
        self._next_id = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._jobs_fd = -1
        self._closed = False
        self.restarts = 0
        self.paths: tuple[str, ...] = ()
        """Folders that the server loads libraries from, which its children must be able to read."""

    def start(self) -> None:
        """Start the server, if it does not run. Raises ServerError."""
        with self._lock:
            if self._closed:
                raise ServerError("the server is closed")
            if self._process is not None:
                return
            if self._refusal:
                raise ServerError(self._refusal)
            jobs_in, self._jobs_fd = os.pipe()
            done_fd, done_out = os.pipe()
            try:
                self._process = subprocess.Popen(
                    list(self._command(jobs_in, done_out)),
                    pass_fds=(jobs_in, done_out),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    env=self._environment,
                    start_new_session=True,
                )
            except OSError as error:
                for descriptor in (self._jobs_fd, done_fd):
                    os.close(descriptor)
                raise ServerError(f"{self._program} cannot be started: {error.strerror}") from error
            finally:
                os.close(jobs_in)
                os.close(done_out)
            lines = _Lines(done_fd)
            complaints = _Tail(self._process)
            ready = lines.next(_START_S)
            if not ready:
                _kill(self._process)
                self._end_process()
                lines.close()
                did = f"was not ready within {_START_S} s" if ready is None else "ended before it was ready"
                said = " ".join(complaints.text().split())[-_MOST_TOLD:]
                why = f"{self._program} does not work: as a server for scripts it {did} and printed "
                why += f"{repr(said) if said else 'nothing'}; {self._advice}"
                self._refusal = "" if self._has_run else why
                raise ServerError(why)
            self._has_run = True
            self.paths = tuple(json.loads(ready).get("paths", ()))
            threading.Thread(target=self._read, args=(self._process, lines), daemon=True, name="fork-server").start()

    def submit(self, job: Mapping[str, Any], wall_s: float) -> Future[JobResult]:
        """Queue a job: whatever the server's program understands, of at most ``wall_s`` seconds. Raises ServerError."""
        self.start()
        one = _Job(job, wall_s)
        with self._lock:
            self._waiting.append(one)
        self._pump()
        return one.future

    def close(self) -> None:
        """End the server and its children; jobs that were not done fail with ServerError."""
        with self._lock:
            self._closed = True
            left = [*self._sent.values(), *self._waiting]
            self._sent.clear()
            self._waiting.clear()
            self._end_process()
        for job in left:
            if not job.future.done():
                job.future.set_exception(ServerError("the server was closed before this job was done"))

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        self._end_jobs(process)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            _kill(process)
            process.wait()

    def _end_jobs(self, process: subprocess.Popen[bytes]) -> None:
        """Close the pipe, which ends the server; not while somebody writes to it: its number may be another's soon."""
        if not self._writing.acquire(timeout=1):
            _kill(process)  # it does not read; the writer gets an error now
            self._writing.acquire()
        os.close(self._jobs_fd)
        self._jobs_fd = -1
        self._writing.release()

    def _pump(self) -> None:
        """Send what may be sent: as many jobs as keep all children busy, or a single suspect."""
        while True:
            with self._lock:
                if self._process is None or not self._waiting:
                    return
                suspects = self._waiting[0].suspect or any(job.suspect for job in self._sent.values())
                if len(self._sent) >= (1 if suspects else 2 * self._children + 1):
                    return
                job = self._waiting.popleft()
                self._next_id += 1
                number, process = self._next_id, self._process
                self._sent[number] = job
                job.sent_at = time.monotonic()
            line = (json.dumps({**job.data, "id": number}) + "\n").encode()
            try:
                # Not under the state's lock: the pipe may be full until a result is taken, which needs that one.
                with self._writing:
                    while line and self._process is process:
                        line = line[os.write(self._jobs_fd, line) :]
            except OSError:
                return  # the server has died; whoever reads its results notices

    def _read(self, process: subprocess.Popen[bytes], lines: _Lines) -> None:
        while True:
            line = lines.next(1.0)
            if line:
                answer = json.loads(line)
                with self._lock:
                    job = self._sent.pop(answer["id"], None)
                if job is not None:
                    job.future.set_result(_result_of(answer))
                self._pump()
            elif line is None and not self._overdue():
                continue
            else:
                lines.close()
                _kill(process)
                process.wait()
                self._take_up(process)
                return

    def _overdue(self) -> bool:
        now = time.monotonic()
        with self._lock:
            # A job may wait in the server behind others that take all of their time.
            return any(now - job.sent_at > 3 * job.wall_s + _GRACE_S for job in self._sent.values())

    def _take_up(self, process: subprocess.Popen[bytes]) -> None:
        """After a server's end: report the suspect that it died with, try the others again."""
        with self._lock:
            if self._process is not process:
                return  # closed, and not died
            self._process = None
            self._end_jobs(process)
            self.restarts += 1
            held = list(self._sent.values())
            self._sent.clear()
            guilty = [job for job in held if job.suspect]
            for job in reversed([job for job in held if not job.suspect]):
                job.suspect = True
                self._waiting.appendleft(job)
        for job in guilty:
            job.future.set_result(JobResult(ended_for="server"))
        with self._lock:
            if not self._waiting:
                return
        try:
            self.start()
        except ServerError as error:
            with self._lock:
                left = list(self._waiting)
                self._waiting.clear()
            for job in left:
                job.future.set_exception(error)
            return
        self._pump()


def _result_of(answer: Any) -> JobResult:
    """An answer that is none must not end the thread that reads them: every other job would wait for ever."""
    try:
        return JobResult.model_validate(answer)
    except ValidationError:
        return JobResult(begun=True, exit=1)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The server and, where there is one, the wall around it: they are one group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


class _Lines:
    """Lines from a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""

    def next(self, timeout_s: float) -> bytes | None:
        """The next line; empty at the end, None when there is none in time."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            data = os.read(self._descriptor, 1 << 16)
            if not data:
                return b""
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def close(self) -> None:
        os.close(self._descriptor)


class _Tail:
    """The last of what a server prints, which must be read or it stops there."""

    _BYTES = 4000

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._text = b""
        self._thread = threading.Thread(target=self._read, daemon=True, name="fork-server-errors")
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            while data := os.read(stream.fileno(), 1 << 16):
                self._text = (self._text + data)[-self._BYTES :]

    def text(self) -> str:
        self._thread.join(timeout=1)
        return self._text.decode("utf-8", "replace").strip()
