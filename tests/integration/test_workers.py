"""Runs with pytest-xdist: the same items, the same records, and workers that die."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("xdist", "agents")


@pytest.fixture
def three_tasks(tasks):
    for name in "abc":
        tasks.write(f"suite/{name}.toml", tier="abc".index(name) + 1)


@pytest.mark.usefixtures("three_tasks")
def test_workers_leave_the_same_records_as_one_process(run, pytester):
    options = ("--agent=good", "--agent=nop", "--agent=crashes", "-m", "solve")
    alone = run(*options, "--iclayout-results=alone")
    shared = run(*options, "--iclayout-results=shared", "-n2")
    assert alone.parseoutcomes()["passed"] == shared.parseoutcomes()["passed"] == 3
    assert alone.parseoutcomes()["errors"] == shared.parseoutcomes()["errors"] == 3
    assert alone.ret == shared.ret
    expected, got = comparable(pytester.path / "alone"), comparable(pytester.path / "shared")
    assert len(expected) == 9
    assert got == expected
    run_ids = {json.loads(path.read_text())["run_id"] for path in (pytester.path / "shared").rglob("*.json")}
    assert len(run_ids) == 1
    assert table_of(shared) == table_of(alone) != []


@pytest.mark.usefixtures("three_tasks")
def test_collecting_with_workers_shows_the_same_items(collected):
    assert collected("--agent=good", "-n2") == collected("--agent=good")
    assert len(collected("--agent=good")) == 9


@pytest.mark.usefixtures("three_tasks")
def test_trial_whose_worker_dies_is_an_error_and_the_others_still_run(run, records, shown):
    options = ("--agent=second_killed", "-m", "solve", "-n2")
    result = run(*options)
    result.assert_outcomes(passed=2, errors=1)
    assert result.ret == 10
    assert {name: (one["outcome"], one["reason"]) for name, one in records().items()} == {
        "suite/a/second_killed.json": ("passed", ""),
        "suite/b/second_killed.json": ("error", "the process that ran the trial died"),
        "suite/c/second_killed.json": ("passed", ""),
    }
    assert len({one["run_id"] for one in records().values()}) == 1
    died = records()["suite/b/second_killed.json"]
    assert (died["success"], died["verdict"], died["artifact"], died["document_hash"]) == (False, None, None, None)
    text = shown(result)
    assert "FAILED" not in text
    assert re.search(r"^second_killed +2 +0 +0 +1 +0 +- +-$", text, re.MULTILINE)


def test_record_of_a_dead_trial_that_cannot_be_written_does_not_end_the_run(tasks, run, shown):
    tasks.write_text("file", "not a folder")
    tasks.write("suite/a.toml")
    result = run("--agent=killed", "--iclayout-results=file/results", "-n1")
    result.assert_outcomes(passed=2, errors=1)
    assert "no record could be written: [Errno 20] Not a directory" in shown(result)


def comparable(folder: Any) -> dict[str, Any]:
    """Records and transcripts by path, without what must differ between runs."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        transcript = (path.parent / record["transcript"]).read_text(encoding="utf-8")
        record["transcript"] = [
            {key: value for key, value in json.loads(line).items() if not key.startswith("ts_")}
            for line in transcript.splitlines()
        ]
        found[str(path.relative_to(folder))] = {
            key: value for key, value in record.items() if key not in ("started_at", "wall_ms", "run_id")
        }
    return found


def table_of(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if re.match(r"(agent +tier|(good|nop|crashes) +\d) ", line)]
