"""Label, embedded engine and gold deck: where they disagree it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_iclayout.drc.decks.execution import Execution, Status
from pytest_iclayout.rules.agreement import disagreement
from pytest_iclayout.rules.rule import LabelledLayout, Rule, RuleCategory
from pytest_iclayout.rules.shape_list import ShapeList
from pytest_iclayout.rules.structure import LayerExpression, Structure
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

LAYERS = {"m1": Layer(layer=68, datatype=20), "same": Layer(layer=68, datatype=20)}
NARROW = "m1 0 0 0.1 1"
FOUND, CLEAN = (Execution(status=Status.OK, items={"w": count}) for count in (2, 0))


def rule(*layouts: LabelledLayout, declared: bool = True) -> Rule:
    structure = Structure(kind=RuleKind.WIDTH, layer=LayerExpression(every=("m1",)), value_dbu=140)
    return Rule(
        id="m1.w",
        title="",
        text="m1 is at least 0.14 µm wide",
        layers=LAYERS,
        categories=(RuleCategory(name="w", text=""),),
        layouts=layouts,
        path=Path("rules.toml"),
        structures={"w": structure} if declared else {},
    )


def layout(shapes: str, *violates: str) -> LabelledLayout:
    return LabelledLayout("fail/1.gds", frozenset(violates), ShapeList(shapes, LAYERS))


def test_agreement_of_all_three_is_no_finding():
    assert disagreement(rule(), "w", layout(NARROW, "w"), FOUND) is None
    assert disagreement(rule(), "w", layout("m1 0 0 1 1"), CLEAN) is None


@pytest.mark.parametrize(
    ("one", "execution", "told"),
    [
        (layout(NARROW), FOUND, "the label: kept; the embedded engine: violated; the gold deck: violated"),
        (layout("m1 0 0 1 1", "w"), FOUND, "the label: violated; the embedded engine: kept; the gold deck: violated"),
        (layout(NARROW, "w"), CLEAN, "the label: violated; the embedded engine: violated; the gold deck: kept"),
    ],
)
def test_one_that_differs_from_the_other_two_is_named(one, execution, told):
    assert disagreement(rule(), "w", one, execution) == f"fail/1.gds: w: {told}"


def test_run_that_did_not_end_agrees_with_nothing():
    ended = Execution(status=Status.ERROR, reason="no method widht")
    message = disagreement(rule(), "w", layout("m1 0 0 1 1"), ended)
    assert message is not None
    assert message.endswith("the gold deck did not run to its end: no method widht")


def test_category_without_a_structure_is_compared_with_the_deck_alone():
    undeclared = rule(declared=False)
    assert disagreement(undeclared, "w", layout(NARROW, "w"), FOUND) is None
    told = "fail/1.gds: w: the label: kept; the gold deck: violated"
    assert disagreement(undeclared, "w", layout(NARROW), FOUND) == told


def test_layout_that_cannot_be_read_is_a_finding(tmp_path):
    path = tmp_path / "x.gds"
    path.write_bytes(b"no layout")
    message = disagreement(rule(), "w", LabelledLayout("pass/x.gds", frozenset(), path), CLEAN)
    assert message is not None
    assert message.startswith("pass/x.gds: ")
