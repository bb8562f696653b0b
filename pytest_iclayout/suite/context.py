"""What an agent is shown of a task: everything that it needs, nothing of how it is judged."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.session.commands import dump_command
from pytest_iclayout.suite.task import Task
from pytest_iclayout.technology.models import Rule, RuleKind, Technology

_RULE_WORDS = {
    RuleKind.WIDTH: "{layer} is at least {value} wide",
    RuleKind.SPACE: "{layer} shapes and notches are at least {value} apart",
    RuleKind.SEPARATION: "{layer} and {other} are at least {value} apart",
    RuleKind.ENCLOSURE: "{layer} lies within {other} by at least {value} on every side",
    RuleKind.EXTENSION: "{layer} reaches beyond {other} by at least {value} where it crosses it",
    RuleKind.AREA: "each {layer} polygon covers at least {value}",
    RuleKind.HOLE_AREA: "each hole in {layer} covers at least {value}",
    RuleKind.EXACT_SIZE: "each {layer} polygon is a square of exactly {value} x {value}",
}


class TaskContext(BaseModel):
    """The task's prompt and technology, as data and, by :meth:`as_text`, as text for a model."""

    model_config = ConfigDict(frozen=True)

    task_id: str
    prompt: str
    technology: Technology
    rule_set: str
    max_iterations: int
    start: tuple[dict[str, Any], ...] = ()
    """The commands that drew the layout which the session holds already, in their JSON form."""

    def as_text(self) -> str:
        """The whole context in plain text; all numbers in dbu."""
        technology = self.technology
        lines = [
            f"Task {self.task_id}",
            "",
            self.prompt.strip(),
            "",
            f"Technology {technology.name}: 1 dbu is {1000 / technology.dbu_per_micron:g} nm. "
            "Coordinates and lengths in commands are integers in dbu.",
            "",
            "Layers (layer/datatype name):",
            *(f"  {entry.layer} {entry.name}" for entry in technology.layers),
            "",
            "Connections (a cut joins the two conductors where it overlaps both):",
            *_connection_lines(technology),
            "",
            "Design rules:",
            *(f"  {rule.id}: {_rule_line(rule, technology)}" for rule in technology.rule_set(self.rule_set)),
            "",
            *_start_lines(self.start),
            f"You have {self.max_iterations} iteration(s): after each one you are told what is still wrong.",
        ]
        return "\n".join(lines) + "\n"


def context_of(task: Task, max_iterations: int) -> TaskContext:
    """The context of a task, from an explicit choice of fields: a new one is not shown by accident.

    The technology's tables are copies, because the judge works with the originals; the rest is frozen.
    """
    technology = task.technology
    tables = {"rule_sets": dict(technology.rule_sets), "cut_by": dict(technology.cut_by)}
    return TaskContext(
        task_id=task.id,
        prompt=task.spec.prompt,
        technology=technology.model_copy(update=tables),
        rule_set=task.oracle.bench.rule_set,
        max_iterations=max_iterations,
        start=tuple(dump_command(command) for command in task.oracle.bench.start),
    )


def _start_lines(start: tuple[dict[str, Any], ...]) -> list[str]:
    if not start:
        return []
    return [
        "The session holds a layout already. These commands drew it; its element ids are 1, 2, 3 and so on, one",
        "for each element in the order in which it was drawn (query_shapes shows them):",
        *(f"  {json.dumps(command, ensure_ascii=False)}" for command in start),
        "",
    ]


def _connection_lines(technology: Technology) -> list[str]:
    return [
        f"  {technology.name_of(one.bottom)} - {technology.name_of(one.top)}"
        + (" (overlap)" if one.cut is None else f" through {technology.name_of(one.cut)} ({one.cut})")
        for one in technology.connections
    ]


def _rule_line(rule: Rule, technology: Technology) -> str:
    return _RULE_WORDS[rule.kind].format(
        layer=technology.name_of(rule.layer),
        other="" if rule.other_layer is None else technology.name_of(rule.other_layer),
        value=f"{rule.value} dbu²" if rule.kind.is_area else f"{rule.value} dbu",
    )
