"""A run that is killed with SIGKILL: what it finished stays, and nothing half-written is taken for whole."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time

import pytest

from pytest_iclayout import cli
from pytest_iclayout.trial.record import read_record

CONFTEST = '''
import os, time
from pathlib import Path
from pytest_iclayout.agents.protocol import Proposal

class Agent:
    name = backend = "doomed"
    def start(self, context):
        self.context = context
        return self
    def propose(self, turn, layout):
        layout.execute({"op": "create_cell", "name": "top"})
        rect = {"min": {"x": 0, "y": 0}, "max": {"x": 600, "y": 400}}
        layer = {"layer": 68, "datatype": 20}
        layout.execute({"op": "add_rect", "cell": "top", "layer": layer, "rect": rect})
        if self.context.task_id == "c":
            self.hang()
        return Proposal()
    def hang(self):
        """WHERE"""
        def forever(*ignored):
            Path("reached").touch()
            time.sleep(600)
        if "WHERE" == "in_the_agent":
            forever()
        os.fsync = forever

def pytest_iclayout_agents(config):
    return {"doomed": lambda argument: Agent()}
'''


@pytest.mark.parametrize("where", ["in_the_agent", "while_a_file_is_written"])
def test_finished_records_are_whole_and_the_unfinished_one_is_not_there(tasks, pytester, where):
    pytester.makeconftest(CONFTEST.replace("WHERE", where))
    for name in "abcd":
        tasks.write(f"suite/{name}.toml")
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "--agent=doomed", "-m", "solve"],
        cwd=pytester.path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        deadline = time.monotonic() + 60
        while not (pytester.path / "reached").exists() and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert (pytester.path / "reached").exists()

    results = pytester.path / ".iclayout/results/suite"
    records = {path.parent.name: read_record(path) for path in results.rglob("*.json")}
    assert sorted(records) == ["a", "b"]
    for name, record in records.items():
        artifact = (results / name / str(record.artifact)).read_bytes()
        assert hashlib.sha256(artifact).hexdigest() == record.artifact_sha256
        assert (results / name / str(record.transcript)).read_text(encoding="utf-8").endswith("\n")
    # What was being written has a hidden name that no program takes for a record, a layout or a transcript.
    unfinished = [path.name for path in (results / "c").rglob("*")] if (results / "c").exists() else []
    assert all(name.startswith(".") and not name.endswith((".json", ".gds", ".jsonl")) for name in unfinished)
    assert (where == "while_a_file_is_written") == bool(unfinished)
    assert cli.main(["results", str(results)]) == 0
    assert cli.main(["replay", str(results), "--tasks", str(pytester.path / "suite")]) == 0


def test_next_run_completes_what_the_killed_one_left(tasks, pytester, run, records):
    pytester.makeconftest(CONFTEST.replace("WHERE", "in_the_agent").replace('== "c"', '== "none"'))
    tasks.write("suite/c.toml")
    left = tasks.write_text(".iclayout/results/suite/c/.doomed.json.x7", '{"schema_ver')
    run("--agent=doomed", "-m", "solve").assert_outcomes(passed=1)
    assert records()["suite/c/doomed.json"]["outcome"] == "passed"
    assert left.name not in {path.name for path in left.parent.glob("*.json")}
