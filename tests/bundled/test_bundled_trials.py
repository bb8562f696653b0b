"""What mock plays in the bundled tasks. Whether that and the other agents pass says tests/golden/test_terminal.py."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_iclayout.agents.mock import scripts
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.session import LayoutSession


def test_mock_corrects_itself_often_enough_to_exercise_the_loop():
    assert sum(len(turns) > 1 for turns in scripts().values()) >= 25


def test_every_turn_after_the_first_waits_for_feedback():
    for task_id, (first, *others) in scripts().items():
        assert not first.expects, task_id
        assert all(turn.expects for turn in others), task_id


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


def test_layout_of_the_prompt_alone_is_rejected_where_a_follow_up_tightens_it(bundled_tasks):
    """mock obeys the prompt in the first turn of these, and what the follow-up asks for is not there yet."""
    told_in_parts = [task for task in bundled_tasks if task.spec.refinement]
    assert told_in_parts
    for task in told_in_parts:
        session = LayoutSession(technology=task.technology)
        for command in scripts()[task.id][0].commands:
            assert session.execute(command).ok
        assert not task.oracle.judge(session.export()).ok, task.id
