"""How trials can end, what people see of it, and the run's exit code."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

INFRASTRUCTURE = 10
pytestmark = pytest.mark.usefixtures("agents")


@pytest.fixture
def solve(tasks, run):
    """One task, solved by the given agents."""

    def solves(*agents, options=()):
        tasks.write("a.toml")
        return run("-m", "solve", *(f"--agent={agent}" for agent in agents), *options)

    return solves


@pytest.mark.parametrize(
    ("names", "outcomes", "exit_code"),
    [
        (["good"], {"passed": 1}, 0),
        (["nop"], {"failed": 1}, 1),
        (["crashes"], {"errors": 1}, INFRASTRUCTURE),
        (["unavailable"], {"skipped": 1}, INFRASTRUCTURE),
        (["good", "crashes"], {"passed": 1, "errors": 1}, INFRASTRUCTURE),
        (["good", "unavailable"], {"passed": 1, "skipped": 1}, INFRASTRUCTURE),
        (["crashes", "unavailable"], {"errors": 1, "skipped": 1}, INFRASTRUCTURE),
        (["crashes", "nop"], {"errors": 1, "failed": 1}, 1),
        (["unavailable", "nop"], {"skipped": 1, "failed": 1}, 1),
    ],
)
def test_exit_code_tells_infrastructure_from_failure(solve, names, outcomes, exit_code):
    result = solve(*names)
    result.assert_outcomes(**outcomes)
    assert result.ret == exit_code


@pytest.mark.usefixtures("xdist")
def test_exit_code_is_the_same_with_workers(solve):
    result = solve("good", "crashes", "unavailable", options=["-n1"])
    result.assert_outcomes(passed=1, errors=1, skipped=1)
    assert result.ret == INFRASTRUCTURE


def test_a_failing_test_beside_an_error_is_a_failure(solve, pytester):
    pytester.makepyfile("def test_own():\n    assert False")
    tests = solve("crashes", options=["-m", "solve or not gate"])
    tests.assert_outcomes(errors=1, failed=1)
    assert tests.ret == pytest.ExitCode.TESTS_FAILED


def test_broken_task_file_beside_an_error_is_a_failure(solve, tasks):
    """A file that cannot be read is the user's trouble, not the infrastructure's."""
    tasks.write("bad.toml", tier=0)
    assert solve("crashes").ret == pytest.ExitCode.TESTS_FAILED


def test_other_exit_codes_of_pytest_stay(solve, tasks, run):
    assert solve("crashes", options=["-k", "nothing"]).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_first_error_ends_the_run_with_x(solve):
    result = solve("crashes", "good", options=["-x"])
    result.assert_outcomes(errors=1)
    assert result.ret == INFRASTRUCTURE


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("crashes", "ConnectionError: the endpoint went away"),
        ("exits", "SystemExit: no key"),
        ("skips", "Skipped: no key"),
        ("surrogate", r"ValueError: bad byte \udcff in the answer"),
        ("wrong_type", "TypeError: agent wrong_type must return a Proposal (returned str)"),
    ],
)
def test_exception_of_an_agent_is_an_error_with_its_text_and_never_a_failure(solve, shown, records, agent, reason):
    result = solve(agent, options=["-v"])
    text = shown(result)
    assert f"a.toml::solve[{agent}] ERROR" in text
    assert "FAILED" not in text
    assert reason in text
    (record,) = records().values()
    assert (record["outcome"], record["success"], record["reason"]) == ("error", False, reason)
    assert record["verdict"] is None


def test_agent_that_cannot_be_run_is_not_run_and_says_why(solve, shown, records):
    assert "SKIPPED [1] a.toml:1: not run: not authenticated" in shown(solve("unavailable", options=["-rs"]))
    (record,) = records().values()
    assert (record["outcome"], record["success"], record["iterations"]) == ("not_run", False, 0)
    assert record["artifact"] is None
    assert record["transcript"] is None


def test_mock_without_a_script_is_not_run(solve, records):
    solve("mock").assert_outcomes(skipped=1)
    (record,) = records().values()
    assert record["reason"] == "mock has no script for a; it plays the bundled suite's tasks"


def test_iterations_end_at_the_limit(solve, records):
    solve("stubborn", options=["--max-iterations=3"]).assert_outcomes(failed=1)
    (record,) = records().values()
    assert (record["iterations"], record["max_iterations"], record["commands"]) == (3, 3, 3)


@pytest.mark.parametrize("agent", ["good", "oracle"])
def test_follow_ups_are_given_to_an_agent_that_was_right_at_once(tasks, run, records, agent):
    tasks.write("a.toml", refinement=["Wider.", "Wider still."])
    run(f"--agent={agent}", "-m", "solve", "--max-iterations=1").assert_outcomes(passed=1)
    (record,) = records().values()
    assert (record["iterations"], record["max_iterations"], record["follow_ups_given"]) == (3, 3, 2)


def test_agent_that_gives_up_on_a_right_layout_before_the_follow_up_has_failed(tasks, run, records, shown):
    """Its transcript draws a right layout all the same: played to the end, with the follow-up heard, it passes."""
    tasks.write("a.toml", refinement="Wider.")
    result = run("--agent=hasty", "-m", "solve")
    result.assert_outcomes(failed=1)
    assert "hasty at a: failed after 1 iteration(s): the agent gave up when 0 of 1 follow-up(s) were given" in shown(
        result
    )
    (record,) = records().values()
    assert (record["success"], record["verdict"]) == (False, {"findings": [], "more": 0})
    run("--agent=replay:.iclayout/results", "-m", "solve").assert_outcomes(passed=1)


def test_replay_of_a_right_layout_that_was_given_up_is_no_difference(tasks, run, pytester):
    tasks.write("a.toml", refinement="Wider.")
    run("--agent=hasty", "-m", "solve")
    replayed = pytester.run(Path(sys.executable).parent / "iclayout", "replay", ".iclayout/results", "--tasks", ".")
    assert replayed.ret == 0
    assert "1 transcripts replayed, 1 judged, 0 of 0 as recorded" in replayed.stdout.str()


def test_failure_shows_findings_picture_and_record(tasks, run, shown, pytester):
    tasks.write("a.toml", checker="shape_count:layer=68/20,exact=3")
    text = shown(run("--agent=good", "-m", "solve"))
    assert "good at a: failed after 4 iteration(s): shape_count: met1 (68/20): 1 shape(s), exactly 3 required" in text
    shown_files = [line.split(": ", 1)[1] for line in text.splitlines() if line.startswith(("picture: ", "record: "))]
    assert len(shown_files) == 2
    for path in shown_files:
        assert pytester.path.joinpath(path).stat().st_size > 0


@pytest.mark.parametrize(
    ("damage", "where"),
    [
        pytest.param(lambda lines: [lines[0], lines[1].replace("add_rect", "add_rhombus"), lines[2]], 2, id="op"),
        pytest.param(lambda lines: ["", lines[0].replace('"top"', '"to p"'), *lines[1:]], 2, id="argument"),
        pytest.param(lambda lines: [*lines[:2], lines[2][:20]], 3, id="cut off last line"),
        pytest.param(lambda lines: lines[:2], 2, id="no last line"),
        pytest.param(lambda lines: lines[1:], 1, id="no first line"),
    ],
)
def test_transcript_that_cannot_be_played_is_an_error_at_its_line(solve, tasks, pytester, records, damage, where):
    solve("good")
    (recorded,) = (pytester.path / ".iclayout/results").rglob("*.transcript.jsonl")
    lines = damage(recorded.read_text(encoding="utf-8").splitlines())
    tasks.write_text("runs/a.transcript.jsonl", "\n".join(lines))
    result = solve("replay:runs")
    result.assert_outcomes(errors=1)
    assert result.ret == INFRASTRUCTURE
    record = next(one for one in records().values() if one["agent"] == "replay:runs")
    assert f"runs/a.transcript.jsonl:{where}: " in record["reason"]


def test_transcript_that_plays_is_judged(solve, tasks, pytester, records):
    solve("good", "nop")
    for name in ("good", "nop"):
        (recorded,) = (pytester.path / ".iclayout/results").rglob(f"{name}-*.transcript.jsonl")
        tasks.write_text(f"{name}/a.transcript.jsonl", recorded.read_text(encoding="utf-8"))
    solve("replay:good", "replay:nop").assert_outcomes(passed=1, failed=1)
    hashes = {one["agent"]: one["document_hash"] for one in records().values()}
    assert hashes["replay:good"] == hashes["good"] != hashes["nop"]


def test_task_without_a_transcript_is_not_run(solve, tasks, shown):
    tasks.write_text("runs/other.transcript.jsonl", "{}")
    result = solve("replay:runs", options=["-rs"])
    result.assert_outcomes(skipped=1)
    assert "not run: no transcript of a below runs" in shown(result)
    assert result.ret == INFRASTRUCTURE


def test_task_with_two_transcripts_is_not_run_rather_than_one_of_them_judged(solve, tasks, shown):
    tasks.write_text("runs/x/a.transcript.jsonl", "{}")
    tasks.write_text("runs/y/a.transcript.jsonl", "{}")
    assert "2 transcripts of a: " in shown(solve("replay:runs", options=["-rs"]))


def test_summary_counts_by_agent_tier_and_outcome(tasks, run, shown):
    tasks.write("a.toml", tier=1)
    tasks.write("b.toml", tier=2)
    text = shown(run("--agent=good", "--agent=nop", "--agent=crashes", "--agent=unavailable"))
    section = text.split(" iclayout ===")[1]
    rows = {tuple(line.split()[:2]): line.split()[2:] for line in section.splitlines() if len(line.split()) == 8}
    for tier in ("1", "2"):
        assert rows["good", tier] == ["1", "0", "0", "0", "100%", "1.00"]
        assert rows["nop", tier] == ["0", "1", "0", "0", "0%", "-"]
        assert rows["crashes", tier] == ["0", "0", "1", "0", "-", "-"]
        assert rows["unavailable", tier] == ["0", "0", "0", "1", "-", "-"]
    assert "gate: 4 passed; " in section


def test_summary_says_why_trials_were_not_judged(tasks, run, shown):
    """Each reason once, the commonest first; a failure's reason is in its report."""
    tasks.write("a.toml")
    tasks.write("b.toml")
    options = ("--agent=nop", "--agent=crashes", "--agent=unavailable", "--agent=mock", "-m", "solve")
    lines = shown(run(*options)).split(" iclayout ===")[1].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("unavailable "))
    assert lines[start + 1 : start + 6] == [
        "error 2: crashes: ConnectionError: the endpoint went away",
        "not_run 2: unavailable: not authenticated",
        "not_run 1: mock: mock has no script for a; it plays the bundled suite's tasks",
        "not_run 1: mock: mock has no script for b; it plays the bundled suite's tasks",
        "more: iclayout results .iclayout/results",
    ]


