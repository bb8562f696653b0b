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
    trials, summary = (part.splitlines() for part in out.split("\n\n"))
    lines = [line.split(maxsplit=5) for line in trials]
    assert lines[0] == ["agent", "suite", "task", "outcome", "iterations", "reason"]
    assert [line[:5] for line in lines[1:]] == [
        ["crashes", "suite", "a", "error", "0"],
        ["crashes", "suite", "b", "error", "0"],
        ["nop", "suite", "a", "failed", "1"],
        ["nop", "suite", "b", "failed", "1"],
        ["oracle", "suite", "a", "passed", "1"],
        ["oracle", "suite", "b", "passed", "1"],
    ]
    assert lines[1][5] == "ConnectionError: the endpoint went away"
    assert [line.split() for line in summary] == [
        ["agent", "tier", "passed", "failed", "error", "not_run", "rate", "iterations"],
        ["crashes", "1", "0", "0", "1", "0", "-", "-"],
        ["crashes", "2", "0", "0", "1", "0", "-", "-"],
        ["nop", "1", "0", "1", "0", "0", "0%", "-"],
        ["nop", "2", "0", "1", "0", "0", "0%", "-"],
        ["oracle", "1", "1", "0", "0", "0", "100%", "1.00"],
        ["oracle", "2", "1", "0", "0", "0", "100%", "1.00"],
    ]


def test_table_of_results_is_that_of_the_terminal(tasks, run, agents, iclayout):
    tasks.write("suite/a.toml")
    options = ("-m", "solve", "--agent=oracle", "--agent=nop", "--agent=crashes")
    terminal = [line for line in run(*options).outlines if re.match(r"(agent +tier|(oracle|nop|crashes) +\d) ", line)]
    _, out, _ = iclayout("results", tasks.folder / ".iclayout/results")
    assert out.split("\n\n")[1].splitlines() == terminal
    assert len(terminal) == 4


def test_tasks_of_one_id_are_told_apart_by_their_suites(tasks, run, iclayout):
    tasks.write("one/a.toml")
    tasks.write("two/a.toml")
    run("-m", "solve", "--agent=nop")
    _, out, _ = iclayout("results", tasks.folder / ".iclayout/results")
    assert [line.split()[:3] for line in out.splitlines()[1:3]] == [["nop", "one", "a"], ["nop", "two", "a"]]


def test_trial_shown_whole_has_all_findings(tasks, run, agents, iclayout):
    """The table has room for one; who corrects an agent needs every one."""
    tasks.write(
        "suite/a.toml", checker="drc_clean:present=69/20+70/20", prompt="Draw on met2 (69/20) and met3 (70/20)."
    )
    run("-m", "solve", "--agent=good")
    _, out, _ = iclayout("results", tasks.folder / ".iclayout/results", "--task", "a")
    record = read_record(tasks.folder / ".iclayout/results/suite/a/good.json")
    findings = [str(one) for one in record.verdict.findings]
    assert len(findings) > 1
    assert out.splitlines()[2 : 2 + len(findings)] == [f"  {one}" for one in findings]


def test_crash_shown_whole_has_its_frames(results, iclayout):
    _, out, _ = iclayout("results", results, "--task", "a", "--outcome", "error")
    lines = out.splitlines()
    assert lines[2:4] == ["  ConnectionError: the endpoint went away", "  Traceback (most recent call last):"]
    assert re.search(r'^    File ".+/conftest\.py", line \d+, in crashes$', out, re.MULTILINE)
    assert "design-rule violations" not in out  # nothing was judged


def test_trial_shown_whole_has_its_failed_commands(tasks, run, agents, iclayout):
    tasks.write("suite/a.toml")
    run("-m", "solve", "--agent=clumsy", "--agent=good")
    _, out, _ = iclayout("results", tasks.folder / ".iclayout/results", "--task", "a")
    clumsy, good = out.split("== good at a")
    assert re.search(r"^2 of 3 commands failed; the last: delete_cell: .*'second'", clumsy, re.MULTILINE)
    assert "commands failed" not in good


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
    trials, summary = (part.splitlines() for part in out.split("\n\n"))
    assert [line.split()[0] for line in trials[1:]] == ["crashes", "crashes"]
    assert [line.split()[:2] for line in summary[1:]] == [["crashes", "1"], ["crashes", "2"]]


def test_output_that_cannot_be_written_is_one_line(results):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [Path(sys.executable).with_name("iclayout"), "results", str(results)],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "iclayout: the output cannot be written: No space left on device\n")


