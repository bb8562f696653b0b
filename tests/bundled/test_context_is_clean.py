"""What an agent is told never holds the answer, nor how it is judged."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from pytest_iclayout.agents.mock import MockAgent, scripts
from pytest_iclayout.agents.protocol import Agent, AgentSession, LayoutTools, Proposal, Turn
from pytest_iclayout.defaults import MAX_ITERATIONS
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session.sketch import format_drawing
from pytest_iclayout.suite.context import TaskContext, context_of
from pytest_iclayout.suite.task import Task
from pytest_iclayout.trial.runner import TrialSettings, run_trial

LONG_LINE = 30
"""Characters of a source line from which on a copy of it is no coincidence."""


@dataclass
class Listening:
    """An agent that notes what the agent inside it is told."""

    inner: Agent
    heard: list[str] = field(default_factory=list)
    name: str = "listening"
    backend: str = "listening"

    def start(self, context: TaskContext) -> AgentSession:
        return _ListeningSession(self.inner.start(context), self.heard)


@dataclass
class _ListeningSession:
    inner: AgentSession
    heard: list[str]

    def propose(self, turn: Turn, layout: LayoutTools) -> Proposal:
        if turn.feedback is not None:
            self.heard += [turn.feedback.as_text(), turn.feedback.model_dump_json()]
        return self.inner.propose(turn, layout)


class Stubborn:
    """Leaves the judged cell empty, whatever it is told."""

    name = "stubborn"
    backend = "stubborn"

    def start(self, context: TaskContext) -> Stubborn:
        return self

    def propose(self, turn: Turn, layout: LayoutTools) -> Proposal:
        layout.execute({"op": "create_cell", "name": "top"})
        return Proposal()


def context_texts(task: Task) -> list[str]:
    context = context_of(task, MAX_ITERATIONS)
    return [context.as_text(), context.model_dump_json()]


def feedback_texts(task: Task, agent: Agent) -> list[str]:
    listening = Listening(agent)
    run_trial(task, listening, TrialSettings())
    return listening.heard


@cache
def squashed(text: str) -> str:
    """JSON's escapes undone, and white space only where it parts two words: a leak in another layout is a leak."""
    plain = text.replace("\\n", " ").replace("\\", "")
    return re.sub(r"\s+(?!\w)|(?<!\w)\s+", "", re.sub(r"\s+", " ", plain))


def told(text: str, secret: str) -> bool:
    """Whether a text holds a secret, not as a part of a longer word or number."""
    wanted = squashed(secret)
    if wanted not in squashed(text):  # nearly always, and many times as fast as to compile an expression
        return False
    before = r"(?<!\w)" if wanted[0].isalnum() else ""
    after = r"(?!\w)" if wanted[-1].isalnum() else ""
    return re.search(before + re.escape(wanted) + after, squashed(text)) is not None


def box_forms(rect: Rect) -> Iterator[str]:
    left, bottom, right, top = rect.min.x, rect.min.y, rect.max.x, rect.max.y
    yield str(rect)
    yield rect.model_dump_json()
    yield f"{left},{bottom},{right},{top}"
    yield f"({left},{bottom})to({right},{top})"


OWN_PLACES = {
    "t3_drc_repair_notch": {Rect.of(460, 300, 540, 900)},  # the notch, which the prompt names and filling mends
    "t5_drc_repair_block": {Rect.of(6950, 1400, 7050, 2500)},  # a notch, which the rules report and filling mends
}
"""Rectangles of witnesses that are the task's own question."""


def stated(task: Task) -> str:
    """What the task itself gives as data: terminals and other parameters, and the layout to begin with."""
    parameters = task.oracle.params.model_dump_json()
    return "\n".join([parameters, *(json.dumps(cmd.dump_command(one)) for one in task.oracle.bench.start)])


def witness_forms(task: Task, given: str = "") -> Iterator[str]:
    """The commands of the witness as JSON and the coordinates in them, less those that the task itself states."""
    given = given or stated(task)
    own = OWN_PLACES.get(task.id, set())
    for command in task.oracle.witness():
        yield json.dumps(cmd.dump_command(command))
        if isinstance(command, cmd.AddRect):
            if command.rect in own or any(told(given, form) for form in box_forms(command.rect)):
                continue
            yield from box_forms(command.rect)
        elif isinstance(command, (cmd.AddPolygon, cmd.AddPath)):
            points = [(point.x, point.y) for point in command.points]
            if told(given, json.dumps([{"x": x, "y": y} for x, y in points])):
                continue
            yield json.dumps([{"x": x, "y": y} for x, y in points])
            yield ",".join(f"({x},{y})" for x, y in points)
            yield ";".join(f"{x},{y}" for x, y in points)


def judging_forms(task: Task) -> Iterator[str]:
    """How the task is judged: names and source of its checker, names of its negatives."""
    checker, name = task.oracle.checker, task.spec.checker.name
    module = sys.modules[type(checker).__module__]
    yield type(checker).__name__
    yield type(task.oracle.params).__name__
    yield module.__name__
    yield f"{module.__name__.rpartition('.')[2]}.py"
    for key in type(task.oracle.params).model_fields:
        yield f"{name}:{key}="
    yield from checker.negatives(task.oracle.params, task.oracle.bench)
    for line in inspect.getsource(module).splitlines():
        if len(line.strip()) > LONG_LINE:
            yield line.strip()


def leaks(task: Task, texts: list[str], drawn: str = "") -> list[str]:
    """``drawn``: what the agent drew itself, and may be told of."""
    given = stated(task) + drawn
    forms = [*witness_forms(task, given), *(form for form in judging_forms(task) if not told(given, form))]
    return [form for form in forms for text in texts if told(text, form)]


def test_context_holds_neither_the_witness_nor_how_it_is_judged(bundled_task):
    texts = context_texts(bundled_task)
    assert leaks(bundled_task, texts) == []
    # A finding is headed by the checker's name, a context has no use for it.
    assert [text for text in texts if told(text, f"{bundled_task.spec.checker.name}:")] == []


def test_feedback_to_mock_holds_neither_the_witness_nor_how_it_is_judged(bundled_task):
    texts = feedback_texts(bundled_task, MockAgent())
    assert len(texts) == 2 * (len(scripts()[bundled_task.id]) - 1)
    played = json.dumps([command for turn in scripts()[bundled_task.id] for command in turn.commands])
    assert leaks(bundled_task, texts, played) == []


def test_feedback_on_an_empty_layout_holds_neither_the_witness_nor_how_it_is_judged(bundled_task):
    texts = feedback_texts(bundled_task, Stubborn())
    assert len(texts) == 2 * (MAX_ITERATIONS - 1)
    assert leaks(bundled_task, texts) == []


def test_search_finds_whatever_is_planted_in_a_prompt(bundled_task):
    """Guards the search above: one that finds nothing ever would pass."""
    for form in [*witness_forms(bundled_task), *judging_forms(bundled_task)]:
        prompt = f"{bundled_task.spec.prompt}\nDraw {form}\n    and nothing else"
        assert told(prompt, form)
        assert told(json.dumps({"prompt": prompt}, ensure_ascii=False, indent=1), form)


def test_witness_put_into_the_prompt_is_reported(bundled_task):
    witness = format_drawing(bundled_task.oracle.witness())
    planted = replace(bundled_task, spec=bundled_task.spec.model_copy(update={"prompt": witness}))
    assert leaks(bundled_task, context_texts(planted))
