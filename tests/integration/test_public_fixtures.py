"""The fixtures that a test of one's own can ask for."""

from __future__ import annotations

import pytest


def test_task_checker_and_session_work_on_the_marked_task(tasks, pytester, run):
    tasks.write("suite/tasks/mine.toml")
    tasks.write_text(
        "suite/test_mine.py",
        """
import pytest

@pytest.mark.layout_task("tasks/mine.toml")
def test_drawing(task, checker, layout_session):
    assert task.id == "mine"
    assert task.suite.name == "tasks"
    assert layout_session.technology is task.technology
    assert not checker.judge(layout_session.export()).ok
    layout_session.execute({"op": "create_cell", "name": "top"})
    layout_session.execute({
        "op": "add_rect", "cell": "top", "layer": {"layer": 68, "datatype": 20},
        "rect": {"min": {"x": 0, "y": 0}, "max": {"x": 200, "y": 200}},
    })
    assert checker.judge(layout_session.export()).ok
""",
    )
    run("suite/test_mine.py").assert_outcomes(passed=1)


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.95])
def test_cut_off_layout_is_rejected_by_the_checker_fixture(tasks, pytester, run, keep):
    tasks.write("mine.toml")
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.layout_task("mine.toml")
        def test_drawing(checker):
            whole = checker.build(checker.witness())
            assert checker.judge(whole).ok
            verdict = checker.judge(whole[: int(len(whole) * {keep})])
            assert not verdict.ok
            assert "not a readable layout" in verdict.summary()
            assert not checker.judge(b"").ok
        """
    )
    run("-k", "test_drawing").assert_outcomes(passed=1)


def test_session_without_a_task_is_fresh_and_in_sky130(pytester, run):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("turn", [1, 2])
        def test_drawing(layout_session, turn):
            assert layout_session.technology.name == "sky130"
            assert layout_session.revision == 0
            assert layout_session.execute({"op": "create_cell", "name": "top"}).ok
        """
    )
    run().assert_outcomes(passed=2)


AGENT_TEST = """
import pytest

@pytest.mark.layout_task("mine.toml")
def test_agent(agent_session):
    result = agent_session.run()
    assert result.path.is_file()
    assert result.record.agent == agent_session.agent.name
    result.require_passed()
"""


@pytest.fixture
def own(tasks, pytester, agents):
    tasks.write("mine.toml")
    pytester.makepyfile(test_own=AGENT_TEST)


@pytest.mark.usefixtures("own")
def test_agent_session_runs_once_for_each_agent(run, collected, records):
    options = ("--agent=oracle", "--agent=nop", "--agent=good", "test_own.py")
    assert collected(*options) == [f"test_own.py::test_agent[{agent}]" for agent in ("oracle", "nop", "good")]
    result = run(*options)
    result.assert_outcomes(passed=2, failed=1)
    assert {one["agent"]: one["outcome"] for one in records().values()} == {
        "oracle": "passed",
        "nop": "failed",
        "good": "passed",
    }


@pytest.mark.usefixtures("own")
def test_agent_session_without_an_agent_is_skipped(run):
    result = run("test_own.py", "-v", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        [
            "test_own.py::test_agent?no agent? SKIPPED (needs an agent: --agent=NAME)*",
            "SKIPPED * needs an agent: --agent=NAME",
        ]
    )


@pytest.mark.usefixtures("own")
def test_error_of_an_agent_is_no_failure_of_a_test_of_ones_own(run, shown):
    result = run("--agent=crashes", "test_own.py")
    result.assert_outcomes(errors=1)
    assert result.ret == 10
    assert "ConnectionError: the endpoint went away" in shown(result)


@pytest.mark.usefixtures("own")
def test_agent_that_cannot_be_run_is_not_run_in_a_test_of_ones_own(run, shown):
    result = run("--agent=unavailable", "test_own.py", "-rs")
    result.assert_outcomes(skipped=1)
    assert "SKIPPED [1] test_own.py:3: not run: not authenticated" in shown(result)


@pytest.mark.usefixtures("own")
def test_trials_of_tests_of_ones_own_are_in_the_summary(run, shown):
    text = shown(run("--agent=good", "test_own.py"))
    assert any(line.split() == ["good", "1", "1", "0", "0", "0", "100%", "1.00"] for line in text.splitlines())


@pytest.mark.parametrize("fixture", ["task", "checker", "agent_session"])
def test_missing_marker_says_which_one_is_needed(pytester, run, shown, fixture):
    pytester.makepyfile(f"def test_own({fixture}): pass")
    result = run("--agent=nop")
    result.assert_outcomes(errors=1)
    assert "the task fixture needs @pytest.mark.layout_task('path/to/task.toml')" in shown(result)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("lost.toml", "lost.toml: cannot be read: No such file or directory"),
        ("bad.toml", "bad.toml: tier: input should be greater than or equal to 1 (given 0)"),
    ],
)
def test_task_that_cannot_be_read_names_the_file(tasks, pytester, run, shown, path, message):
    tasks.write("bad.toml", tier=0)
    pytester.makepyfile(f"import pytest\n@pytest.mark.layout_task('{path}')\ndef test_own(task): pass")
    result = run("test_task_that_cannot_be_read_names_the_file.py")
    result.assert_outcomes(errors=1)
    assert message in shown(result)
