"""Every bundled task: solved by mock and by the oracle, and never by doing nothing."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_iclayout.agents.mock import MockAgent, scripts
from pytest_iclayout.agents.nop import NopAgent
from pytest_iclayout.agents.oracle import OracleAgent
from pytest_iclayout.agents.protocol import Agent
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.suite.task import Task
from pytest_iclayout.trial.outcomes import OutcomeKind
from pytest_iclayout.trial.record import TrialRecord
from pytest_iclayout.trial.runner import TrialSettings, run_trial


def record_of(task: Task, agent: Agent) -> TrialRecord:
    return run_trial(task, agent, TrialSettings()).record


def test_mock_solves_every_task_in_as_many_iterations_as_its_script_has_turns(bundled_task):
    record = record_of(bundled_task, MockAgent())
    assert (record.outcome, record.reason, record.note) == (OutcomeKind.PASSED, "", "")
    assert record.iterations == len(scripts()[bundled_task.id])


def test_mock_corrects_itself_often_enough_to_exercise_the_loop():
    assert sum(len(turns) > 1 for turns in scripts().values()) >= 25


def test_every_turn_after_the_first_waits_for_feedback():
    for task_id, (first, *others) in scripts().items():
        assert not first.expects, task_id
        assert all(turn.expects for turn in others), task_id


def test_commands_of_mock_that_fail_are_the_ones_meant_to(bundled_tasks):
    failed = {task.id: record_of(task, MockAgent()).failed_commands for task in bundled_tasks}
    assert {task_id: count for task_id, count in failed.items() if count} == {
        "t1_place_met1_rect": 1,
        "t3_drc_repair_notch": 1,
        "t3_via_stack_m1_m2": 1,
    }


@pytest.mark.parametrize("op", [model.model_fields["op"].default for model in get_args(get_args(cmd.Command)[0])])
def test_mock_exercises_command(op):
    played = {command["op"] for turns in scripts().values() for turn in turns for command in turn.commands}
    assert op in played


def test_generator_tasks_are_solved_by_the_generators_but_one():
    drawn = {
        task_id: {command["op"] for turn in turns for command in turn.commands}
        for task_id, turns in scripts().items()
        if task_id.startswith("t3_gen_")
    }
    assert [task_id for task_id, ops in drawn.items() if "run_generator" not in ops] == ["t3_gen_test_serpentine"]


def test_boolean_tasks_are_solved_by_the_boolean_command():
    drawn = {
        task_id: [command["op"] for turn in turns for command in turn.commands]
        for task_id, turns in scripts().items()
        if task_id.startswith("t3_bool_")
    }
    assert len(drawn) == 4
    assert all("boolean_combine" in ops for ops in drawn.values())


def test_oracle_solves_every_task(bundled_task):
    record = record_of(bundled_task, OracleAgent())
    assert (record.outcome, record.reason) == (OutcomeKind.PASSED, "")
    assert record.iterations == 1 + len(bundled_task.spec.refinement)


def test_doing_nothing_fails_every_task_and_is_no_error(bundled_task):
    record = record_of(bundled_task, NopAgent())
    assert (record.outcome, record.iterations) == (OutcomeKind.FAILED, 1)
    assert record.reason


def test_layout_of_the_prompt_alone_is_rejected_where_a_follow_up_tightens_it(bundled_tasks):
    """mock obeys the prompt in the first turn of these, and what the follow-up asks for is not there yet."""
    told_in_parts = [task for task in bundled_tasks if task.spec.refinement]
    assert told_in_parts
    for task in told_in_parts:
        session = LayoutSession(technology=task.technology)
        for command in scripts()[task.id][0].commands:
            assert session.execute(command).ok
        assert not task.oracle.judge(session.export()).ok, task.id