EXPLAINED = "exit code 10: nothing failed, but not every trial could be judged"


@pytest.mark.parametrize(
    ("names", "explained"),
    [(["crashes"], 1), (["good", "unavailable"], 1), (["crashes", "nop"], 0), (["nop"], 0), (["good"], 0)],
)
def test_exit_code_of_pytest_iclayout_is_explained_where_it_is_given(solve, shown, names, explained):
    assert shown(solve(*names)).splitlines().count(EXPLAINED) == explained


def test_run_without_tasks_has_no_section(pytester, run, shown):
    pytester.makepyfile("def test_own(): pass")
    assert "iclayout =" not in shown(run())


NOTHING_RAN = "no task was run: none was collected, or all were deselected"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--agent=good", "-k", "tier7"], 1),
        (["--agent=good", "elsewhere"], 1),
        (["--agent=good", "-k", "tier1"], 0),
        (["--agent=good", "-k", "tier7", "--collect-only"], 0),
        (["-k", "tier7"], 0),
    ],
)
def test_agent_that_got_no_task_is_told_so(tasks, run, shown, pytester, options, said):
    """-k with a wrong word, or a folder without tasks: a run that measured nothing must not look like one that did."""
    tasks.write("tasks/a.toml")
    pytester.mkdir("elsewhere").joinpath("test_own.py").write_text("def test_own(): pass", encoding="utf-8")
    text = shown(run(*options))
    assert text.splitlines().count(NOTHING_RAN) == said
    assert text.count("pytest --pyargs iclayout_tasks --agent=mock") == said


