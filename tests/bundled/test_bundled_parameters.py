"""Bundled tasks with parameters: variants differ, can be asked for by the dozen, and their prompts are as true."""

from __future__ import annotations

from itertools import islice

import pytest
import test_bundled_tasks as of_prompts
from iclayout_checkers import CHECKERS

from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.suite.task import Task, load_variants

LEAST = 50
"""Variants that each task must have, so that a run over the suite can ask for a number of them."""
SEEDS = (1, 2, 3)
COUNT = 5


@pytest.fixture
def variants(bundled_task: Task) -> list[Task]:
    registry = CheckerRegistry(CHECKERS)
    return [
        one for seed in SEEDS for one in load_variants(bundled_task.path, bundled_task.suite, registry, COUNT, seed)
    ]


def test_many_tasks_have_parameters(bundled_tasks):
    assert sum(task.values is not None for task in bundled_tasks) >= 30


def test_a_task_with_parameters_has_many_variants(bundled_task):
    parameters = bundled_task.spec.parameters
    if parameters is not None:
        assert len(list(islice(parameters.drawn(bundled_task.id, 0), LEAST))) == LEAST


def test_variants_of_a_seed_differ_in_what_is_asked_and_judged(bundled_task, variants):
    if bundled_task.values is None:
        assert {one.id for one in variants} == {bundled_task.id}
        return
    for number in range(len(SEEDS)):
        group = [bundled_task, *variants[COUNT * number : COUNT * (number + 1)]]
        assert len({one.spec.prompt for one in group}) == COUNT + 1
        judged = {(one.oracle.params.model_dump_json(), str(one.spec.start)) for one in group}
        assert len(judged) >= COUNT  # results of two boolean operations may well have the same area


@pytest.mark.parametrize(
    "holds",
    [
        of_prompts.test_prompt_names_the_judged_cell,
        of_prompts.test_prompt_names_every_judged_layer_with_its_gds_pair,
        of_prompts.test_prompt_states_every_limit_of_its_checker,
        of_prompts.test_prompt_states_where_terminals_are,
        of_prompts.test_prompt_states_the_rules_of_the_layers_that_must_be_drawn,
        of_prompts.test_prompt_gives_lengths_in_dbu_and_the_same_in_micron,
    ],
    ids=lambda one: one.__name__.removeprefix("test_"),
)
def test_prompts_of_variants_are_as_true(bundled_task, variants, holds):
    for one in variants:
        if one.drawn is not None:
            holds(one)
