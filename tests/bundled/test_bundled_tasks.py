"""The bundled suite: against the published facts, and every prompt against its own checker."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from pytest_iclayout.agents.mock import scripts
from pytest_iclayout.checking.spec import parse_checker_string
from pytest_iclayout.geometry.shapes import Point
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.suite.task import Task
from pytest_iclayout.technology.layers import Layer

FACTS = Path(__file__).parents[3] / "shared" / "reference" / "layout_task_facts.csv"
BUNDLED_TIERS = (1, 2, 3, 4, 5)

Found = TypeVar("Found")

TERMINAL = re.compile(r"(\w+)@(\d+/\d+)\((-?\d+),(-?\d+),(-?\d+),(-?\d+)\)")
LENGTH = re.compile(r"(\d+) dbu(²?) (?:\(|= )([\d.]+) µm(²?)")
NUMBER_WORDS = {1: "one", 2: "two", 3: "three"}
JUDGED_BY_RULES = ("drc_clean", "generator")
JUDGED_BY_EVERY_RULE = ("drc_repair", "frozen_edit")
"""Checkers that hold a given layout to the whole rule set, which the context of every task lists."""
JUDGED_AT_POINTS = ("frozen_edit", "labels", "net_trace_connected", "net_trace_extent", "net_trace_isolated")
"""Checkers that take points, of the nets they look up or of the areas that may change."""
WITHOUT_EFFECT = {("t3_gen_test_vdp", "count")}
"""Published parameters that the checker takes no notice of."""
ON_ANY_LAYER = ("array_pitch", "compound_cell", "net_trace_connected", "net_trace_extent", "net_trace_isolated")
"""Checkers that name no layer: what is drawn may be drawn on any."""


@pytest.fixture(scope="module")
def facts() -> list[dict[str, str]]:
    if not FACTS.is_file():
        pytest.skip("the table of published tasks is not beside the repository")
    with FACTS.open(encoding="utf-8") as table:
        return [row for row in csv.DictReader(table) if int(row["tier"]) in BUNDLED_TIERS]


def prompt_of(task: Task) -> str:
    """The prompt without its line breaks."""
    return " ".join(task.spec.prompt.split())


def told_of(task: Task) -> str:
    """The prompt and the follow-ups: all that an agent has been told when a trial can pass."""
    return " ".join(" ".join([task.spec.prompt, *task.spec.refinement]).split())


def all_in(value: Any, kind: type[Found]) -> Iterator[Found]:
    """Whatever of a kind a value holds, at any depth."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, BaseModel):
        for key in type(value).model_fields:
            yield from all_in(getattr(value, key), kind)
    elif isinstance(value, tuple):
        for one in value:
            yield from all_in(one, kind)


def judged_layers(task: Task) -> set[Layer]:
    """Those of the parameters, the conductors that a cut of them joins, and what is to be drawn.

    The last for a generator, and for a layout that is to be kept: there, no parameter names a layer.
    """
    layers = set(all_in(task.oracle.params, Layer))
    if task.spec.checker.name == "generator":
        layers |= {command.layer for command in task.oracle.witness() if isinstance(command, cmd.AddRect)}
    if task.spec.checker.name == "same_geometry":
        layers |= set(all_in(task.oracle.bench.start, Layer))
    if task.spec.checker.name in ("contact_stack", "via_chain"):
        params = task.oracle.params
        for one in task.technology.connections:
            if one.cut == params.via and params.bottom in (None, one.bottom) and params.top in (None, one.top):
                layers |= {one.bottom, one.top}
    return layers


def test_no_published_task_is_missing_or_renumbered(facts, bundled_tasks):
    published = [(row["id"], int(row["tier"]), row["checker"]) for row in facts]
    ours = [(task.id, task.spec.tier, task.spec.checker.name) for task in bundled_tasks]
    names = {name for name, _, _ in published}
    assert [one for one in ours if one[0] in names] == published


def test_published_parameters_stay_as_they_are(facts, bundled_tasks):
    ours = {task.id: task.spec.checker.params for task in bundled_tasks}
    for row in facts:
        if row["params"]:
            published = parse_checker_string(f"{row['checker']}:{row['params']}").params
            assert published.items() <= ours[row["id"]].items(), row["id"]


def test_published_terminals_stay_as_they_are(facts, bundled_tasks):
    ours = {task.id: task.spec.intent for task in bundled_tasks}
    for row in facts:
        intent = ours[row["id"]]
        nets = {}
        for text in filter(None, row["intent_terminals_dbu"].partition(" | ")[0].split(" ; ")):
            name, _, terminals = text.partition(": ")
            nets[name] = TERMINAL.findall(terminals)
        assert nets == {
            net.name: [
                (one.name, str(one.layer), *map(str, (box.min.x, box.min.y, box.max.x, box.max.y)))
                for one in net.terminals
                for box in [one.region]
            ]
            for net in (intent.nets if intent else ())
        }, row["id"]
        assert "forbidden" in row["intent_terminals_dbu"] or not (intent and intent.forbidden), row["id"]


def test_manifest_and_files_do_not_drift_apart(bundled_suite, bundled_tasks):
    assert bundled_suite.tasks == tuple(task.id for task in bundled_tasks)


