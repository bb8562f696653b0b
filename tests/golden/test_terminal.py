"""What a run over the bundled tasks prints, and a record of it: both are read by people and programs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import gdstk
import klayout.lay
import pytest
from iclayout_checkers import CHECKERS
from syrupy.assertion import SnapshotAssertion

import pytest_iclayout.collect
import pytest_iclayout.trial.picture
from pytest_iclayout.agents.mock import scripts
from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.suite.task import Task

# A run within this process drops the modules that it was the first to import, which extension modules do not survive.
_PRELOADED = (gdstk, klayout.lay, pytest_iclayout.collect, pytest_iclayout.trial.picture)
for _name in CHECKERS:
    CheckerRegistry(CHECKERS).get(_name)

VARIABLE = ("artifact_sha256", "engines", "run_id", "started_at", "wall_ms", "nodeid", "task_digest")
"""Keys of a record that differ between runs, places or versions of a library."""

OUTCOMES = {"mock": "passed", "oracle": "passed", "nop": "failed", "random": "failed"}
"""Of the built-in agents at every bundled task."""

BUNDLED = ("--pyargs", "iclayout_tasks", "--gate-examples=1", "-m", "not rule")


@pytest.mark.one_python
def test_built_in_agents_at_all_tasks_and_the_section_of_the_terminal(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
    bundled_tasks: tuple[Task, ...],
):
    """One run for both, as it takes a minute or two: what it printed, and what its records say of the trials."""
    monkeypatch.setenv("COLUMNS", "100")
    agents = [f"--agent={agent}" for agent in OUTCOMES]
    result = pytester.runpytest_inprocess(*BUNDLED, *agents, "-k", "solve or (gate and tier1)")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    trials = {(one["agent"], one["task_id"]): one for one in records_below(pytester.path / ".iclayout/results")}
    got = {key: one["outcome"] for key, one in trials.items()}
    assert got == {(agent, task.id): outcome for agent, outcome in OUTCOMES.items() for task in bundled_tasks}
    _require_trials_to_be_as_meant(trials, bundled_tasks)
    section = re.split(r"^=+ iclayout =+$", result.stdout.str(), flags=re.MULTILINE)[1]
    section = re.split(r"^=+ short test summary info =+$", section, flags=re.MULTILINE)[0]
    assert re.search(r"; [1-9]\d* layouts tried$", section, re.MULTILINE)
    assert re.sub(r"\d+ layouts tried", "N layouts tried", section).strip("\n") == snapshot


def _require_trials_to_be_as_meant(trials: dict[tuple[str, str], dict[str, Any]], tasks: tuple[Task, ...]) -> None:
    """Each agent passes or fails for the reason that it is there for, and in as many turns as that takes."""
    for task in tasks:
        mock, oracle, nop, clutter = (trials[agent, task.id] for agent in ("mock", "oracle", "nop", "random"))
        assert (mock["reason"], mock["note"], mock["iterations"]) == ("", "", len(scripts()[task.id])), task.id
        assert (oracle["reason"], oracle["iterations"]) == ("", 1 + len(task.spec.refinement)), task.id
        assert nop["reason"], task.id
        assert nop["iterations"] == 1, task.id
        # Clutter fails by what it is, not by a command that was refused or a follow-up that it did not wait for.
        assert clutter["verdict"]["findings"], task.id
        assert not clutter["failed_commands"], task.id
    failed = {task_id: one["failed_commands"] for (agent, task_id), one in trials.items() if agent == "mock"}
    assert {task_id: count for task_id, count in failed.items() if count} == {
        "t1_place_met1_rect": 1,
        "t3_drc_repair_notch": 1,
        "t3_via_stack_m1_m2": 1,
    }


def records_below(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.json"))]


def test_record(pytester: pytest.Pytester, snapshot: SnapshotAssertion):
    """Of a trial in which a command failed and was corrected."""
    pytester.runpytest_inprocess(*BUNDLED, "--agent=mock", "-k", "solve and t1_place_met1_rect")
    path = pytester.path / ".iclayout/results/iclayout/t1_place_met1_rect/mock.json"
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert set(VARIABLE) <= set(record)
    record |= dict.fromkeys(VARIABLE, "(normalised)")
    for key in ("artifact", "transcript"):
        record[key] = re.sub(r"-[0-9a-f]{12}\.", "-DIGEST.", record[key])
    assert json.dumps(record, indent=2) == snapshot