def test_reason_is_in_the_line_of_the_short_summary_and_the_task_in_the_heading(solve, shown):
    """pytest shows a failure's first line there, and nothing else."""
    text = shown(solve("nop", "crashes"))
    reason = "artifact: the layout has no cell named 'top'; it has no cell at all"
    assert f"FAILED a.toml::solve[nop] - nop at a: failed after 1 iteration(s): {reason}\n" in text
    crash = "crashes at a: error: ConnectionError: the endpoint went away"
    assert f"ERROR a.toml::solve[crashes] - {crash}\n" in text
    assert re.search(r"^_+ a: solve\[nop\] _+$", text, re.MULTILINE)
    assert re.search(r"^_+ ERROR at call of a: solve\[crashes\] _+$", text, re.MULTILINE)


def test_gate_failure_names_the_task_in_its_heading(tasks, run, shown):
    tasks.write("a.toml", more='[[two_way.bad]]\nlayer = "68/20"\nrect = [0, 0, 500, 400]')
    assert re.search(r"^_+ a: rejects _+$", shown(run()), re.MULTILINE)


def test_crash_of_an_agent_shows_its_own_frames_and_none_of_the_plugins(solve, shown, records):
    text = shown(solve("crashes"))  # which also refuses frames of ours
    frames = re.findall(r'^  File "(.+)", line \d+, in (\w+)$', text, re.MULTILINE)
    assert [name for _, name in frames] == ["propose", "crashes"]
    assert {Path(file).name for file, _ in frames} == {"conftest.py"}
    assert 'raise ConnectionError("the endpoint went away")' in text
    (record,) = records().values()
    assert record["traceback"].startswith("Traceback (most recent call last):\n")
    assert record["traceback"].endswith("ConnectionError: the endpoint went away\n")
    assert record["traceback"] in text


