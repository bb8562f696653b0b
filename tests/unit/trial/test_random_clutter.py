"""The agent random: what it draws is what docs/agents.md says, for any task."""

from __future__ import annotations

from typing import Any

import klayout.db as db
import pytest

from pytest_iclayout.agents.protocol import Feedback, Turn
from pytest_iclayout.agents.random_rectangles import RandomAgent
from pytest_iclayout.geometry.view import open_view
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.suite.context import TaskContext
from pytest_iclayout.technology.load import builtin_technology

SKY130 = builtin_technology("sky130")
IDS = [f"task_{number}" for number in range(8)]


def context(task_id: str, prompt: str = "Draw something.") -> TaskContext:
    return TaskContext(task_id=task_id, prompt=prompt, technology=SKY130, rule_set="published", max_iterations=4)


def drawn(task: TaskContext) -> LayoutSession:
    layout = LayoutSession(technology=SKY130)
    RandomAgent().start(task).propose(Turn(iteration=1), layout)
    assert all(entry.outcome.ok for entry in layout.journal)
    return layout


@pytest.fixture(scope="module")
def clutters() -> list[list[db.Polygon]]:
    """For some tasks the merged polygons of each layer."""
    views = [open_view(drawn(context(task_id)).export(), SKY130, "published", "top") for task_id in IDS]
    return [[polygon for entry in SKY130.layers for polygon in view.region(entry.layer).each()] for view in views]


def test_each_layer_holds_one_clutter_without_a_hole_within_the_window(clutters):
    """A hole would make a guard ring, a second shape would pass where two are asked for."""
    for polygons in clutters:
        assert len(polygons) == len(SKY130.layers)
        assert all(polygon.holes() == 0 for polygon in polygons)
        window = sum((polygon.bbox() for polygon in polygons), db.Box())
        assert max(window.width(), window.height()) <= 200


def test_clutter_is_hardly_ever_a_rectangle(clutters):
    """A lone rectangle is what rect_present asks for, and no clutter."""
    boxes = [polygon.is_box() for polygons in clutters for polygon in polygons]
    assert sum(boxes) < len(boxes) / 100


def test_sides_are_of_10_to_100_dbu():
    layout = drawn(context("a"))
    rects = [entry.command["rect"] for entry in layout.journal if entry.command["op"] == "add_rect"]
    sides = {rect["max"][axis] - rect["min"][axis] for rect in rects for axis in "xy"}
    assert min(sides) >= 10
    assert max(sides) <= 100


def test_the_same_task_gets_the_same_layout_and_another_one_another():
    first, again, other = (drawn(context(task_id)).document_hash() for task_id in ("a", "a", "b"))
    assert first == again != other


@pytest.mark.parametrize(
    ("prompt", "cell"),
    [
        ("In a cell named `top`, draw met1.", "top"),
        ("Draw met1 in a cell named pad_7.", "pad_7"),
        ("Make a cell called `A$1` of met1.", "A$1"),
        ("Draw met1.", "top"),
    ],
)
def test_cell_is_the_one_that_the_prompt_names(prompt, cell):
    commands: list[dict[str, Any]] = [entry.command for entry in drawn(context("a", prompt)).journal]
    assert commands[0] == {"op": "create_cell", "name": cell}
    assert {command["cell"] for command in commands[1:]} == {cell}


@pytest.mark.parametrize(("follow_up", "gives_up"), [(None, True), ("Wider.", False)])
def test_it_draws_once_and_hears_the_follow_ups(follow_up, gives_up):
    layout = LayoutSession(technology=SKY130)
    session = RandomAgent().start(context("a"))
    session.propose(Turn(iteration=1), layout)
    before = layout.document_hash()
    proposal = session.propose(Turn(iteration=2, feedback=Feedback(iteration=1, follow_up=follow_up)), layout)
    assert proposal.gives_up == gives_up
    assert layout.document_hash() == before


def test_cell_that_the_task_gives_is_drawn_in_and_not_made_again():
    begin = {"op": "create_cell", "name": "top"}
    layout = LayoutSession(technology=SKY130)
    assert layout.execute(begin).ok
    given = context("a").model_copy(update={"start": (begin,)})
    RandomAgent().start(given).propose(Turn(iteration=1), layout)
    assert all(entry.outcome.ok for entry in layout.journal)
    assert [entry.command["op"] for entry in layout.journal].count("create_cell") == 1
