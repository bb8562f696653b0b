"""Agents that do what no agent should: each trial ends, is recorded, and is no other outcome than it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

CONFTEST = """
from pytest_iclayout.agents.protocol import AgentUnavailable, Proposal

class Unsayable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

class Unreachable(AgentUnavailable):
    def __str__(self):
        raise RuntimeError("no text")

class Hostile:
    backend = "hostile"

    def __init__(self, name):
        self.name = name
        self.quantization = b"q4" if name == "model_that_is_no_text" else "\\udcff"

    @property
    def model(self):
        return 1 / 0 if self.name == "model_that_cannot_be_had" else 5

    def start(self, context):
        return self

    def propose(self, turn, layout):
        return globals()[self.name](layout)

def note_of_a_lone_surrogate(layout):
    return Proposal(gives_up=True, note="\\ud800x")

def note_that_is_no_text(layout):
    return Proposal.model_construct(gives_up=True, note=7)

def generator_exit(layout):
    raise GeneratorExit

def unsayable(layout):
    raise Unsayable

def unreachable(layout):
    raise Unreachable

def model_that_is_no_text(layout):
    return Proposal(gives_up=True)

def model_that_cannot_be_had(layout):
    return Proposal(gives_up=True)

def endless_arrays(layout):
    def run(op, **arguments):
        assert layout.execute({"op": op, **arguments}).ok
    for name in ("top", "b", "c"):
        run("create_cell", name=name)
    many = dict(columns=32767, rows=32767, column_pitch=30, row_pitch=30)
    run("place_array", cell="top", child="b", **many)
    run("place_array", cell="b", child="c", **many)
    run("add_rect", cell="c", layer={"layer": 68, "datatype": 20},
        rect={"min": {"x": 0, "y": 0}, "max": {"x": 9, "y": 9}})
    return Proposal(gives_up=True)

def pytest_iclayout_agents(config):
    return {name: lambda _, name=name: Hostile(name) for name in (
        "note_of_a_lone_surrogate", "note_that_is_no_text", "generator_exit", "unsayable", "unreachable",
        "model_that_is_no_text", "model_that_cannot_be_had", "endless_arrays")} | {
        "no_utf8": lambda _: Hostile("\\udcff")}
"""


@pytest.fixture
def trial(pytester: pytest.Pytester) -> Any:
    """Runs one hostile agent and gives pytest's exit code and the record."""
    pytester.makeconftest(CONFTEST)
    task = 'id = "a"\ntier = 1\nprompt = "Draw."\ntechnology = "sky130"\nchecker = "rect_present"\n'
    (pytester.path / "a.toml").write_text(task)

    def run(name: str, *arguments: str) -> tuple[int, dict[str, Any]]:
        result = pytester.runpytest_subprocess("a.toml", f"--agent={name}", "-m", "solve", *arguments, timeout=60)
        (path,) = Path(pytester.path).rglob(f"{name}.json")
        return int(result.ret), json.loads(path.read_text(encoding="utf-8"))

    return run


@pytest.mark.parametrize(
    ("name", "code", "outcome"),
    [
        ("note_of_a_lone_surrogate", 1, "failed"),
        ("note_that_is_no_text", 1, "failed"),
        ("generator_exit", 10, "error"),
        ("unsayable", 10, "error"),
        ("unreachable", 10, "not_run"),
    ],
)
def test_whatever_an_agent_raises_or_says_is_recorded(trial, name: str, code: int, outcome: str) -> None:
    ret, record = trial(name)
    assert (ret, record["outcome"]) == (code, outcome)


@pytest.mark.parametrize(
    ("name", "model", "quantization"),
    [
        ("model_that_is_no_text", "5", "b'q4'"),
        ("model_that_cannot_be_had", "(model cannot be had: ZeroDivisionError)", "\\udcff"),
    ],
)
def test_a_finished_trial_is_not_lost_for_what_an_agent_calls_its_model(
    trial, name: str, model: str, quantization: str
) -> None:
    ret, record = trial(name)
    assert (ret, record["outcome"]) == (1, "failed")
    assert (record["model"], record["quantization"]) == (model, quantization)


def test_a_name_that_no_file_can_hold_is_refused(trial, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("a.toml", "--agent=no_utf8", timeout=60)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --agent: Hostile needs a name and a backend, both text (name is '?udcff')"])


def test_layout_that_no_picture_can_show_is_a_recorded_failure_and_ends(trial) -> None:
    ret, record = trial("endless_arrays")
    assert (ret, record["outcome"], record["picture"]) == (1, "failed", None)
    assert "shapes once flat" in record["reason"]


def test_exit_code_of_infrastructure_trouble_without_a_terminal(trial) -> None:
    assert trial("unreachable", "-p", "no:terminal")[0] == 10
    assert trial("unsayable", "-p", "no:terminal")[0] == 10


def test_rerun_of_a_trial_is_refused_and_its_first_record_stands(pytester: pytest.Pytester, monkeypatch) -> None:
    """A plugin that runs failed tests again would turn a failed trial into a passed one without a trace."""
    task = 'id = "a"\ntier = 1\nprompt = "Draw."\ntechnology = "sky130"\nchecker = "rect_present"\n'
    (pytester.path / "a.toml").write_text(task)
    pytester.makeconftest(
        "import pytest\n"
        "@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_runtest_call(item):\n"
        "    if hasattr(item, 'agent') and item.agent is not None:\n"
        "        item.execution_count = 2\n"
    )
    result = pytester.runpytest_subprocess("a.toml", "--agent=oracle", "-m", "solve")
    assert result.ret == 10
    assert not list(Path(pytester.path).rglob("oracle.json"))
