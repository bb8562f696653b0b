"""Parameters of a task file: what is refused, and that drawn values are the same wherever they are drawn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from pytest_iclayout.suite.files import SuiteError
from pytest_iclayout.suite.parameters import Parameters, read_parameters

LAYERS = [{"name": "met1", "gds": "68/20"}, {"name": "met2", "gds": "69/20"}]
WIDTH = {"default": 140, "min": 140, "max": 1000, "step": 10}
PUBLISHED = [560, 440, 870, 470, 990]
LAYER = {"default": "met1", "choices": LAYERS}


def read(table: Any) -> Parameters:
    found = read_parameters(Path("a.toml"), {"parameters": table})
    assert found is not None
    return found


def drawn(parameters: Parameters, count: int, seed: int = 0, task: str = "a") -> list[Mapping[str, Any]]:
    return list(islice(parameters.drawn(task, seed), count))


def test_fixed_values_are_the_defaults() -> None:
    assert read({"w": WIDTH, "layer": LAYER}).fixed == {"w": 140, "layer": LAYERS[0]}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (7, "a.toml: parameters: needs a table of parameters"),
        ({}, "a.toml: parameters: needs a table of parameters"),
        ({"require": ["1 < 2"]}, "a.toml: parameters: needs a table of parameters"),
        ({"w": 7}, "a.toml: parameters.w: needs a table of keys (given 7)"),
        ({"w": {"default": 1}}, "a.toml: parameters.w: min: required, but not given; max: required"),
        ({"w": WIDTH | {"maximum": 3}}, "a.toml: parameters.w: maximum: unknown key; keys are default, min, max, step"),
        ({"w": WIDTH | {"step": 0}}, "parameters.w: step: "),
        ({"w": WIDTH | {"max": 140}}, "parameters.w: min 140 is not less than max 140"),
        ({"w": WIDTH | {"default": 130}}, "parameters.w: default 130 is none of 140 to 1000 in steps of 10"),
        ({"w": WIDTH | {"default": 145}}, "parameters.w: default 145 is none of 140 to 1000 in steps of 10"),
        ({"w": WIDTH | {"max": 999.5}}, "parameters.w: max: "),
        ({"w": WIDTH | {"default": "140"}}, "parameters.w: default: "),
        ({"w": {"default": 1, "choices": [1]}}, "parameters.w: choices: "),
        ({"w": {"default": 1, "choices": [1, 2, 1]}}, "parameters.w: choices: 1 is there twice"),
        ({"w": {"default": 3, "choices": [1, 2]}}, "parameters.w: default 3 is none of the choices 1, 2"),
        ({"w": {"default": 1, "choices": [True, 1]}}, "parameters.w: choices[0]"),
        ({"w": {"default": "met3", "choices": LAYERS}}, "default 'met3' is none of the choices met1, met2"),
        ({"w": {"default": "a", "choices": ["a", {"gds": "1/2"}]}}, "choices: a table needs a field name, a text"),
        ({"W": WIDTH}, "a.toml: parameters.W: no name for a parameter"),
        ({"range": WIDTH}, "a.toml: parameters.range: no name for a parameter"),
        ({"w": WIDTH, "require": "w > 1"}, "a.toml: parameters.require: needs a list of conditions"),
        ({"w": WIDTH, "require": ["w >"]}, "a.toml: parameters.require: "),
        ({"w": WIDTH, "require": ["v > 1"]}, "a.toml: parameters.require: 'v' is undefined; parameters are w"),
        ({"w": WIDTH, "require": ["w + 1"]}, "a.toml: parameters.require: 'w + 1' gives 141; it must give true or"),
        ({"w": WIDTH, "require": ["w > 140"]}, "parameters.require: 'w > 140' does not hold for the defaults"),
    ],
)
def test_a_mistake_is_one_error_with_file_and_key(table: Any, message: str) -> None:
    with pytest.raises(SuiteError) as caught:
        read(table)
    assert message in str(caught.value)


def test_drawn_values_differ_lie_in_the_ranges_and_keep_the_conditions() -> None:
    parameters = read({"w": WIDTH, "n": {"default": 2, "min": 2, "max": 9}, "layer": LAYER, "require": ["w < 100 * n"]})
    found = drawn(parameters, 200)
    assert len(found) == 200
    assert parameters.fixed not in found
    for number, one in enumerate(found):
        assert one not in found[:number]
        assert one["w"] in range(140, 1001, 10)
        assert one["n"] in range(2, 10)
        assert one["w"] < 100 * one["n"]
    assert {one["layer"]["name"] for one in found} == {"met1", "met2"}


def test_all_values_are_drawn_and_then_none() -> None:
    parameters = read({"a": {"default": 3, "min": 1, "max": 5, "step": 2}, "layer": LAYER})
    found = drawn(parameters, 100)
    assert len(found) == 3 * 2 - 1
    assert parameters.fixed not in found


def test_a_condition_that_few_values_keep_is_still_met() -> None:
    """Random draws alone would not find them."""
    parameters = read({"a": {"default": 0, "min": 0, "max": 9999}, "require": ["a == 0 or a == 7777"]})
    assert drawn(parameters, 5) == [{"a": 7777}]


def test_seed_task_and_number_decide() -> None:
    parameters = read({"w": WIDTH, "layer": LAYER})
    assert drawn(parameters, 3) == drawn(parameters, 9)[:3]
    assert drawn(parameters, 5, seed=1) != drawn(parameters, 5, seed=2)
    assert drawn(parameters, 5, task="a") != drawn(parameters, 5, task="b")


def test_values_stay_the_same_over_releases() -> None:
    """A published seed names these values for ever."""
    assert [one["w"] for one in drawn(read({"w": WIDTH}), 5, seed=1, task="t1_wire")] == PUBLISHED


def test_values_do_not_depend_on_the_process() -> None:
    code = (
        "from tests_parameters import drawn, read, WIDTH\n"
        "print([one['w'] for one in drawn(read({'w': WIDTH}), 5, seed=1, task='t1_wire')])"
    ).replace("tests_parameters", Path(__file__).stem)
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parent,
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.strip() == str(PUBLISHED), done.stderr
