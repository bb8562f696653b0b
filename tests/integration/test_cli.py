"""The ``iclayout`` program."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_iclayout import __version__, cli
from pytest_iclayout.trial.record import read_record

PROGRAM = [sys.executable, "-c", "import sys; from pytest_iclayout.cli import main; sys.exit(main())"]


@pytest.fixture
def results(tasks, run, agents) -> Path:
    """Records of two tasks and three agents."""
    tasks.write("suite/a.toml")
    tasks.write("suite/b.toml", checker="shape_count:layer=68/20,exact=1", tier=2)
    run("-m", "solve", "--agent=oracle", "--agent=nop", "--agent=crashes")
    return tasks.folder / ".iclayout/results"


@pytest.fixture
def iclayout(capsys):
    """Run the program in this process: exit code, standard output, standard error."""

    def runs(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            code = cli.main([str(one) for one in arguments])
        except SystemExit as exit_:
            code = int(str(exit_.code))
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return code, printed.out, printed.err

    return runs


def test_results_are_a_table_sorted_by_agent_and_task(results, iclayout):
    code, out, err = iclayout("results", results)
    assert (code, err) == (0, "")
    lines = [line.split(maxsplit=4) for line in out.splitlines()]
    assert lines[0] == ["agent", "task", "outcome", "iterations", "reason"]
    assert [line[:4] for line in lines[1:]] == [
        ["crashes", "a", "error", "0"],
        ["crashes", "b", "error", "0"],
        ["nop", "a", "failed", "1"],
        ["nop", "b", "failed", "1"],
        ["oracle", "a", "passed", "1"],
        ["oracle", "b", "passed", "1"],
    ]
    assert lines[1][4] == "ConnectionError: the endpoint went away"


def test_results_are_in_the_default_folder_of_the_working_directory(results, iclayout, monkeypatch):
    monkeypatch.chdir(results.parent.parent)
    assert iclayout("results") == iclayout("results", results)


def test_results_of_one_task_are_shown_whole(results, iclayout):
    code, out, _ = iclayout("results", results, "--task", "a")
    assert code == 0
    assert re.findall(r"^== (\S+) at (\S+)", out, re.MULTILINE) == [("crashes", "a"), ("nop", "a"), ("oracle", "a")]
    paths = [line.split(": ", 1)[1] for line in out.splitlines() if line.startswith(("record: ", "layout: "))]
    assert len(paths) == 5
    assert all(Path(path).is_file() for path in paths)


def test_results_of_one_outcome(results, iclayout):
    _, out, _ = iclayout("results", results, "--outcome", "error")
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["crashes", "crashes"]


def test_results_that_there_are_none_of_are_exit_code_1(results, iclayout):
    assert iclayout("results", results, "--outcome", "not_run") == (1, "no such trial record\n", "")
    assert iclayout("results", results, "--task", "c")[0] == 1


def test_results_as_json_are_the_records(results, iclayout):
    code, out, _ = iclayout("results", results, "--json")
    assert code == 0
    on_disk = [read_record(path).model_dump(mode="json") for path in sorted(results.rglob("*.json"))]
    assert json.loads(out) == on_disk
    assert len(on_disk) == 6


def test_json_of_no_results_is_an_empty_array(results, iclayout):
    assert iclayout("results", results, "--json", "--task", "c") == (1, "[]\n", "")


def test_folder_that_is_none_is_exit_code_2(iclayout, tmp_path):
    code, out, err = iclayout("results", tmp_path / "lost")
    assert (code, out) == (2, "")
    assert err == f"iclayout: {tmp_path}/lost: no folder of trial records; pytest --agent=... writes them there\n"


def test_foreign_json_among_the_records_is_named_and_hides_none(results, iclayout):
    (results / "suite/package.json").write_text('{"name": "x"}', encoding="utf-8")
    (results / "suite/cut.json").write_text('{"schema_ver', encoding="utf-8")
    code, out, err = iclayout("results", results)
    assert code == 2
    assert len(out.splitlines()) == 7
    assert len(err.splitlines()) == 2
    assert re.search(r"^iclayout: \S+/package\.json: no trial record of schema version 1: task_id: required", err, re.M)
    assert re.search(r"^iclayout: \S+/cut\.json: no trial record of schema version 1: invalid JSON: EOF", err, re.M)


def test_record_of_a_later_schema_is_named(results, iclayout):
    path = results / "suite/a/nop.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"schema_version": 1', '"schema_version": 2'))
    code, _, err = iclayout("results", results)
    assert code == 2
    assert "nop.json: no trial record of schema version 1: schema_version: input should be 1 (given 2)" in err


def test_replay_of_our_results_is_as_recorded(results, tasks, iclayout):
    """A trial that ended in error has no verdict to compare with."""
    code, out, err = iclayout("replay", results, "--tasks", tasks.folder / "suite")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "6 transcripts replayed, 6 judged, 4 of 4 as recorded"
    assert re.search(r"/a/oracle-\w+\.transcript\.jsonl: 2 commands; accepted; recorded as a success$", out, re.M)
    assert re.search(r"/a/nop-\w+\.transcript\.jsonl: 0 commands; rejected; recorded as a failure$", out, re.M)


def test_replay_that_differs_from_its_record_is_exit_code_1(results, tasks, iclayout):
    tasks.write("suite/a.toml", checker="rect_present:layer=69/20")
    code, out, _ = iclayout("replay", results, "--tasks", tasks.folder / "suite")
    assert code == 1
    assert "accepted; recorded as a success" in out
    assert "rejected; recorded as a success  <- differs" in out
    assert out.splitlines()[-1] == "6 transcripts replayed, 6 judged, 3 of 4 as recorded"


@pytest.fixture
def field_run(results, tasks) -> Path:
    """A transcript and a result record with the names and the form of other programs of the field."""
    (transcript,) = results.glob("suite/a/oracle-*.transcript.jsonl")
    tasks.write_text("runs/a.transcript.jsonl", transcript.read_bytes())
    tasks.write_text("runs/a.result.json", json.dumps([{"task_id": "a", "success": True, "model": "m"}]))
    return tasks.folder / "runs"


def test_replay_of_a_file_compares_with_the_record_beside_it(field_run, tasks, iclayout):
    code, out, _ = iclayout("replay", field_run / "a.transcript.jsonl", "--tasks", tasks.folder / "suite")
    assert code == 0
    assert out.splitlines()[-1] == "1 transcripts replayed, 1 judged, 1 of 1 as recorded"


def test_replay_as_json(field_run, tasks, iclayout, results):
    code, out, _ = iclayout("replay", field_run, "--tasks", tasks.folder / "suite", "--json")
    assert code == 0
    (one,) = json.loads(out)
    assert (one["task_id"], one["commands"], one["accepted"], one["recorded"], one["differs"]) == (
        "a",
        2,
        True,
        True,
        False,
    )
    assert one["document_hash"] == read_record(results / "suite/a/oracle.json").document_hash


def test_replay_of_a_task_that_is_not_known_is_not_judged(field_run, iclayout):
    """Without --tasks the bundled suite is asked."""
    code, out, _ = iclayout("replay", field_run)
    assert code == 0
    assert "no task of that id" in out
    assert out.splitlines()[-1] == "1 transcripts replayed, 0 judged, 0 of 0 as recorded"


def test_replay_that_diverges_is_exit_code_1(field_run, tasks, iclayout):
    path = field_run / "a.transcript.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], lines[1].replace('"affected":[1]', '"affected":[7]'), lines[2]]))
    code, out, _ = iclayout("replay", path, "--tasks", tasks.folder / "suite")
    assert code == 1
    assert "diverges: seq 1: affected elements [7] when recorded, [1] here" in out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": the file is empty"),
        ('{"seq": 0', ":1: not a complete JSON line"),
        ('{"seq": 0}\n{"final_hash": 1}', ":1: command: required, but not given"),
        (
            '{"seq": 0, "command": {"op": "warp"}, "outcome": {"ok": {"result": "ok"}}}\n{"final_hash": 1}',
            ":1: op: warp ",
        ),
        ('{"final_hash": "x"}', ":1: final_hash: input should be a valid integer"),
    ],
)
def test_transcript_that_cannot_be_read_is_exit_code_2(tmp_path, iclayout, content, message):
    path = tmp_path / "a.transcript.jsonl"
    path.write_text(content, encoding="utf-8")
    code, out, err = iclayout("replay", path)
    assert (code, out) == (2, "")
    assert err.startswith(f"iclayout: {tmp_path}/a.transcript.jsonl{message}")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{here}/lost.jsonl"], "lost.jsonl: cannot be read: No such file or directory"),
        (["{here}"], ": no transcript (*.jsonl) below this folder"),
        (["{here}/x.jsonl", "--tasks", "{here}/lost"], "lost: no folder"),
    ],
)
def test_path_that_holds_nothing_is_exit_code_2(tmp_path, iclayout, arguments, message):
    code, out, err = iclayout("replay", *(one.format(here=tmp_path) for one in arguments))
    assert (code, out) == (2, "")
    assert message in err


def test_result_record_that_is_none_is_exit_code_2(field_run, tasks, iclayout):
    (field_run / "a.result.json").write_text('[{"task_id": "a"}]', encoding="utf-8")
    code, _, err = iclayout("replay", field_run, "--tasks", tasks.folder / "suite")
    assert code == 2
    assert "a.result.json: no result record: success: required, but not given" in err


def test_version(iclayout):
    assert iclayout("--version") == (0, f"pytest-iclayout {__version__}\n", "")


@pytest.mark.parametrize("arguments", [["frobnicate"], [], ["results", "--outcome", "great"], ["replay"]])
def test_unknown_verb_or_option_is_exit_code_2_with_the_usage(iclayout, arguments):
    code, out, err = iclayout(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("usage: iclayout")


@pytest.mark.parametrize("verb", ["results", "replay"])
def test_help_of_a_verb_has_an_example(iclayout, verb):
    code, out, _ = iclayout(verb, "--help")
    assert code == 0
    assert f"Example: iclayout {verb} " in " ".join(out.split())


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["results"], ["results", "--json"], ["replay", "--tasks", "../../suite"]])
def test_reader_that_has_seen_enough_gets_no_traceback(results, monkeypatch, arguments, unbuffered):
    """As in ``iclayout results | head -1``: the other end of the pipe is closed before anything is written.

    Buffered output meets the closed pipe at the program's end only.
    """
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    verb, *options = arguments
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen(
        [*PROGRAM, verb, ".", *options], cwd=results, stdout=writer, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(writer)
        _, err = process.communicate(timeout=60)
    assert err == ""
