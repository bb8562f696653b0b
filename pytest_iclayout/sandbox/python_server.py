"""The fork server for Python scripts: ``python -m pytest_iclayout.sandbox.python_server JOBS_FD DONE_FD CHILDREN``.

klayout is imported once, here; each job's child takes on its policy and runs its script as ``__main__``.  Jobs and
results are the same JSON lines as those of ``drc/decks/server.rb``.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import select
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from pytest_iclayout.sandbox.enter import enter

_MOST_SAID = 1 << 20
_PR_SET_CHILD_SUBREAPER = 36


class _Child:
    def __init__(self, job: dict[str, Any], pid: int, pipe: int) -> None:
        self.job = job
        self.pid = pid
        self.pipe = pipe
        self.said = b""
        self.closed = False
        self.begun = time.monotonic()
        self.deadline = self.begun + job["policy"]["wall_s"]
        self.ended_for: str | None = None

    def end(self, reason: str) -> None:
        self.ended_for = self.ended_for or reason
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def drain(self) -> None:
        while not self.closed:
            try:
                data = os.read(self.pipe, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                self.closed = True
            elif len(self.said) < _MOST_SAID:
                self.said += data


class _Server:
    def __init__(self, jobs: int, done: int, children: int) -> None:
        self.jobs = jobs
        self.done = done
        self.children = children
        self.pid = os.getpid()
        self.running: dict[int, _Child] = {}

    def serve(self) -> None:
        parent = os.getppid()
        os.set_blocking(self.jobs, False)
        self._say({"ready": self.pid, "paths": _library_paths()})
        waiting: list[dict[str, Any]] = []
        rest, looked = b"", time.monotonic()
        while os.getppid() == parent:
            while waiting and len(self.running) < self.children:
                self._start(waiting.pop(0))
            pipes = [child.pipe for child in self.running.values() if not child.closed]
            closed = len(pipes) < len(self.running)
            pause = 1.0 if not self.running else 0.002 if closed else 0.1
            ready, _, _ = select.select([self.jobs, *pipes], [], [], pause)
            for source in ready:
                if source != self.jobs:
                    self.running[source].drain()
                    continue
                data = os.read(self.jobs, 1 << 20)
                if not data:
                    return
                *lines, rest = (rest + data).split(b"\n")
                waiting += [json.loads(line) for line in lines]
            for child in list(self.running.values()):
                if not self._reap(child) and time.monotonic() > child.deadline:
                    child.end("time")
            if time.monotonic() - looked > 0.2:
                looked = time.monotonic()
                for child in self.running.values():
                    if _bytes_below(Path(child.job["folder"])) > child.job["policy"]["folder_bytes"]:
                        child.end("disk")

    def end(self) -> None:
        for child in self.running.values():
            child.end("server")

    def _say(self, message: dict[str, Any]) -> None:
        data = (json.dumps(message) + "\n").encode()
        while data:
            data = data[os.write(self.done, data) :]

    def _start(self, job: dict[str, Any]) -> None:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._work(job, writing)
        os.close(writing)
        os.set_blocking(reading, False)
        self.running[reading] = _Child(job, pid, reading)

    def _work(self, job: dict[str, Any], pipe: int) -> NoReturn:
        try:
            os.setsid()
            for descriptor in (self.jobs, self.done, *self.running):
                os.close(descriptor)
            null = os.open(os.devnull, os.O_RDONLY)
            log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            for source, target in ((null, 0), (log, 1), (log, 2)):
                os.dup2(source, target)
            os.chdir(job["folder"])
            enter(job["policy"], self.pid)
            os.write(pipe, b"{}\n")  # begun: from here on, what happens is the script's
            code = _run(job["script"], job.get("arguments", []))
            os.write(pipe, (json.dumps({"code": code}) + "\n").encode())
            os._exit(code & 255)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(125)

    def _reap(self, child: _Child) -> bool:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if not pid:
            return False
        child.drain()
        del self.running[child.pipe]
        os.close(child.pipe)
        self._end_orphans()
        said = child.said.splitlines()
        self._say(
            {
                "id": child.job["id"],
                "begun": bool(said),
                "runs": [_code(line) for line in said[1:]],
                "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
                "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
                "ended_for": child.ended_for,
                "wall_s": time.monotonic() - child.begun,
                "cpu_s": usage.ru_utime + usage.ru_stime,
            }
        )
        return True

    def _end_orphans(self) -> None:
        """What a child left behind comes to the server as its own, being the subreaper."""
        own = {child.pid for child in self.running.values()}
        while True:
            text = " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children"))
            orphans = {int(word) for word in text.split()} - own
            if not orphans:
                return
            for pid in orphans:
                try:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                except OSError:
                    continue


def _run(script: str, arguments: list[str]) -> int:
    sys.argv = [script, *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _code(line: bytes) -> int | None:
    try:
        found = json.loads(line)["code"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return found if isinstance(found, int) else None


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_blocks * 512
        except OSError:
            continue
    return total


def _library_paths() -> list[str]:
    """Where the child's imports come from: the standard library and klayout, not everything that is installed.

    Packages are often installed in a folder of the standard library's.  What is in that one is then listed without
    them, as a folder that may be read may be read with all below it.
    """
    import sysconfig

    import klayout

    paths = sysconfig.get_paths()
    installed = {os.path.realpath(paths[name]) for name in ("purelib", "platlib")} | _site_folders()
    found = {str(path) for path in klayout.__path__}
    for library in {paths["stdlib"], paths["platstdlib"], str(Path(os.__file__).parent)}:
        if any(Path(one).is_relative_to(os.path.realpath(library)) for one in installed):
            found |= {str(one) for one in Path(library).iterdir() if os.path.realpath(one) not in installed}
        else:
            found.add(library)
    return sorted(found)


def _site_folders() -> set[str]:
    import site

    return {os.path.realpath(path) for path in site.getsitepackages()}


def main() -> None:
    import ctypes

    import klayout.db
    import klayout.rdb  # noqa: F401 - the children find it imported

    jobs, done, children = map(int, sys.argv[1:])
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    gc.collect()
    gc.freeze()
    server = _Server(jobs, done, children)
    try:
        server.serve()
    finally:
        server.end()
    os._exit(0)


if __name__ == "__main__":
    main()
