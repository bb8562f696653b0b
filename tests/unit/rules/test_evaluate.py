"""What a deck's executions say of a rule, read strictly and as the published evaluator does."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_iclayout.drc.category_names import written_name
from pytest_iclayout.drc.decks.execution import Execution, Status
from pytest_iclayout.rules.evaluate import Reading, evaluate
from pytest_iclayout.rules.rule import LabelledLayout, Rule, RuleCategory
from pytest_iclayout.rules.shape_list import ShapeList

DIED = Execution(status=Status.ERROR, reason="ERROR: lost")


def rule_of(*categories: str, labels: tuple[str, ...]) -> Rule:
    """A layout for each of ``labels``, which names the one category that it violates, or none."""
    return Rule(
        id="r",
        title="r",
        text="",
        layers={},
        categories=tuple(RuleCategory(name=name, text=name) for name in categories),
        layouts=tuple(
            LabelledLayout(f"{number}.gds", frozenset({one} if one else ()), ShapeList("", {}))
            for number, one in enumerate(labels)
        ),
        path=Path("r"),
    )


def said(**items: int) -> Execution:
    return Execution(status=Status.OK, items=items)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("M1_2b", "M1_2b"),
        ("_x", "_x"),
        ("a$b", "a$b"),
        ("M1.2b", "'M1.2b'"),
        ("2b", "'2b'"),
        ("a b", "'a b'"),
        ("a'b", r"'a\'b'"),
        ("é", r"'\303\251'"),
        ("", "''"),
    ],
)
def test_names_are_written_as_the_application_does(name: str, written: str) -> None:
    assert written_name(name) == written  # as seen in reports of KLayout 0.28.5


def test_a_dotted_category_is_met_when_read_strictly_and_missed_in_the_published_reading() -> None:
    rule = rule_of("M1.2b", labels=("", "M1.2b"))
    executions = [said(**{"M1.2b": 0}), said(**{"M1.2b": 3})]
    assert evaluate(rule, executions).success
    lenient = evaluate(rule, executions, Reading.LENIENT)
    assert (lenient.success, lenient.f1) == (False, 0.0)
    assert lenient.layouts[1].missed == ("M1.2b",)
    assert lenient.layouts[1].unexpected == ("'M1.2b'",)


def test_a_category_in_quotes_is_met_only_in_the_published_reading() -> None:
    rule = rule_of("'M1.2b'", labels=("", "'M1.2b'"))
    executions = [said(), said(**{"M1.2b": 3})]
    assert not evaluate(rule, executions).success
    assert evaluate(rule, executions, Reading.LENIENT).success


@pytest.mark.parametrize("status", [Status.ERROR, Status.TIMEOUT, Status.KILLED])
def test_a_run_that_did_not_end_is_an_error_or_no_violation(status: Status) -> None:
    rule = rule_of("A", labels=("", "A"))
    executions = [Execution(status=status, reason="lost"), said(A=1)]
    strict, lenient = evaluate(rule, executions), evaluate(rule, executions, Reading.LENIENT)
    assert (strict.success, strict.error, strict.f1) == (False, True, 0.0)
    assert (lenient.success, lenient.error, lenient.f1) == (True, True, 1.0)


def test_a_run_that_did_not_end_on_a_violation_is_a_failure_in_both_readings() -> None:
    rule = rule_of("A", labels=("", "A", "A"))
    lenient = evaluate(rule, [said(), DIED, said(A=1)], Reading.LENIENT)
    assert not lenient.success
    assert lenient.f1 == pytest.approx(2 / 3)
    assert lenient.categories["A"].false_negative == 1
    assert (
        evaluate(rule, [said(), DIED, said(A=1)]).summary() == "did not run to its end on 1 of 3 layouts: ERROR: lost"
    )


def test_a_category_of_zeros_is_met_when_read_strictly_and_never_in_the_published_reading() -> None:
    rule = rule_of("A", "B", labels=("", "A"))
    executions = [said(A=0, B=0), said(A=2, B=0)]
    assert evaluate(rule, executions).success
    lenient = evaluate(rule, executions, Reading.LENIENT)
    assert (lenient.success, lenient.f1) == (False, 0.5)


@pytest.mark.parametrize("reading", list(Reading))
def test_only_a_category_with_items_is_unexpected(reading: Reading) -> None:
    rule = rule_of("A", labels=("", "A"))
    assert evaluate(rule, [said(A=0, X=0), said(A=1, X=0)], reading).success
    found = evaluate(rule, [said(A=0, X=0), said(A=1, X=1)], reading)
    assert not found.success
    assert found.layouts[1].unexpected == ("X",)


def test_counts_are_kept_apart_by_category() -> None:
    rule = rule_of("A", "B", labels=("", "A", "B", "B"))
    found = evaluate(rule, [said(B=1), said(A=1), said(A=1, B=1), said()])
    assert found.categories["A"].model_dump() == {
        "true_positive": 1, "false_positive": 1, "false_negative": 0, "true_negative": 2,
    }  # fmt: skip
    assert found.categories["B"].model_dump() == {
        "true_positive": 1, "false_positive": 1, "false_negative": 1, "true_negative": 1,
    }  # fmt: skip
    assert found.f1 == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert found.summary() == (
        "missed violations on 1 of 4 layouts (3.gds); reported false violations on 2 of 4 layouts (0.gds)"
    )


def test_executions_must_be_one_for_each_layout() -> None:
    with pytest.raises(ValueError, match="zip"):
        evaluate(rule_of("A", labels=("", "A")), [said()])


def test_names_are_no_memory_of_a_database_that_is_gone() -> None:
    names = [f"a_category_with_a_name_too_long_to_be_kept_in_place_{number}" for number in range(3000)]
    assert [name for name in names if written_name(name) != name] == []
