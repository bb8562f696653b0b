"""Statuses of the rules of a deck, from what its runs say at the labels."""

from __future__ import annotations

import pytest

from pytest_iclayout.drc.decks.execution import Execution, Status
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.rules.regression import (
    NEXT_STEPS,
    Label,
    Observation,
    RuleStatus,
    judge_rule,
    not_tested,
    similar_names,
)

REGION = Rect.of(0, 0, 2000, 1000)
PLACES = tuple(Rect.of(100 * number, 0, 100 * number + 50, 50) for number in range(5))


def ran(**items: int) -> Execution:
    return Execution(status=Status.OK, items=items)


CRASHED = Execution(status=Status.ERROR, reason="undefined method")


def label(violated: bool, layout: str = "a.gds", region: Rect | None = REGION) -> Label:
    return Label(rule="w", layout=layout, violated=violated, region=region)


def judged(*seen: tuple[Label, Observation]):
    return judge_rule("w", seen)


@pytest.mark.parametrize(
    ("violated", "reported", "status"),
    [
        (True, True, RuleStatus.MET),
        (False, False, RuleStatus.MET),
        (True, False, RuleStatus.MISSED),
        (False, True, RuleStatus.FALSE),
    ],
)
def test_label_and_report_make_the_status(violated, reported, status):
    result = judged((label(violated), Observation(execution=ran(w=1), reported=reported)))
    assert (result.status, result.labels[0].status) == (status, status)


def test_run_that_crashed_is_an_error_also_where_nothing_should_be_reported():
    result = judged((label(False), Observation(execution=CRASHED)))
    assert result.status is RuleStatus.ERROR
    assert str(result.labels[0]) == "error: a.gds box (0.000,0.000;2.000,1.000) µm: error: undefined method"


def test_error_on_one_layout_is_not_hidden_by_others():
    fine = (label(True), Observation(execution=ran(w=1), reported=True))
    result = judged(fine, (label(False, "b.gds"), Observation(execution=CRASHED)))
    assert result.status is RuleStatus.ERROR
    assert result.summary == "1 error, 1 met of 2 labels"


def test_rule_without_a_category_is_not_implemented_even_where_it_is_labelled_pass():
    result = judged((label(False), Observation(execution=ran(W=0, other=2))))
    assert result.status is RuleStatus.NOT_IMPLEMENTED
    assert result.summary == "not implemented: the deck's reports have no category w; similar ones: W"


def test_rule_is_not_called_not_implemented_when_no_run_can_tell():
    result = judged((label(True), Observation(execution=CRASHED)))
    assert result.status is RuleStatus.ERROR


def test_report_without_the_category_of_an_implemented_rule_has_no_markers():
    result = judged(
        (label(True), Observation(execution=ran(w=1), reported=True)),
        (label(True, "b.gds"), Observation(execution=ran(other=0))),
        (label(False, "c.gds"), Observation(execution=ran(other=0))),
    )
    assert [one.status for one in result.labels] == [RuleStatus.MET, RuleStatus.MISSED, RuleStatus.MET]


def test_missed_and_false_are_both_counted():
    result = judged(
        (label(True), Observation(execution=ran(w=1))),
        (label(False, "b.gds"), Observation(execution=ran(w=1), reported=True)),
        (label(True, "c.gds"), Observation(execution=ran(w=1), reported=True)),
    )
    assert result.status is RuleStatus.MISSED
    assert result.summary == "1 missed violation, 1 false violation, 1 met of 3 labels"


def test_false_violation_names_places_in_um():
    result = judged((label(False), Observation(execution=ran(w=5), reported=True, places=PLACES)))
    assert str(result.labels[0]) == (
        "false violation: a.gds box (0.000,0.000;2.000,1.000) µm: labelled pass, the deck reports one at "
        "(0.000,0.000;0.050,0.050) µm, (0.100,0.000;0.150,0.050) µm, (0.200,0.000;0.250,0.050) µm and 2 more"
    )


def test_label_of_a_whole_layout_names_the_layout_alone():
    result = judged((label(True, region=None), Observation(execution=ran(w=0))))
    assert str(result.labels[0]) == "missed violation: a.gds: labelled fail, the deck reports nothing there"


def test_categories_without_a_label_are_not_tested():
    assert not_tested([ran(w=1, b=0), ran(a=2), CRASHED], ["w", "unknown"]) == ("a", "b")


@pytest.mark.parametrize(
    ("name", "similar"),
    [("M1.2b", ["m1_2b"]), ("m1.1", ["m1_1"]), ("m1_22b", ["m1_2b"]), ("poly.8", [])],
)
def test_names_that_somebody_may_have_meant(name, similar):
    assert similar_names(name, ["m1_1", "m1_2b", "via"])[:1] == similar


def test_everything_that_is_not_met_has_a_next_step():
    assert set(NEXT_STEPS) == set(RuleStatus) - {RuleStatus.MET}
