"""Follow-ups: told one by one in the feedback, to the agent that has begun, and never passed by before the last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from iclayout_checkers import CHECKERS

from pytest_iclayout.agents.oracle import OracleAgent
from pytest_iclayout.agents.protocol import Feedback, LayoutTools, Proposal, Turn
from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.suite.context import TaskContext
from pytest_iclayout.suite.files import SuiteError
from pytest_iclayout.suite.manifest import suite_of_folder
from pytest_iclayout.suite.task import Task, load_task
from pytest_iclayout.trial.outcomes import OutcomeKind
from pytest_iclayout.trial.record import TrialRecord
from pytest_iclayout.trial.runner import TrialSettings, run_trial

TWO = '["Now cover twice as much.", "Now cover 300000 dbu² or more."]'

MakeTask = Callable[[str], Task]
Act = Callable[[int, LayoutTools], Proposal]


@pytest.fixture
def task_with(tmp_path: Path) -> MakeTask:
    """A task whose checker wants 300000 dbu² of met1; its line of ``refinement`` is given."""

    def makes(refinement: str) -> Task:
        path = tmp_path / "grow.toml"
        path.write_text(
            'id = "grow"\ntier = 4\nprompt = "Draw met1."\ntechnology = "sky130"\n'
            f'checker = "layer_area:layer=68/20,min_area=300000"\n{refinement}\n',
            encoding="utf-8",
        )
        return load_task(path, suite_of_folder(tmp_path), CheckerRegistry(CHECKERS))

    return makes


@dataclass
class Listener:
    """Does what ``act`` says in each iteration, and keeps what it was told."""

    act: Act
    turns: list[Turn] = field(default_factory=list)
    contexts: list[TaskContext] = field(default_factory=list)
    revisions: list[int] = field(default_factory=list)
    name: str = "listener"
    backend: str = "listener"

    def start(self, context: TaskContext) -> Listener:
        self.contexts.append(context)
        return self

    def propose(self, turn: Turn, layout: LayoutTools) -> Proposal:
        self.turns.append(turn)
        self.revisions.append(layout.execute({"op": "list_layers"}).revision)
        return self.act(turn.iteration, layout)

    @property
    def texts(self) -> list[str]:
        return ["" if turn.feedback is None else turn.feedback.as_text() for turn in self.turns]


def draw(layout: LayoutTools, area: int, left: int = 0) -> None:
    """1000 dbu high rectangles side by side, in the cell top."""
    rect = {"min": {"x": left, "y": 0}, "max": {"x": left + area // 1000, "y": 1000}}
    layout.execute({"op": "create_cell", "name": "top"})
    layout.execute({"op": "add_rect", "cell": "top", "layer": {"layer": 68, "datatype": 20}, "rect": rect})


def right_in(wanted: int, gives_up_in: int = 0) -> Act:
    """A layout that is too small at first, and right in one iteration and from then on."""

    def act(iteration: int, layout: LayoutTools) -> Proposal:
        if iteration == 1:
            draw(layout, 300_000 if wanted == 1 else 100_000)
        elif iteration == wanted:
            draw(layout, 200_000, left=100)
        return Proposal(gives_up=iteration == gives_up_in)

    return act


def run(task: Task, act: Act, most: int = 4) -> tuple[TrialRecord, Listener]:
    listener = Listener(act)
    return run_trial(task, listener, TrialSettings(max_iterations=most)).record, listener


def test_each_follow_up_is_told_once_and_in_its_turn(task_with):
    task = task_with(f"refinement = {TWO}")
    _, listener = run(task, right_in(0), most=5)
    told = [[text in heard for text in task.spec.refinement] for heard in listener.texts]
    assert told == [[False, False], [True, False], [False, True], [False, False], [False, False]]
    assert all(heard.count("The task goes on:") == any(row) for heard, row in zip(listener.texts, told, strict=True))


def test_one_text_is_one_follow_up(task_with):
    assert task_with('refinement = "Wider."').spec.refinement == ("Wider.",)


def test_follow_ups_are_not_shown_in_advance(task_with):
    task = task_with(f"refinement = {TWO}")
    _, listener = run(task, right_in(0))
    (context,) = listener.contexts
    for text in task.spec.refinement:
        assert text not in context.as_text()
        assert text not in context.model_dump_json()


def test_findings_do_not_tell_the_last_follow_up_before_its_turn(task_with):
    """The checker wants 300000 dbu² in every iteration; that is the last follow-up's to say."""
    _, listener = run(task_with(f"refinement = {TWO}"), right_in(0))
    assert ["at least 300000" in text for text in listener.texts] == [False, False, True, True]
    assert "300000" not in listener.texts[1]


def test_the_same_agent_goes_on_with_its_own_layout(task_with):
    """A session that was begun anew would be at revision 0 again, a new agent would be started."""
    record, listener = run(task_with(f"refinement = {TWO}"), right_in(3))
    assert len(listener.contexts) == 1
    assert listener.revisions == [0, 2, 2]
    assert (record.outcome, record.iterations, record.follow_ups_given) == (OutcomeKind.PASSED, 3, 2)