def test_a_task_is_found_under_its_id_and_tier(bundled_task):
    assert bundled_task.path.stem == bundled_task.id
    assert bundled_task.path.parent.name == f"tier{bundled_task.spec.tier}"


def test_prompt_names_the_judged_cell(bundled_task):
    assert bundled_task.spec.cell is not None
    assert f"`{bundled_task.spec.cell}`" in bundled_task.spec.prompt


def test_prompt_names_every_judged_layer_with_its_gds_pair(bundled_task):
    judged = judged_layers(bundled_task)
    assert bool(judged) != (bundled_task.spec.checker.name in ON_ANY_LAYER)
    for layer in judged:
        named = f"{bundled_task.technology.name_of(layer)} ({layer})"
        assert named in prompt_of(bundled_task)


def test_prompt_states_every_limit_of_its_checker(bundled_task):
    prompt = told_of(bundled_task)
    for key, value in bundled_task.spec.checker.params.items():
        if isinstance(value, int) and not isinstance(value, bool) and (bundled_task.id, key) not in WITHOUT_EFFECT:
            stated = {str(value), NUMBER_WORDS.get(value, str(value))}
            assert stated & set(re.findall(r"\w+", prompt)), f"{key}={value}"


def test_prompt_states_every_point_of_its_checker(bundled_task):
    """Those of terminals are the subject of a test of their own."""
    points = list(all_in(tuple(value for key, value in bundled_task.oracle.params if key != "intent"), Point))
    assert points or bundled_task.spec.checker.name not in JUDGED_AT_POINTS
    for point in points:
        assert f"({point.x}, {point.y})" in prompt_of(bundled_task)


def test_prompt_states_which_nets_stay_apart(bundled_task):
    """In a sentence that names both, not only where each of them is described."""
    for pair in bundled_task.spec.intent.forbidden if bundled_task.spec.intent else ():
        sentences = re.split(r"[.;:]\s", prompt_of(bundled_task))
        both = [one for one in sentences if f"`{pair.net_a}`" in one and f"`{pair.net_b}`" in one]
        assert any(re.search(r"\b(not|short)\b", one) for one in both)


def test_published_follow_ups_are_there(facts, bundled_tasks):
    published = {row["id"] for row in facts if row["has_refinement"] == "yes"}
    assert {task.id for task in bundled_tasks if task.spec.refinement} == published


def test_prompt_does_not_state_the_limit_that_the_last_follow_up_sets(bundled_task):
    """Else nothing would be left for the follow-up to ask."""
    if not bundled_task.spec.refinement:
        return
    limits = {value for value in bundled_task.spec.checker.params.values() if isinstance(value, int)}
    numbers = {word for one in limits for word in (str(one), NUMBER_WORDS.get(one, str(one)))}
    *earlier, last = [bundled_task.spec.prompt, *bundled_task.spec.refinement]
    assert not numbers & {word for text in earlier for word in re.findall(r"\w+", text)}
    assert numbers & set(re.findall(r"\w+", last))


def test_prompt_states_where_terminals_are(bundled_task):
    for net in bundled_task.spec.intent.nets if bundled_task.spec.intent else ():
        assert re.search(f"[Nn]et `{net.name}`", prompt_of(bundled_task))
        for one in net.terminals:
            box, layer = one.region, f"{bundled_task.technology.name_of(one.layer)} ({one.layer})"
            corners = f"from ({box.min.x}, {box.min.y}) to ({box.max.x}, {box.max.y})"
            assert f"`{one.name}`: {layer}, {corners}" in prompt_of(bundled_task)


def test_prompt_states_the_rules_of_the_layers_that_must_be_drawn(bundled_task):
    """Only for tasks that are judged by rules; the others say that rules do not decide them."""
    prompt = prompt_of(bundled_task)
    if bundled_task.spec.checker.name in JUDGED_BY_EVERY_RULE:
        # Which rules those are that the given layout breaks, or that a change may, is a part of the task.
        assert "breaks none of the design rules" in prompt
        return
    checker = bundled_task.spec.checker
    if checker.name not in JUDGED_BY_RULES and not checker.params.get("rules"):
        assert "The design rules do not decide this task" in prompt
        return
    drawn = judged_layers(bundled_task)
    rules = [rule for rule in bundled_task.oracle.bench.rules if set(rule.layers) <= drawn]
    assert rules
    for rule in rules:
        assert f"{rule.value} dbu{'²' if rule.kind.is_area else ''}" in prompt, rule.id


def test_prompt_gives_lengths_in_dbu_and_the_same_in_micron(bundled_task):
    given = LENGTH.findall(told_of(bundled_task))
    assert given
    for dbu, square_dbu, micron, square_micron in given:
        assert square_dbu == square_micron
        assert Decimal(micron) == Decimal(dbu).scaleb(-6 if square_dbu else -3)


def test_prompts_of_two_tasks_are_never_the_same(bundled_tasks):
    prompts = [prompt_of(task) for task in bundled_tasks]
    assert len(set(prompts)) == len(prompts)


def test_mock_plays_every_task_and_no_others(bundled_tasks):
    assert set(scripts()) == {task.id for task in bundled_tasks}
