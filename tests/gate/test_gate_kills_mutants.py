"""The gate is worth its time only if it notices a fault in a checker: each mutant here must fail it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import Phase, settings
from iclayout_checkers import CHECKERS
from mutants import MUTANTS, Mutant, StaleMutantError, load_mutant, mutated_source, oracle_of

from pytest_iclayout.checking.gate import GateFailure, GateSettings, check_accepts, check_rejects
from pytest_iclayout.checking.oracle import Oracle

GATE = GateSettings(examples=50)


@pytest.fixture(autouse=True)
def _repeatable_and_without_shrinking() -> Iterator[None]:
    before = settings.default
    assert before is not None
    settings.register_profile("mutants", derandomize=True, deadline=None, phases=[Phase.generate])
    settings.load_profile("mutants")
    yield
    settings.register_profile("before", before)
    settings.load_profile("before")


def through_the_gate(oracle: Oracle, key: str) -> None:
    # Most faults let something pass: this order finds them sooner.
    check_rejects(oracle, key, GATE)
    check_accepts(oracle, key, GATE)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_fault_in_a_checker_fails_the_gate(mutant: Mutant) -> None:
    oracle = oracle_of(mutant, load_mutant(mutant))
    with pytest.raises(GateFailure):
        through_the_gate(oracle, str(mutant))


SOUND = {(one.checker, str(one.params), one.rule_set, one.start): one for one in MUTANTS}


@pytest.mark.parametrize(
    "sound", SOUND.values(), ids=lambda one: f"{one.checker}-{one.rule_set}-{str(one.params)[:60]}"
)
def test_checker_without_the_fault_passes_on_the_same_parameters(sound: Mutant) -> None:
    through_the_gate(oracle_of(sound), str(sound))


def test_source_loaded_without_a_fault_is_the_checker() -> None:
    """Else every mutant could die of the way in which it is loaded."""
    for checker in CHECKERS:
        mutant = next(one for one in MUTANTS if one.checker == checker and not one.module)
        through_the_gate(oracle_of(mutant, load_mutant(replace(mutant, new=mutant.old))), checker)


def test_intent_with_a_replaced_module_is_the_checker() -> None:
    faultless = {
        (one.checker, one.module, str(one.params), one.rule_set, one.start, one.solution): one
        for one in MUTANTS
        if one.module
    }
    for mutant in faultless.values():
        through_the_gate(oracle_of(mutant, load_mutant(replace(mutant, new=mutant.old))), mutant.checker)


def test_every_checker_has_at_least_five_mutants() -> None:
    count = Counter(one.checker for one in MUTANTS)
    assert set(count) == set(CHECKERS)
    assert min(count.values()) >= 5


def test_mutant_whose_text_is_gone_is_an_error_and_not_a_pass() -> None:
    with pytest.raises(StaleMutantError, match="occurs 0 times"):
        mutated_source(replace(MUTANTS[0], old="this text is in no checker"))
