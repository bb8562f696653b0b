"""Hostile decks and Python checkers do no harm: to the server, the next job, files, processes and the network.

They run inside a PID namespace of their own, once started by root and once by an ordinary user.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_iclayout.drc.decks.engines import find_engines
from pytest_iclayout.technology import toml

pytestmark = pytest.mark.eda

HERE = Path(__file__).parent / "hostile"
OURS = toml.loads((HERE / "decks.toml").read_text(encoding="utf-8"))
SCRIPTS = toml.loads((HERE / "scripts.toml").read_text(encoding="utf-8"))
SHARED = Path(__file__).parents[3] / "shared" / "recipes" / "drc" / "hostile"
NOBODY = 65534


def users() -> list[str]:
    return ["root", "ordinary"] if os.geteuid() == 0 else ["ordinary"]


@cache
def outcome(user: str) -> dict[str, Any]:
    """All decks at once: starting the application for each would take a second."""
    for program in ("unshare", "prlimit"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} (util-linux) is not installed: hostile decks need a PID namespace")
    if not find_engines():
        pytest.skip("no KLayout application")
    decks = sorted(str(path) for path in SHARED.glob("*.drc")) if user == users()[0] else []
    wall = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.geteuid() != 0:
        wall[1:1] = ["--user", "--map-current-user"]
    limit = ["prlimit", "--nproc=400"]
    # An interpreter below /root, or in a folder closed to others, must still be found: that one power is kept.
    keep = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *keep]
    drop = drop if os.geteuid() == 0 and user == "ordinary" else []
    command = [*wall, *limit, *drop, sys.executable, str(HERE / "driver.py"), *decks]
    shared = {"PYTHONPATH": str(HERE.parents[1] / "decks")}
    done = subprocess.run(command, env=os.environ | shared, capture_output=True, text=True, timeout=900, check=False)
    if "unshare failed" in done.stderr:
        pytest.skip(f"no PID namespace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(params=users())
def run(request: pytest.FixtureRequest) -> dict[str, Any]:
    return outcome(request.param)


def test_each_hostile_deck_ends_as_it_must(run: dict[str, Any]) -> None:
    wrong = {
        name: (job["status"], job["reason"], job["log"])
        for name, job in run["jobs"].items()
        if name in OURS and job["status"] not in OURS[name]["status"]
    }
    assert wrong == {}


def test_each_hostile_script_ends_as_it_must(run: dict[str, Any]) -> None:
    found = run["scripts"]
    assert set(found) == set(SCRIPTS)
    wrong = {
        name: (job["status"], job["reason"], job["log"])
        for name, job in found.items()
        if job["status"] not in SCRIPTS[name]["status"]
    }
    assert wrong == {}


def test_the_scripts_server_lives_the_next_script_runs_and_nothing_is_left(run: dict[str, Any]) -> None:
    found = run["scripts"]
    assert run["script_restarts"] == 0
    assert {name for name, job in found.items() if (job["next"], job["next_items"]) != ("ok", {"OK": 1})} == set()
    assert {name: job["left_processes"] for name, job in found.items() if job["left_processes"]} == {}
    assert {name: job["left_files"] for name, job in found.items() if job["left_files"]} == {}
    assert {name: job["wall_s"] for name, job in found.items() if job["wall_s"] > 20} == {}


def test_the_server_lives_and_the_next_job_is_right(run: dict[str, Any]) -> None:
    assert run["restarts"] == 0
    assert {name for name, job in run["jobs"].items() if (job["next"], job["next_items"]) != ("ok", {"OK": 1})} == set()


def test_nothing_is_left_behind(run: dict[str, Any]) -> None:
    assert {name: job["left_processes"] for name, job in run["jobs"].items() if job["left_processes"]} == {}
    assert {name: job["left_files"] for name, job in run["jobs"].items() if job["left_files"]} == {}


def test_nothing_reaches_the_network(run: dict[str, Any]) -> None:
    assert run["heard"] == []


def test_each_ends_within_its_time(run: dict[str, Any]) -> None:
    assert {name: job["wall_s"] for name, job in run["jobs"].items() if job["wall_s"] > 20} == {}


def test_the_recipes_decks_that_only_try_something_and_go_on_are_not_taken_for_errors() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is not there")
    found = {Path(name).stem: job["status"] for name, job in outcome(users()[0])["jobs"].items() if name not in OURS}
    right = {"ok", "filewrite", "kill", "net", "exit", "stdin"}
    assert {name: status for name, status in found.items() if name in right and status != "ok"} == {}
    wrong = {"abort", "exit7", "exitbang", "raise_exc", "runtime", "syntax", "forge", "stack", "chdir_report"}
    assert {name for name in wrong if found[name] == "ok"} == set()
    endless = {"loop", "loop_trap", "sleep"}
    assert {name: found[name] for name in endless if found[name] != "timeout"} == {}