@pytest.mark.parametrize("wanted", [1, 2])
def test_a_layout_that_is_right_before_its_time_does_not_end_the_trial(task_with, wanted):
    record, listener = run(task_with(f"refinement = {TWO}"), right_in(wanted))
    assert [turn.feedback.follow_up for turn in listener.turns if turn.feedback] == [
        "Now cover twice as much.",
        "Now cover 300000 dbu² or more.",
    ]
    assert (record.outcome, record.iterations, record.follow_ups_given) == (OutcomeKind.PASSED, 3, 2)


def test_a_layout_that_is_spoilt_after_the_last_follow_up_fails(task_with):
    """It was right in iterations 1 and 2, which was not the time."""

    def spoils(iteration: int, layout: LayoutTools) -> Proposal:
        if iteration == 1:
            draw(layout, 300_000)
        if iteration == 3:
            layout.execute({"op": "delete_shapes", "ids": [1]})
        return Proposal(gives_up=iteration == 3)

    record, _ = run(task_with(f"refinement = {TWO}"), spoils)
    assert (record.outcome, record.iterations, record.follow_ups_given) == (OutcomeKind.FAILED, 3, 2)


@pytest.mark.parametrize(
    ("wanted", "gives_up_in", "outcome", "given"),
    [
        pytest.param(1, 1, OutcomeKind.FAILED, 0, id="right at once and told nothing"),
        pytest.param(1, 2, OutcomeKind.FAILED, 1, id="right at once and told one of two"),
        pytest.param(2, 2, OutcomeKind.FAILED, 1, id="right when told one of two"),
        pytest.param(1, 3, OutcomeKind.PASSED, 2, id="right and told all"),
        pytest.param(3, 3, OutcomeKind.PASSED, 2, id="right when told all"),
        pytest.param(0, 1, OutcomeKind.FAILED, 0, id="wrong and told nothing"),
        pytest.param(0, 3, OutcomeKind.FAILED, 2, id="wrong and told all"),
    ],
)
def test_who_gives_up_passes_with_a_right_layout_after_the_last_follow_up_alone(
    task_with, wanted, gives_up_in, outcome, given
):
    record, _ = run(task_with(f"refinement = {TWO}"), right_in(wanted, gives_up_in))
    assert (record.outcome, record.success) == (outcome, outcome is OutcomeKind.PASSED)
    assert (record.iterations, record.follow_ups_given) == (gives_up_in, given)
    assert bool(record.reason) == (outcome is OutcomeKind.FAILED)


def test_reason_names_the_follow_ups_where_the_layout_is_right(task_with):
    record, _ = run(task_with(f"refinement = {TWO}"), right_in(1, gives_up_in=2))
    assert record.verdict is not None
    assert record.verdict.ok
    assert record.reason == "the agent gave up when 1 of 2 follow-up(s) were given"


@pytest.mark.parametrize(("most", "iterations"), [(1, 3), (2, 3), (3, 3), (5, 5)])
def test_no_limit_of_iterations_leaves_a_follow_up_untold(task_with, most, iterations):
    record, listener = run(task_with(f"refinement = {TWO}"), right_in(0), most=most)
    assert record.iterations == record.max_iterations == listener.contexts[0].max_iterations == iterations
    assert record.follow_ups_given == 2


def test_a_task_without_follow_ups_is_as_it_was(task_with):
    record, listener = run(task_with(""), right_in(1), most=1)
    assert (record.outcome, record.iterations, record.max_iterations) == (OutcomeKind.PASSED, 1, 1)
    assert record.follow_ups_given == 0
    assert len(listener.turns) == 1


def test_oracle_hears_all_follow_ups_and_passes(task_with):
    record = run_trial(task_with(f"refinement = {TWO}"), OracleAgent(), TrialSettings(max_iterations=1)).record
    assert (record.outcome, record.iterations, record.follow_ups_given) == (OutcomeKind.PASSED, 3, 2)


def test_follow_up_stands_first_and_whole_in_the_feedback():
    finding = Finding(rule="r", message="wrong")
    lines = [f"line {number}" for number in range(30)]
    text = Feedback(iteration=2, follow_up="\n".join(lines) + "\n", findings=(finding,)).as_text()
    assert text.splitlines() == [
        "After iteration 2:",
        "The task goes on:",
        *(f"  {line}" for line in lines),
        "The task is not fulfilled yet:",
        "  r: wrong",
    ]


@pytest.mark.parametrize("value", ['""', '" \\n"', '["wider", ""]', '["\\t"]', "[]"])
def test_empty_follow_up_is_an_error_of_the_file(task_with, value: Any):
    with pytest.raises(SuiteError, match=r"grow\.toml: refinement: .*a follow-up may not be empty; write a text"):
        task_with(f"refinement = {value}")


@pytest.mark.parametrize("value", ["5", "true", "[1]", '{ text = "wider" }'])
def test_follow_up_that_is_no_text_is_an_error_of_the_file(task_with, value: Any):
    with pytest.raises(SuiteError, match=r"grow\.toml: refinement: .*must be a text or a list of texts"):
        task_with(f"refinement = {value}")
