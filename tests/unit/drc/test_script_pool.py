"""Python checkers in a pool: their reports are read, and they are contained, without harm to the server or others."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import klayout.db as db
import pytest

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.execution import Execution, Status
from pytest_iclayout.drc.decks.pool import run_all
from pytest_iclayout.drc.decks.script_pool import ScriptPool
from pytest_iclayout.drc.decks.store import ExecutionStore
from pytest_iclayout.sandbox.fork_server import ForkServer, ServerError
from pytest_iclayout.sandbox.policy import Limits, SandboxUnavailable, support

WELL = "import sys\nopen(sys.argv[2], 'w').write('{}')\n"
WIDTH = """
import json, sys
import klayout.db as db
layout = db.Layout()
layout.read(sys.argv[1])
region = db.Region(layout.top_cell().begin_shapes_rec(layout.layer(1, 0)))
found = region.width_check(300)
"""
BY_DATABASE = """
import klayout.rdb as rdb
report = rdb.ReportDatabase("width")
cell = report.create_cell(layout.top_cell().name)
category = report.create_category("W")
report.create_category("S")
for pair in found.each():
    report.create_item(cell.rdb_id(), category.rdb_id()).add_value(pair.to_dtype(layout.dbu))
report.save(sys.argv[2])
"""
BY_JSON = "json.dump({'W': found.count(), 'S': False}, open(sys.argv[2], 'w'))"


@cache  # a file holds the time at which it was written
def layout(width: int = 200) -> bytes:
    made = db.Layout()
    made.create_cell("TOP").shapes(made.layer(1, 0)).insert(db.Box(0, 0, width, 1000))
    options = db.SaveLayoutOptions()
    options.format = "GDS2"
    return bytes(made.write_bytes(options))


def contained() -> None:
    try:
        support().require()
    except SandboxUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def pool() -> Iterator[ScriptPool]:
    contained()
    with ScriptPool(children=2, limits=Limits(wall_s=30)) as made:
        yield made


def run(pool: ScriptPool, script: str, *layouts: bytes) -> list[Execution]:
    return run_all(pool, Deck.of_text(script, "checker.py"), layouts or (layout(),))


def run_limited(script: str, **limits: float) -> Execution:
    contained()
    with ScriptPool(children=1, limits=Limits(**limits)) as pool:  # type: ignore[arg-type]
        (execution,) = run(pool, script)
        return execution


@pytest.mark.parametrize("way", [BY_DATABASE, BY_JSON], ids=["database", "json"])
def test_both_kinds_of_report_tell_each_layout_apart(pool: ScriptPool, way: str) -> None:
    narrow, wide = run(pool, WIDTH + way, layout(299), layout(300))
    assert (narrow.status, narrow.violated, set(narrow.items)) == (Status.OK, {"W"}, {"W", "S"})
    assert (wide.status, wide.violated, set(wide.items)) == (Status.OK, frozenset(), {"W", "S"})
    assert narrow.engine.startswith(f"python {sys.version_info[0]}.{sys.version_info[1]}")


def test_true_and_numbers_are_violations_and_the_log_is_kept(pool: ScriptPool) -> None:
    script = "import sys, json\nprint('looked')\njson.dump({'a': True, 'b': 2, 'c': 0}, open(sys.argv[2], 'w'))"
    (execution,) = run(pool, script)
    assert execution.items == {"a": 1, "b": 2, "c": 0}
    assert execution.log == "looked\n"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        pytest.param("pass", "left no report at sys.argv[2]", id="no report"),
        pytest.param(WELL + "raise KeyError('m1')", "KeyError: 'm1' (at line 3)", id="exception after the report"),
        pytest.param("import json\n\njson.loads('{')", "(char 1) (at line 3)", id="exception in a library"),
        pytest.param(WELL + "sys.exit('gave up')", "gave up", id="exit with words"),
        pytest.param(WELL + "sys.exit(3)", "ended with status 3", id="exit with a status"),
        pytest.param(WELL + "import os; os._exit(0)", "ended early: 0 of 1 run(s) reported", id="exit at once"),
        pytest.param("import sys\ndef f(:", "SyntaxError: invalid syntax (at line 2)", id="syntax"),
        pytest.param(WELL.replace("{}", '{"a": -1}'), "category 'a': write true, false or how many", id="negative"),
        pytest.param(WELL.replace("{}", '{"a": 0.5}'), "category 'a': write true, false or how many", id="half"),
        pytest.param(WELL.replace("{}", '{"a": 0, "a": 1}'), "category 'a' stands twice", id="twice"),
        pytest.param(WELL.replace("{}", '{"a": '), "the report at sys.argv[2]: not JSON", id="cut off"),
        pytest.param(WELL.replace("'{}'", "'{\"a\":' * 100000"), "not JSON", id="deep"),
        pytest.param(WELL.replace("'{}'", "'{' + ' ' * (2 << 20)"), "JSON of more than 1048576 bytes", id="long"),
        pytest.param(WELL.replace("{}", "a: 1"), "neither a report database nor a JSON object", id="neither"),
        pytest.param(WELL.replace("{}", "<a/>"), "not a complete report database", id="other XML"),
        pytest.param("import os, sys\nos.mkdir(sys.argv[2])", "left no report at sys.argv[2]", id="folder"),
    ],
)
def test_what_is_no_report_is_an_error_with_its_reason_never_a_clean_layout(
    pool: ScriptPool, script: str, reason: str
) -> None:
    (execution,) = run(pool, script)
    assert (execution.status, execution.items) == (Status.ERROR, {})
    assert reason in execution.reason
    assert not execution.infrastructure


def test_report_is_kept_where_it_is_asked_for(pool: ScriptPool, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    (future,) = pool.run(Deck.of_text(WELL, "checker.py"), [layout()], reports=[kept])
    assert future.result().ok
    assert kept.read_text() == "{}"


def test_store_answers_for_the_same_script_and_layout_only(tmp_path: Path) -> None:
    contained()
    with ScriptPool(children=1, store=ExecutionStore(tmp_path / "store")) as pool:
        assert [one.cached for one in run(pool, WELL) + run(pool, WELL)] == [False, True]
        assert [one.cached for one in run(pool, WELL, layout(1)) + run(pool, WELL + "#")] == [False, False]


def test_batch_still_gives_each_layout_a_child_of_its_own(pool: ScriptPool) -> None:
    script = Deck.of_text("import builtins\nassert not hasattr(builtins, 'seen')\nbuiltins.seen = 1\n" + WELL, "c.py")
    executions = run_all(pool, script, [layout(1), layout(2)], batch=True)
    assert [(one.status, one.batched) for one in executions] == [(Status.OK, False)] * 2


@pytest.mark.parametrize(
    "attack",
    [
        "open('/etc/passwd').read()",
        "open(__file__, 'w')",
        "open('../elsewhere', 'w')",
        "import os; os.listdir('..')",
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
        "import pytest",
        "import iclayout_tasks",
        f"import os; os.listdir({str(Path(pytest.__file__).parents[1])!r})",
    ],
)
def test_what_is_out_of_reach_is_an_error_of_the_script(pool: ScriptPool, attack: str) -> None:
    (execution,) = run(pool, f"{WELL}{attack}")
    assert execution.status is Status.ERROR
    assert "Error" in execution.reason
    assert run(pool, WELL)[0].ok, "the server must go on"


def test_packages_beside_the_standard_library_are_out_of_reach(pool: ScriptPool) -> None:
    script = f"""{WELL}
