"""Layouts made from structures and of public reports, judged by the application with the plainest deck."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import Phase, given, settings
from obvious_decks import obvious_deck
from public_reports import LAYERS as REPORTED_LAYERS
from public_reports import REPORTS

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.pool import DeckPool, run_all
from pytest_iclayout.rules.boundary import boundary_layouts
from pytest_iclayout.rules.random_layouts import labelled_layouts
from pytest_iclayout.rules.rule import LabelledLayout
from pytest_iclayout.rules.structure import LayerExpression, Structure
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

pytestmark = pytest.mark.eda

LAYERS = {name: Layer(layer=number, datatype=20) for number, name in enumerate("abcde", 60)}
KINDS = [(kind, strict) for kind in RuleKind for strict in ((True, False) if kind.takes_two_layers else (True,))]


def structure(kind: RuleKind, strict: bool, value: int, layer: str = "a", other: str = "b") -> Structure:
    return Structure(
        kind=kind,
        layer=LayerExpression.model_validate(layer),
        other=LayerExpression.model_validate(other) if kind.takes_two_layers else None,
        value_dbu=value**2 + value % 3 if kind.is_area else value,
        overlap_is_error=strict,
        outside_is_error=strict,
    )


def disagreements(pool: DeckPool, one: Structure, dbu_um: float, deck: Deck | None = None) -> Iterator[str]:
    layouts = boundary_layouts("cat", one, LAYERS, dbu_um)
    deck = deck or obvious_deck("cat", one, LAYERS)
    for layout, run in zip(layouts, pool.run(deck, [layout.gds() for layout in layouts], batch=True), strict=True):
        execution = run.result()
        assert execution.ok, execution.reason
        if execution.violated != layout.violates:
            yield f"{one.value_dbu} {layout.name}"


@pytest.mark.parametrize("value", [2, 3, 140, 141, 333, 20000])
@pytest.mark.parametrize(("kind", "strict"), KINDS)
def test_label_that_the_application_does_not_confirm(pool, kind, strict, value):
    assert list(disagreements(pool, structure(kind, strict, value), 0.001)) == []


@pytest.mark.parametrize(("kind", "strict"), KINDS)
def test_label_of_a_derived_layer_that_the_application_does_not_confirm(pool, kind, strict):
    one = structure(kind, strict, 35, "a & c - d", "b & e - d")
    assert list(disagreements(pool, one, 0.005)) == []


def test_extension_beyond_a_part_of_the_layer_that_the_application_does_not_confirm(pool):
    one = structure(RuleKind.EXTENSION, False, 140, "a", "a & b")
    # The edges of a & b include those of a, beyond which nothing reaches; those of b are crossed.
    drawn = structure(RuleKind.EXTENSION, False, 140, "a", "b")
    assert list(disagreements(pool, one, 0.001, obvious_deck("cat", drawn, LAYERS))) == []


@pytest.mark.parametrize("report", REPORTS, ids=str)
def test_layout_of_a_public_report_that_the_application_judges_otherwise(pool, report):
    (execution,) = run_all(pool, obvious_deck("cat", report.structure, REPORTED_LAYERS), [report.gds()])
    assert execution.ok, execution.reason
    assert ("cat" in execution.violated) is report.violates


@pytest.mark.parametrize(("kind", "strict"), KINDS)
def test_label_of_a_random_layout_that_the_application_does_not_confirm(pool, kind, strict):
    one = structure(kind, strict, 34, "a & c", "b")
    layouts: list[LabelledLayout] = []

    @settings(max_examples=60, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
    @given(labelled_layouts("cat", one, LAYERS, 0.001))
    def collect(layout: LabelledLayout) -> None:
        layouts.append(layout)

    collect()
    executions = run_all(pool, obvious_deck("cat", one, LAYERS), [layout.gds() for layout in layouts], batch=True)
    assert all(execution.ok for execution in executions)
    wrong = [
        layout.source
        for layout, execution in zip(layouts, executions, strict=True)
        if execution.violated != layout.violates
    ]
    assert wrong == []
    assert {bool(layout.violates) for layout in layouts} == {True, False}
