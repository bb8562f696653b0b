"""Structures and the expressions of their layers."""

from __future__ import annotations

import klayout.db as db
import pytest
from pydantic import ValidationError

from pytest_iclayout.rules.structure import LayerExpression, Structure
from pytest_iclayout.technology.models import RuleKind


@pytest.mark.parametrize(
    ("text", "every", "without"),
    [
        ("poly", ("poly",), ()),
        ("poly & diff - nwell", ("poly", "diff"), ("nwell",)),
        ("poly-nwell&diff", ("poly", "diff"), ("nwell",)),
        ("m1.drawing - a - b", ("m1.drawing",), ("a", "b")),
    ],
)
def test_expression_that_is_read_as_other_layers(text, every, without):
    expression = LayerExpression.model_validate(text)
    assert (expression.every, expression.without) == (every, without)
    assert LayerExpression.model_validate(str(expression)) == expression


@pytest.mark.parametrize("text", ["", "&", "a &", "- a", "a | b", "a + b", "a b", "a & (b - c)", "1a"])
def test_text_that_is_no_expression_is_refused(text):
    with pytest.raises(ValidationError, match="is no layer; write a name, or names joined with & and -"):
        LayerExpression.model_validate(text)


def test_region_that_is_not_where_all_of_every_and_none_of_without_are():
    drawn = {
        "a": db.Region(db.Box(0, 0, 10, 10)),
        "b": db.Region(db.Box(5, 0, 20, 10)),
        "c": db.Region(db.Box(0, 5, 20, 10)),
    }
    assert str(LayerExpression.model_validate("a & b - c").region(drawn.__getitem__)) == "(5,0;5,5;10,5;10,0)"
    # What is drawn is not changed by deriving from it.
    assert drawn["a"].bbox() == db.Box(0, 0, 10, 10)


@pytest.mark.parametrize("kind", list(RuleKind))
def test_number_of_layers_that_does_not_fit_the_kind_is_refused(kind):
    layer = LayerExpression(every=("a",))
    other = None if kind.takes_two_layers else layer
    with pytest.raises(ValidationError, match="needs other" if kind.takes_two_layers else "does not take other"):
        Structure(kind=kind, layer=layer, other=other, value_dbu=1)


def test_drawn_layers_are_told_once_each():
    structure = Structure(
        kind=RuleKind.SEPARATION,
        layer=LayerExpression.model_validate("a & b - n"),
        other=LayerExpression.model_validate("b - n"),
        value_dbu=5,
    )
    assert structure.layer_names == ("a", "b", "n")