def test_interrupted_verb_ends_without_a_traceback(results, iclayout, monkeypatch):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_iclayout.cli.results._results", interrupted)
    assert iclayout("results", results) == (130, "", "iclayout: interrupted\n")


def test_results_that_there_are_none_of_are_exit_code_1(results, iclayout):
    assert iclayout("results", results, "--outcome", "not_run") == (1, f"no such trial record in {results}\n", "")
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
    assert [len(part.splitlines()) for part in out.split("\n\n")] == [7, 7]
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
    assert out.splitlines()[-2:] == [
        "1 transcripts replayed, 0 judged, 0 of 0 as recorded",
        "1 have no task in the bundled suite; --tasks DIR judges with the tasks of a folder",
    ]


def test_advice_to_give_tasks_is_not_given_to_who_gave_them(field_run, tasks, iclayout):
    tasks.write("other/b.toml")
    _, out, _ = iclayout("replay", field_run, "--tasks", tasks.folder / "other")
    assert "1 transcripts replayed, 0 judged, 0 of 0 as recorded" in out
    assert out.splitlines()[-1] == f"1 have no task in {tasks.folder / 'other'}"


def test_damaged_transcript_and_task_hide_no_other(results, field_run, tasks, iclayout):
    """One transcript of a thousand that was cut off must not cost the other verdicts."""
    tasks.write("suite/broken.toml", tier=0)
    whole = (field_run / "a.transcript.jsonl").read_bytes()
    tasks.write_text("runs/0/a.transcript.jsonl", whole[:30])
    tasks.write_text("runs/z/a.transcript.jsonl", b"")
    code, out, err = iclayout("replay", field_run, "--tasks", tasks.folder / "suite")
    assert code == 2
    assert out.splitlines() == [
        f"{field_run}/a.transcript.jsonl: 2 commands; accepted; recorded as a success",
        "1 transcripts replayed, 1 judged, 1 of 1 as recorded",
    ]
    problems = err.splitlines()
    assert len(problems) == 3
    assert problems[0].startswith(f"iclayout: {tasks.folder}/suite/broken.toml: tier: ")
    assert problems[1].startswith(f"iclayout: {field_run}/0/a.transcript.jsonl:1: not a complete JSON line")
    assert problems[2].startswith(f"iclayout: {field_run}/z/a.transcript.jsonl: the file is empty")


def test_bad_input_outranks_a_verdict_that_differs(results, tasks, iclayout):
    tasks.write("suite/a.toml", checker="rect_present:layer=69/20")
    tasks.write("suite/broken.toml", tier=0)
    code, out, _ = iclayout("replay", results, "--tasks", tasks.folder / "suite")
    assert code == 2
    assert "recorded as a success  <- differs" in out


def test_json_of_a_replay_has_what_could_be_replayed(field_run, tasks, iclayout):
    tasks.write_text("runs/0/a.transcript.jsonl", b"")
    code, out, err = iclayout("replay", field_run, "--tasks", tasks.folder / "suite", "--json")
    assert code == 2
    assert [one["accepted"] for one in json.loads(out)] == [True]
    assert "0/a.transcript.jsonl: the file is empty" in err


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
    assert (code, out) == (2, "0 transcripts replayed, 0 judged, 0 of 0 as recorded\n")
    assert err.startswith(f"iclayout: {tmp_path}/a.transcript.jsonl{message}")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "printed", "message"),
    [
        (
            ["{here}/lost.jsonl"],
            "0 transcripts replayed, 0 judged, 0 of 0 as recorded\n",
            "lost.jsonl: cannot be read: No such file or directory",
        ),
        (["{here}"], "", ": no transcript (*.jsonl) below this folder"),
        (["{here}/x.jsonl", "--tasks", "{here}/lost"], "", "lost: no folder"),
    ],
)
def test_path_that_holds_nothing_is_exit_code_2(tmp_path, iclayout, arguments, printed, message):
    code, out, err = iclayout("replay", *(one.format(here=tmp_path) for one in arguments))
    assert (code, out) == (2, printed)
    assert message in err
    assert len(err.splitlines()) == 1


def test_result_record_that_is_none_is_exit_code_2(field_run, tasks, iclayout):
    (field_run / "a.result.json").write_text('[{"task_id": "a"}]', encoding="utf-8")
    code, _, err = iclayout("replay", field_run, "--tasks", tasks.folder / "suite")
    assert code == 2
    assert "a.result.json: no result record: success: required, but not given" in err


def test_help_teaches_how_to_run_the_bundled_tasks(iclayout):
    assert "pytest --pyargs iclayout_tasks --agent=mock -k tier1" in " ".join(iclayout("--help")[1].split())


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
