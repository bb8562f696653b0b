"""An oracle is tried before it judges, and not again where the whole gate passed."""

import pytest
from iclayout_checkers import CHECKERS

from pytest_iclayout.checking import gate
from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.checking.gate import GateSettings, check_accepts, check_rejects, require_sound
from pytest_iclayout.checking.oracle import Oracle
from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.checking.spec import parse_checker_string
from pytest_iclayout.technology.load import builtin_technology

HALVES = {"accepts": check_accepts, "rejects": check_rejects}


@pytest.fixture
def oracle():
    bench = Bench(technology=builtin_technology("sky130"), rule_set="published")
    checker, params = CheckerRegistry(CHECKERS).bind(parse_checker_string("shape_count:layer=68/20,exact=1"), bench)
    return Oracle(checker, params, bench)


@pytest.fixture
def tried(monkeypatch):
    """The oracles that got the quick check."""
    found = []
    quick_check = gate.quick_check
    monkeypatch.setattr(gate, "quick_check", lambda one: (found.append(one), quick_check(one)))
    return found


def test_oracle_is_tried_once_for_all_agents(oracle, tried):
    require_sound(oracle)
    require_sound(oracle)
    assert tried == [oracle]


def test_oracle_that_passed_the_whole_gate_is_not_tried_again(oracle, tried):
    for check in HALVES.values():
        check(oracle, "key", GateSettings(examples=2))
    require_sound(oracle)
    assert tried == []


@pytest.mark.parametrize("half", HALVES)
def test_half_a_gate_is_not_enough(oracle, tried, half):
    HALVES[half](oracle, "key", GateSettings(examples=2))
    require_sound(oracle)
    assert tried == [oracle]


def test_other_oracle_of_the_same_checker_is_tried_itself(oracle, tried):
    require_sound(oracle)
    other = Oracle(oracle.checker, oracle.params, oracle.bench)
    require_sound(other)
    assert tried == [oracle, other]
