"""What a trial leaves on disk: the record, the files beside it, and nothing half-written."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from pathlib import Path

import klayout.db as db
import pytest

from pytest_iclayout.session.replay import replay
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.transcript import parse_transcript
from pytest_iclayout.trial.record import TrialRecord, read_record

pytestmark = pytest.mark.usefixtures("agents")
PUBLISHED_FIELDS = [
    "task_id",
    "model",
    "suite_version",
    "success",
    "iterations",
    "first_proposal_violations",
    "final_violations",
    "wall_ms",
    "backend",
    "quantization",
]


@pytest.fixture
def results(pytester) -> Path:
    return pytester.path / ".iclayout/results"


@pytest.fixture
def solve(tasks, run):
    def solves(*agents, options=()):
        tasks.write("suite/a.toml")
        return run("-m", "solve", *(f"--agent={agent}" for agent in agents), *options)

    return solves


def test_record_says_everything_of_a_trial(solve, records):
    solve("good")
    record = records()["suite/a/good.json"]
    assert sorted(record) == sorted(TrialRecord.model_fields)
    variable = {
        key: record.pop(key)
        for key in (
            "wall_ms",
            "started_at",
            "run_id",
            "engines",
            "document_hash",
            "artifact",
            "artifact_sha256",
            "transcript",
            "task_digest",
        )
    }
    assert record == {
        "schema_version": 1,
        "task_id": "a",
        "model": None,
        "suite_version": "unversioned",
        "success": True,
        "iterations": 1,
        "first_proposal_violations": 0,
        "final_violations": 0,
        "backend": "scripted",
        "quantization": None,
        "suite": "suite",
        "tier": 1,
        "agent": "good",
        "outcome": "passed",
        "reason": "",
        "traceback": "",
        "verdict": {"findings": [], "more": 0},
        "note": "",
        "technology": "sky130",
        "rule_set": "published",
        "checker": "rect_present",
        "parameters": None,
        "max_iterations": 4,
        "follow_ups_given": 0,
        "commands": 2,
        "failed_commands": 0,
        "last_command_error": "",
        "nodeid": "suite/a.toml::solve[good]",
        "picture": None,
    }
    assert 0 <= variable["wall_ms"] < 60_000
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", variable["started_at"])
    assert re.fullmatch(r"[0-9a-f]{32}", variable["run_id"])
    assert re.fullmatch(r"[0-9a-f]{64}", variable["task_digest"])
    assert {"pytest-iclayout", "klayout", "gdstk", "pydantic", "pytest", "python"} <= set(variable["engines"])


def test_model_and_quantization_of_the_agent_are_in_its_records(solve, records, pytester):
    """Scores are compared by model: an agent says which one it runs, and how its weights were rounded."""
    pytester.makeconftest(
        """
        from pytest_iclayout.agents.protocol import Proposal
        class Model:
            name, backend, model, quantization = "local", "http", "m-8b", "q4_k_m"
            def start(self, context):
                return self
            def propose(self, turn, layout):
                return Proposal()
        def pytest_iclayout_agents(config):
            return {"local": lambda argument: Model()}
        """
    )
    solve("local", "nop")
    found = {one["agent"]: (one["backend"], one["model"], one["quantization"]) for one in records().values()}
    assert found == {"local": ("http", "m-8b", "q4_k_m"), "nop": ("nop", None, None)}


def test_published_field_names_come_first_and_keep_their_names(solve, results):
    """Programs of the field read these; a renamed one would be silently missing there."""
    solve("good")
    text = (results / "suite/a/good.json").read_text(encoding="utf-8")
    assert list(json.loads(text))[1 : 1 + len(PUBLISHED_FIELDS)] == PUBLISHED_FIELDS


def test_artifact_is_beside_the_record_with_its_digest(solve, results, records):
    solve("good")
    record = records()["suite/a/good.json"]
    artifact = (results / "suite/a" / record["artifact"]).read_bytes()
    assert hashlib.sha256(artifact).hexdigest() == record["artifact_sha256"]
    layout = db.Layout()
    layout.read_bytes(artifact)
    assert layout.top_cell().name == "top"


@pytest.mark.parametrize("agent", ["good", "stubborn", "crashes"])
def test_replay_of_the_transcript_gives_the_records_document(solve, results, records, agent):
    solve(agent)
    record = records()[f"suite/a/{agent}.json"]
    text = (results / "suite/a" / record["transcript"]).read_text(encoding="utf-8")
    transcript = parse_transcript(text, "transcript")
    session = LayoutSession()
    assert replay(transcript, session).divergences == ()
    assert session.document_hash() == record["document_hash"] == transcript.final_hash
    assert len(transcript.commands) == record["commands"] > 0


def test_transcript_has_a_plan_step_for_each_iteration(solve, results, records):
    solve("stubborn", options=["--max-iterations=2"])
    record = records()["suite/a/stubborn.json"]
    last = (results / "suite/a" / record["transcript"]).read_text(encoding="utf-8").splitlines()[-1]
    assert json.loads(last)["plan"] == [
        {
            "goal": f"task a, iteration {number}",
            "intended_tools": ["create_cell"],
            "expected_checks": ["drc", "rect_present"],
        }
        for number in (1, 2)
    ]


def test_violations_of_the_first_and_the_last_proposal_are_counted(tasks, run, records, pytester):
    pytester.makeconftest(
        """
        from pytest_iclayout.agents.protocol import Proposal
        class Thin:
            name = backend = "thin"
            def start(self, context):
                return self
            def propose(self, turn, layout):
                if turn.iteration == 1:
                    layout.execute({"op": "create_cell", "name": "top"})
                y = turn.iteration * 1000
                rect = {"min": {"x": 0, "y": y}, "max": {"x": 1000, "y": y + 100}}
                layer = {"layer": 68, "datatype": 20}
                layout.execute({"op": "add_rect", "cell": "top", "layer": layer, "rect": rect})
                return Proposal(gives_up=turn.iteration == 2, note="thin wires")
        def pytest_iclayout_agents(config):
            return {"thin": lambda argument: Thin()}
        """
    )
    tasks.write("a.toml", checker="rect_present:layer=69/20")
    run("--agent=thin", "-m", "solve")
    (record,) = records().values()
    assert (record["first_proposal_violations"], record["final_violations"]) == (1, 2)
    assert (record["outcome"], record["note"]) == ("failed", "thin wires")


def test_all_records_of_a_run_have_its_id_and_another_run_another(solve, records):
    solve("good", "nop")
    first = {one["run_id"] for one in records().values()}
    solve("good", "nop")
    second = {one["run_id"] for one in records().values()}
    assert len(first) == len(second) == 1
    assert first != second


def test_second_run_replaces_the_record_and_drops_what_belonged_to_the_first(tasks, run, results, records):
    tasks.write("suite/a.toml", checker="shape_count:layer=68/20,exact=3")
    tasks.write("suite/b.toml")
    run("-m", "solve", "--agent=good")
    assert records()["suite/a/good.json"]["picture"] is not None
    untouched = sorted((results / "suite/b").iterdir())
    tasks.write("suite/a.toml")
    run("-m", "solve", "--agent=good", "suite/a.toml")
    record = records()["suite/a/good.json"]
    assert record["outcome"] == "passed"
    names = {path.name for path in (results / "suite/a").iterdir()}
    assert names == {"good.json", record["artifact"], record["transcript"]}
    assert sorted((results / "suite/b").iterdir()) == untouched


def test_agents_whose_names_begin_alike_keep_their_files(solve, results, pytester, tasks):
    tasks.write_text("good/a.transcript.jsonl", '{"final_hash": 1}\n')
    solve("replay:good", "good")
    solve("good")
    for path in results.rglob("*.json"):
        record = read_record(path)
        assert record.artifact is not None
        assert (path.parent / record.artifact).is_file()


def test_agent_whose_name_is_a_path_stays_in_the_results_folder(solve, tasks, results):
    tasks.write_text("x/../runs/a.transcript.jsonl", '{"final_hash": 1}\n')
    solve("replay:x/../runs")
    (record,) = results.rglob("*.json")
    assert record.parent == results / "suite/a"


def test_results_folder_holds_all_that_a_run_writes(solve, tasks, pytester, run):
    """--iclayout-results=out must not put folders beside out, nor the pictures of a failing gate."""
    tasks.write("suite/a.toml")
    tasks.write("suite/b.toml", more='[[two_way.good]]\nlayer = "69/20"\nrect = [0, 0, 500, 400]')
    before = {path.name for path in pytester.path.iterdir()}
    run("--agent=good", "--iclayout-results=out", "--gate-examples=5", "-p", "no:cacheprovider")
    new = {path.name for path in pytester.path.iterdir()} - before
    assert new - {"__pycache__", ".hypothesis", ".benchmarks"} == {"out"}
    assert list((pytester.path / "out").rglob("b-accepts.png"))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_full_disk_is_an_error_that_names_the_path_and_leaves_nothing_half_written(
    solve, results, shown, monkeypatch, number
):
    """The disk is full at the first, second or third file of the trial."""
    calls = []

    def fsync(handle):
        calls.append(handle)
        if len(calls) == number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    result = solve("good")
    result.assert_outcomes(errors=1)
    assert result.ret == 10
    assert f"could not be written to {results}/suite/a/good.json: No space left on device" in shown(result)
    assert not list(results.rglob("*.json"))
    assert not [path for path in results.rglob("*") if path.name.startswith(".")]
    assert len(list((results / "suite/a").iterdir())) == number - 1


def test_full_disk_leaves_the_earlier_record_whole(solve, results, monkeypatch, tasks, run):
    solve("good")
    before = (results / "suite/a/good.json").read_bytes()
    replace = Path.replace

    def refuse(self, target):
        if Path(target).suffix == ".json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    tasks.write("suite/a.toml", checker="shape_count:layer=68/20,exact=3")
    run("-m", "solve", "--agent=good").assert_outcomes(errors=1)
    assert (results / "suite/a/good.json").read_bytes() == before
    record = read_record(results / "suite/a/good.json")
    assert (results / "suite/a" / str(record.artifact)).is_file()
    assert (results / "suite/a" / str(record.transcript)).is_file()


def test_results_folder_that_cannot_be_made_is_an_error_that_names_it(solve, tasks, shown):
    tasks.write_text("file", "not a folder")
    result = solve("good", options=["--iclayout-results=file/results"])
    result.assert_outcomes(errors=1)
    assert "file/results/suite/a/good.json: Not a directory" in shown(result)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into any folder")
def test_read_only_results_folder_is_an_error_that_names_it(solve, pytester, shown):
    folder = pytester.mkdir("locked")
    folder.chmod(0o500)
    result = solve("good", options=["--iclayout-results=locked"])
    result.assert_outcomes(errors=1)
    assert "locked/suite/a/good.json: Permission denied" in shown(result)


def test_gate_runs_where_nothing_can_be_written(tasks, run):
    tasks.write_text("file", "not a folder")
    tasks.write("suite/a.toml")
    run("--iclayout-results=file/results", "--gate-examples=10").assert_outcomes(passed=2)
