"""A layout to begin with: the session holds it, the checker compares with it, mistakes in it are the file's."""

from __future__ import annotations

import json

import pytest

CHECKER = """
from hypothesis import strategies as st
from pytest_iclayout.checking.checker import Params
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.technology.layers import Layer

MET1 = Layer(layer=68, datatype=20)

class Grown:
    name = "grown"
    params_model = Params
    needs_start = needs_solution = True
    def check(self, view, params):
        gone = view.start.region(MET1) - view.region(MET1)
        if gone.is_empty() and view.region(MET1).area() > view.start.region(MET1).area():
            return Verdict()
        return Verdict.of(Finding(rule=self.name, message="not grown"))
    def witness(self, params, bench):
        return bench.solution
    def negatives(self, params, bench):
        return {"untouched": st.just(()), "deleted": st.just((cmd.DeleteShapes(ids=(1,)),))}
    def variants(self, params):
        return frozenset({"split"})

def pytest_iclayout_checkers():
    return [Grown()]
"""

TASK = """
id = "grow"
tier = 1
prompt = "Let met1 (68/20) cover more than it does, and all that it does. 1 dbu is 1 nm."
technology = "sky130"
checker = "grown"
"""

START = """
[[start]]
op = "create_cell"
name = "top"
[[start]]
op = "add_rect"
cell = "top"
layer = { layer = 68, datatype = 20 }
rect = { min = { x = 0, y = 0 }, max = { x = 100, y = 100 } }
"""

SOLUTION = """
[[solution]]
op = "offset_shapes"
ids = [1]
delta = 5
"""


@pytest.fixture
def grow(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CHECKER)
    return pytester


def test_witness_and_negatives_go_on_from_the_given_layout(grow: pytest.Pytester) -> None:
    grow.makefile(".toml", grow=TASK + START + SOLUTION)
    result = grow.runpytest("grow.toml", "--agent=oracle", "--agent=nop")
    result.assert_outcomes(passed=3, failed=1)
    (record,) = grow.path.rglob("oracle.json")
    found = json.loads(record.read_text(encoding="utf-8"))
    assert found["commands"] == 1, "the given layout's commands are not the agent's"


def test_a_transcript_holds_the_given_layout_and_replays(grow: pytest.Pytester) -> None:
    grow.makefile(".toml", grow=TASK + START + SOLUTION)
    grow.runpytest("grow.toml", "--agent=oracle", "--iclayout-results=first")
    (transcript,) = (grow.path / "first").rglob("*.transcript.jsonl")
    operations = [json.loads(line).get("command", {}).get("op") for line in transcript.read_text().splitlines()]
    assert operations[:3] == ["create_cell", "add_rect", "offset_shapes"]
    again = grow.runpytest("grow.toml", "--agent=replay:first")
    again.assert_outcomes(passed=3)


def test_a_transcript_from_another_given_layout_is_no_trial(grow: pytest.Pytester) -> None:
    grow.makefile(".toml", grow=TASK + START + SOLUTION)
    grow.runpytest("grow.toml", "--agent=oracle", "--iclayout-results=first")
    grow.makefile(".toml", grow=TASK + START.replace("x = 100", "x = 101") + SOLUTION)
    result = grow.runpytest("grow.toml", "--agent=replay:first")
    result.stdout.fnmatch_lines(["*does not begin with the layout that task grow gives*"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TASK + SOLUTION, "*grow.toml: start: checker grown needs it, and it is not given*"),
        (TASK + START, "*grow.toml: solution: checker grown needs it, and it is not given*"),
        (TASK.replace("grown", "rect_present") + START, "*start: checker rect_present does not take one*"),
        (
            TASK + START.replace('"top"', '"cap"', 1) + SOLUTION,
            "*grow.toml: start: command 1, *add_rect*no such cell 'top'*",
        ),
        (TASK + START + SOLUTION.replace("[1]", "[7]"), "*grow.toml: solution: command 0, *7*"),
        (TASK + 'start = "draw it"\n' + SOLUTION, "*grow.toml: start: *line 1: not JSON*"),
        (TASK + START.replace("add_rect", "add_oval") + SOLUTION, "*grow.toml: start: *command 1: *add_oval*"),
        (TASK + "start = 7\n" + SOLUTION, "*grow.toml: start: *must be commands*"),
        ('cell = "other"\n' + TASK + START + SOLUTION, "*grow.toml: start: *no cell named 'other'*"),
    ],
)
def test_a_mistake_in_the_given_layout_is_one_error_of_the_file(grow: pytest.Pytester, text: str, message: str) -> None:
    grow.makefile(".toml", grow=text)
    result = grow.runpytest("grow.toml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_the_agent_is_told_what_it_is_given(grow: pytest.Pytester) -> None:
    grow.makefile(".toml", grow=TASK + START + SOLUTION)
    grow.makepyfile("""
        import pytest
        from pytest_iclayout.suite.context import context_of

        @pytest.mark.layout_task("grow.toml")
        def test_it(task, layout_session):
            context = context_of(task, 1)
            assert '"op": "add_rect"' in context.as_text()
            assert "offset" not in context.as_text()
            assert [one["op"] for one in context.start] == ["create_cell", "add_rect"]
            answer = layout_session.execute({"op": "query_shapes", "cell": "top"})
            assert len(answer.value["shapes"]) == 1
    """)
    grow.runpytest("test_the_agent_is_told_what_it_is_given.py").assert_outcomes(passed=1)
