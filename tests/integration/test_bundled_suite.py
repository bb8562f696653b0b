"""The bundled suite measures something: its built-in agents at all of its tasks, as a user runs them."""

from __future__ import annotations

from pathlib import Path

import iclayout_tasks
import pytest

TASKS = sorted(path.stem for path in (Path(iclayout_tasks.__file__).parent / "layout").rglob("*.toml"))


def test_mock_and_oracle_pass_all_tasks_and_nop_and_random_fail_all(run, records):
    agents = {"mock": "passed", "oracle": "passed", "nop": "failed", "random": "failed"}
    result = run("--pyargs", "iclayout_tasks", "-m", "solve", *(f"--agent={agent}" for agent in agents))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    trials = list(records().values())
    got = {(one["agent"], one["task_id"]): one["outcome"] for one in trials}
    assert got == {(agent, task): outcome for agent, outcome in agents.items() for task in TASKS}
    # Clutter fails by what it is, not by a command that was refused or a follow-up that it did not wait for.
    clutter = [one for one in trials if one["agent"] == "random"]
    assert all(one["verdict"]["findings"] for one in clutter)
    assert not any(one["failed_commands"] for one in clutter)