import os
for folder in {[path for path in sys.path if "site-packages" in path or "dist-packages" in path]}:
    for name in {{"iclayout_tasks", "pytest", "pip", "_pytest"}}:
        try:
            os.listdir(os.path.join(folder, name))
        except OSError:
            continue
        raise SystemExit(folder)
"""
    assert run(pool, script)[0].reason == ""


@pytest.mark.parametrize("script", ["while True: pass", "import time\ntime.sleep(60)"])
def test_script_that_does_not_end_is_a_timeout(script: str) -> None:
    assert run_limited(script, wall_s=0.5).status is Status.TIMEOUT


def test_script_that_fills_its_folder_is_killed() -> None:
    many = "for n in range(100000): open(f'part{n}', 'wb').write(bytes(1 << 20))"
    found = run_limited(many, folder_bytes=8 << 20)
    assert (found.status, found.reason) == (Status.KILLED, "wrote more than 8388608 bytes")
    one = "import os\nfor n in range(64): os.write(1, bytes(1 << 20))"
    found = run_limited(one, file_bytes=4 << 20)
    assert (found.status, found.reason) == (Status.KILLED, "wrote a file of more than 4194304 bytes")


def test_message_that_a_script_forges_is_one_too_many(pool: ScriptPool) -> None:
    forged = (
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'{\"code\": 0}\\n')\n    except OSError: pass\n"
    )
    assert run(pool, WELL + forged)[0].status is Status.ERROR


def test_killed_server_is_started_again_and_no_job_is_lost() -> None:
    contained()
    with ScriptPool(children=1) as pool:
        assert run(pool, WELL)[0].ok
        assert pool._server._process is not None
        # The group: the server has a wall and a shell around it.
        os.killpg(pool._server._process.pid, signal.SIGKILL)
        assert run(pool, WELL)[0].ok
        assert pool.restarts == 1


def test_server_that_cannot_start_says_why() -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such thing')"]
    broken = ForkServer(lambda jobs, done: command, 1, {}, "/opt/python", "mend it")
    with pytest.raises(ServerError, match=r"^/opt/python does not work: .* printed 'no such thing'; mend it$"):
        broken.start()


def test_closed_pool_leaves_no_server_no_child_and_no_folder() -> None:
    contained()
    pool = ScriptPool(children=1, limits=Limits(wall_s=600))
    run(pool, WELL)
    assert pool._server._process is not None
    process, folder = pool._server._process, pool._folder.path
    (future,) = pool.run(Deck.of_text("import time\nopen('began', 'w')\ntime.sleep(600)", "c.py"), [layout()])
    deadline = time.monotonic() + 30
    while not list(folder.rglob("began")):
        assert time.monotonic() < deadline, "the script did not begin"
        time.sleep(0.01)
    before = children_of(process.pid)
    assert before
    pool.close()
    assert future.result(timeout=5).infrastructure
    assert process.poll() is not None
    assert not folder.exists()
    while any(is_alive(pid) for pid in before):
        assert time.monotonic() < deadline, "a process outlived its pool"
        time.sleep(0.02)


def children_of(pid: int) -> list[int]:
    """All below it."""
    try:
        found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return found + [one for child in found for one in children_of(child)]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
