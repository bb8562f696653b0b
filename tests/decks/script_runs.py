"""Python scripts in a fork server, each in a job folder of its own."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType

from pytest_iclayout.sandbox.fork_server import ForkServer, JobResult
from pytest_iclayout.sandbox.policy import Limits, Policy

_PROGRAM = "pytest_iclayout.sandbox.python_server"


class ScriptRunner:
    """``folder`` holds the jobs' folders; the jobs' user can reach it, which those of pytest are closed to."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="scripts-"))
        self.folder.chmod(0o711)
        self.server = ForkServer(
            lambda jobs, done: [
                sys.executable,
                "-m",
                "pytest_iclayout.sandbox.python_server",
                f"{jobs}",
                f"{done}",
                "2",
            ],
            children=2,
            environment=dict(os.environ),
        )
        self._numbers = itertools.count()

    def __enter__(self) -> ScriptRunner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.close()
        shutil.rmtree(self.folder)

    def submit(self, script: str, limits: Limits) -> tuple[Path, Future[JobResult]]:
        """The job's folder, and how it ends."""
        job = self.folder / f"job{next(self._numbers)}"
        source = job.with_suffix(".py")
        source.write_text(script, encoding="utf-8")
        source.chmod(0o644)
        self.server.start()
        readable = (source, *map(Path, self.server.paths))
        policy = Policy(limits=limits, readable=readable).job_folder(job)
        data = {"script": str(source), "folder": str(job), "log": str(job / "log"), "policy": policy.wire()}
        return job, self.server.submit(data, limits.wall_s)
