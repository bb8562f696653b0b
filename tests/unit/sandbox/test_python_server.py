"""Python scripts in the fork server: contained, limited, and without harm to the server or to other jobs."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from script_runs import ScriptRunner

from pytest_iclayout.sandbox.fork_server import ForkServer, JobResult, ServerError
from pytest_iclayout.sandbox.policy import Limits, SandboxUnavailable, support

Run = Callable[..., JobResult]


@pytest.fixture
def runner() -> Iterator[ScriptRunner]:
    try:
        support().require()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with ScriptRunner() as made:
        yield made


@pytest.fixture
def run(runner: ScriptRunner) -> Run:
    def run(script: str, **limits: float) -> JobResult:
        _, future = runner.submit(script, Limits(**limits))  # type: ignore[arg-type]
        return future.result(timeout=60)

    return run


def test_a_script_makes_a_layout_in_its_folder(run: Run, runner: ScriptRunner) -> None:
    result = run(
        "import klayout.db as db\n"
        "layout = db.Layout()\n"
        "layout.create_cell('TOP').shapes(layout.layer(1, 0)).insert(db.Box(0, 0, 10, 10))\n"
        "layout.write('made.gds')\n"
    )
    assert result.ended_well
    assert result.runs == (0,)
    (made,) = runner.folder.rglob("made.gds")
    assert made.stat().st_size > 0


@pytest.mark.parametrize(
    "attack",
    [
        "open('/etc/passwd').read()",
        "open(__file__, 'w')",
        "open('../elsewhere', 'w')",
        "import os; os.fork()",
        "import os; os.kill(os.getppid(), 9)",
        "import os; os.kill(-1, 0)",
        "import subprocess; subprocess.run(['/bin/true'])",
        "import os; os.execv('/bin/true', ['true'])",
        "import socket; socket.socket()",
        "import os; os.symlink('/etc/passwd', 'link')",
        "import os; os.memfd_create('hidden')",
        "import os; os.setpriority(os.PRIO_PROCESS, 0, 1)",
        "import resource; resource.prlimit(__import__('os').getppid(), resource.RLIMIT_CPU)",
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1000, 1000))",
        "x = bytearray(4 << 30)",
    ],
)
def test_what_is_out_of_reach_is_an_error_of_the_script(run: Run, attack: str) -> None:
    result = run(attack)
    assert (result.exit, result.signal, result.runs) == (1, None, (1,))
    assert run("print('well')").ended_well, "the server must go on"


def test_a_script_that_does_not_end_is_ended(run: Run) -> None:
    assert run("while True: pass", wall_s=0.5).ended_for == "time"
    assert run("import time\ntime.sleep(60)", wall_s=0.5).ended_for == "time"


def test_a_script_that_fills_its_folder_is_ended(run: Run) -> None:
    many = "for n in range(100000): open(f'part{n}', 'wb').write(bytes(1 << 20))"
    assert run(many, folder_bytes=8 << 20).ended_for == "disk"
    one = "import os\nfor n in range(64): os.write(1, bytes(1 << 20))"
    assert run(one, file_bytes=4 << 20).signal == signal.SIGXFSZ


def test_a_message_that_a_script_forges_is_one_too_many(run: Run) -> None:
    forged = (
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'{\"code\": 0}\\n')\n    except OSError: pass\n"
    )
    assert run(forged).runs != (0,)


def test_a_killed_server_is_started_again_and_no_job_is_lost(run: Run, runner: ScriptRunner) -> None:
    assert run("pass").ended_well
    assert runner.server._process is not None
    runner.server._process.kill()
    assert run("pass").ended_well
    assert runner.server.restarts == 1


def test_a_server_that_cannot_start_says_why() -> None:
    broken = ForkServer(lambda jobs, done: [sys.executable, "-c", "raise SystemExit('no such thing')"], 1, {})
    with pytest.raises(ServerError, match="no such thing"):
        broken.start()


def test_the_server_ends_with_its_pipe_and_takes_its_children_along(run: Run, runner: ScriptRunner) -> None:
    run("pass")
    assert runner.server._process is not None
    process = runner.server._process
    endless = "import time, os\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)"
    job, future = runner.submit(endless, Limits(wall_s=600))
    while not (job / "pid").exists() or not (job / "pid").read_text():
        time.sleep(0.01)
    child = int((job / "pid").read_text())
    runner.server.close()
    assert process.poll() is not None
    with pytest.raises(ServerError):
        future.result(timeout=5)
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}").exists() and Path(f"/proc/{child}/stat").read_text().split(")")[1].split()[0] != "Z":
        assert time.monotonic() < deadline, "the child outlived its server"
        time.sleep(0.02)
