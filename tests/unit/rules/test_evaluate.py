"""What a deck's executions say of a rule, read strictly and as the published evaluator does."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import klayout.rdb as rdb
import pytest

from pytest_iclayout.drc.category_names import written_name
from pytest_iclayout.drc.decks.execution import Execution, Status
from pytest_iclayout.drc.report import count_items
from pytest_iclayout.rules.evaluate import LayoutResult, Reading, evaluate, most_telling
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
    return Execution(status=Status.OK, items=items, written=tuple(written_name(one) for one in items if items[one]))


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


@pytest.mark.parametrize(
    ("path", "written", "lenient"),
    [(("M1", "a"), "M1.a", True), (("M1.a",), "'M1.a'", False), (("M1", "2b"), "M1.'2b'", False)],
)
def test_a_category_within_another_one_is_found_in_the_published_reading_where_its_name_needs_no_quotes(
    tmp_path: Path, path: tuple[str, ...], written: str, lenient: bool
) -> None:
    report = rdb.ReportDatabase("")
    category = report.create_category(path[0])
    for name in path[1:]:
        category = report.create_category(category, name)
    report.create_item(report.create_cell("TOP").rdb_id(), category.rdb_id())
    report.save(str(tmp_path / "a.lyrdb"))
    item = ElementTree.parse(tmp_path / "a.lyrdb").findtext("./items/item/category")
    counts = count_items(tmp_path / "a.lyrdb")
    assert counts.written == (written,) == (item,)
    rule = rule_of(".".join(path), labels=("", ".".join(path)))
    executions = [said(), Execution(status=Status.OK, items=counts.items, written=counts.written)]
    assert evaluate(rule, executions).success
    assert evaluate(rule, executions, Reading.LENIENT).success == lenient


def test_categories_of_one_name_are_told_apart_in_the_published_reading(tmp_path: Path) -> None:
    report = rdb.ReportDatabase("")
    cell, outer = report.create_cell("TOP"), report.create_category("M1")
    for category in (report.create_category(outer, "a"), report.create_category("M1.a")):
        report.create_item(cell.rdb_id(), category.rdb_id())
    report.save(str(tmp_path / "a.lyrdb"))
    assert count_items(tmp_path / "a.lyrdb") == ({"M1": 0, "M1.a": 2}, ("M1.a", "'M1.a'"))


@pytest.mark.parametrize("status", [Status.ERROR, Status.TIMEOUT, Status.KILLED])
def test_a_run_that_did_not_end_is_an_error_or_no_violation(status: Status) -> None:
    rule = rule_of("A", labels=("", "A"))
    executions = [Execution(status=status, reason="lost"), said(A=1)]
    strict, lenient = evaluate(rule, executions), evaluate(rule, executions, Reading.LENIENT)
    assert (strict.success, strict.error, strict.f1) == (False, True, 0.0)
    assert (lenient.success, lenient.error, lenient.f1) == (True, True, 1.0)


def test_layouts_on_which_a_deck_did_not_run_are_rightly_nothing_when_read_strictly() -> None:
    rule = rule_of("A", labels=("", "", "A", "A"))
    executions = [DIED, said(), said(A=1), DIED]
    strict, lenient = (evaluate(rule, executions, reading).categories["A"] for reading in Reading)
    assert strict.model_dump() == {
        "true_positive": 1, "false_positive": 0, "false_negative": 0, "true_negative": 1, "error": 2,
    }  # fmt: skip
    assert strict.f1 == 0
    # As published, where such a run found nothing.
    assert lenient.model_dump() == {
        "true_positive": 1, "false_positive": 0, "false_negative": 1, "true_negative": 2, "error": 0,
    }  # fmt: skip


def test_most_telling_layout_is_one_whose_labels_are_not_met() -> None:
    error = LayoutResult(layout="1", status=Status.ERROR, reason="lost")
    right, other, missed, false = (
        LayoutResult(layout=name, status=Status.OK, **what)
        for name, what in (
            ("2", {}),
            ("3", {"unexpected": ("X",)}),
            ("4", {"missed": ("A",)}),
            ("5", {"false": ("A",)}),
        )
    )
    assert most_telling([error, right, other, missed, false]) == missed
    assert most_telling([error, right, false, missed]) == false
    assert most_telling([error, right, other]) == other
    assert most_telling([right, error]) == error
    assert most_telling([right]) is None


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
        "true_positive": 1, "false_positive": 1, "false_negative": 0, "true_negative": 2, "error": 0,
    }  # fmt: skip
    assert found.categories["B"].model_dump() == {
        "true_positive": 1, "false_positive": 1, "false_negative": 1, "true_negative": 1, "error": 0,
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