def test_endless_traceback_keeps_its_end(solve, records, pytester, tasks):
    """Where the crash is; a record of megabytes helps nobody."""
    pytester.makeconftest(
        """
        class Long:
            name = backend = "long"
            def start(self, context):
                raise ValueError("x" * 20000 + "the end")
        def pytest_iclayout_agents(config):
            return {"long": lambda argument: Long()}
        """
    )
    solve("long")
    (record,) = records().values()
    assert record["traceback"].startswith("...\nxxx")
    assert record["traceback"].endswith("xxxthe end\n")
    assert len(record["traceback"]) == len("...\n") + 8000


def test_crash_of_a_checker_shows_where(solve, shown, pytester, tasks, run):
    pytester.makeconftest(
        """
        from iclayout_checkers.rect_present import RectPresent
        from pytest_iclayout.checking.verdict import Verdict
        class Fragile(RectPresent):
            name = "fragile"
            def check(self, view, params):
                if view.region(params.layer).area() == 7 * 11:
                    raise ZeroDivisionError("an area that it cannot bear")
                return super().check(view, params)
        class Seven:
            name = backend = "seven"
            def start(self, context):
                return self
            def propose(self, turn, layout):
                from pytest_iclayout.agents.protocol import Proposal
                layout.execute({"op": "create_cell", "name": "top"})
                rect = {"min": {"x": 0, "y": 0}, "max": {"x": 7, "y": 11}}
                layout.execute({"op": "add_rect", "cell": "top", "layer": {"layer": 68, "datatype": 20}, "rect": rect})
                return Proposal()
        def pytest_iclayout_checkers(config):
            return [Fragile()]
        def pytest_iclayout_agents(config):
            return {"seven": lambda argument: Seven()}
        """
    )
    tasks.write("a.toml", checker="fragile:layer=68/20")
    result = run("-m", "solve", "--agent=seven")
    result.assert_outcomes(errors=1)
    assert result.ret == INFRASTRUCTURE
    text = result.stdout.str()
    assert re.search(r'^  File ".+/conftest\.py", line \d+, in check$', text, re.MULTILINE)
    assert "ZeroDivisionError: an area that it cannot bear" in text
    assert "runner.py" not in text


def test_failed_commands_are_counted_and_the_last_ones_message_shown(solve, shown, records):
    """A model that never gets a command right must not look like one that draws the wrong thing."""
    text = shown(solve("clumsy"))
    (record,) = records().values()
    assert (record["commands"], record["failed_commands"]) == (3, 2)
    assert record["last_command_error"].startswith("delete_cell: ")
    assert "'second'" in record["last_command_error"]
    assert f"2 of 3 commands failed; the last: {record['last_command_error']}" in text.splitlines()
    assert "commands failed" not in shown(solve("stubborn"))
