"""Layouts made from structures: labelled as another program, which did not make them, judges them."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from pytest_iclayout.rules.boundary import boundary_layouts
from pytest_iclayout.rules.embedded import embedded_verdict
from pytest_iclayout.rules.rule import LabelledLayout, RuleError
from pytest_iclayout.rules.structure import LayerExpression, Structure
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

LAYERS = {name: Layer(layer=number, datatype=20) for number, name in enumerate("abcde", 60)}
PAIRS = [("a", "b"), ("a & c - d", "b & e - d"), ("a & c", "b & c")]
VALUES = (2, 3, 7, 140, 141, 20000)


def structure(kind: RuleKind, value: int, layer: str = "a", other: str = "b", strict: bool = True) -> Structure:
    """``value`` is a length, for areas the side of a square, and a bit more so that it is none."""
    return Structure(
        kind=kind,
        layer=LayerExpression.model_validate(layer),
        other=LayerExpression.model_validate(other) if kind.takes_two_layers else None,
        value_dbu=value**2 + value % 3 if kind.is_area else value,
        overlap_is_error=strict,
        outside_is_error=strict,
    )


def made(one: Structure) -> list[LabelledLayout]:
    return boundary_layouts("cat", one, LAYERS, 0.001)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(("layer", "other"), PAIRS)
@pytest.mark.parametrize("kind", list(RuleKind))
def test_label_that_the_embedded_engine_does_not_confirm(kind, layer, other, strict):
    wrong = []
    for value in VALUES:
        one = structure(kind, value, layer, other, strict)
        wrong += [
            (value, layout.name)
            for layout in made(one)
            if embedded_verdict(one, LAYERS, layout.gds()) != bool(layout.violates)
        ]
    assert wrong == []


@pytest.mark.parametrize("kind", list(RuleKind))
@pytest.mark.parametrize("value", VALUES)
def test_label_of_which_there_are_hardly_any_layouts(kind, value):
    for strict in (True, False):
        layouts = made(structure(kind, value, strict=strict))
        failing = [one for one in layouts if one.violates]
        assert len(layouts) >= 10
        assert min(len(failing), len(layouts) - len(failing)) >= 3


@pytest.mark.parametrize("kind", list(RuleKind))
def test_layouts_that_differ_from_one_loading_to_the_next(kind):
    one = structure(kind, 140, "a & c - d", "b")
    first, second = ([(layout.name, layout.violates, layout.gds()) for layout in made(one)] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("kind", list(RuleKind))
def test_names_that_two_layouts_share_or_that_say_the_wrong_label(kind):
    layouts = made(structure(kind, 140, "a & c - d", "b & e - d"))
    names = [layout.name for layout in layouts]
    assert len(set(names)) == len(names)
    for layout in layouts:
        assert PurePosixPath(layout.name).parent.name == ("fail" if layout.violates else "pass")
        assert PurePosixPath(layout.name).name.startswith("cat-")


@pytest.mark.parametrize("kind", list(RuleKind))
def test_value_of_which_nothing_is_below_is_refused(kind):
    smallest = structure(kind, 140).model_copy(update={"value_dbu": 1})
    with pytest.raises(RuleError, match=f"{kind.value} of a.*, value 1: no layouts can be made"):
        made(smallest)


@pytest.mark.parametrize(
    ("kind", "layer", "other"),
    [
        (RuleKind.ENCLOSURE, "a & b", "b"),
        (RuleKind.EXTENSION, "a", "a & b"),
        (RuleKind.SEPARATION, "a - b", "b"),
        (RuleKind.SEPARATION, "a", "b - a"),
        (RuleKind.SEPARATION, "a - c", "a & c"),
    ],
)
def test_layers_of_one_another_are_drawn_so_that_labels_hold(kind, layer, other):
    one = structure(kind, 140, layer, other)
    assert [
        layout.name for layout in made(one) if embedded_verdict(one, LAYERS, layout.gds()) != bool(layout.violates)
    ] == []


@pytest.mark.parametrize(
    ("kind", "layer", "other"),
    [
        (RuleKind.WIDTH, "a - a", "b"),
        (RuleKind.SEPARATION, "a & b", "b"),
        (RuleKind.SEPARATION, "a", "a"),
        (RuleKind.ENCLOSURE, "a", "b - a"),
        (RuleKind.ENCLOSURE, "a - b", "b"),
        (RuleKind.EXTENSION, "a & b", "b"),
        (RuleKind.EXTENSION, "a", "b - a"),
    ],
)
def test_layers_that_cannot_be_drawn_as_declared_are_refused(kind, layer, other):
    with pytest.raises(RuleError, match=f"{kind.value} of {layer}.*leave it out and list layouts"):
        made(structure(kind, 140, layer, other))


def test_two_names_of_one_drawn_layer_are_refused_as_that_layer_twice():
    one = structure(RuleKind.SEPARATION, 140, "a", "b")
    with pytest.raises(RuleError, match="no layouts can be made"):
        boundary_layouts("cat", one, {"a": LAYERS["a"], "b": LAYERS["a"]}, 0.001)


def test_control_that_passes_with_one_drawn_layer_is_there_for_each_of_a_derived_layer():
    passing = {layout.name for layout in made(structure(RuleKind.WIDTH, 140, "a & c - d")) if not layout.violates}
    assert {f"pass/cat-{name}.gds" for name in ("without_a", "without_c", "covered_by_d")} <= passing


@pytest.mark.parametrize("wrong", ["a", "c", "a & c", "a - d", "c - d"])
@pytest.mark.parametrize("kind", list(RuleKind))
def test_deck_that_forgets_a_drawn_layer_of_a_derived_one_is_told(kind, wrong):
    right = structure(kind, 140, "a & c - d", "b")
    mistaken = structure(kind, 140, wrong, "b")
    verdicts = {embedded_verdict(mistaken, LAYERS, one.gds()) == bool(one.violates) for one in made(right)}
    assert verdicts == {True, False}


@pytest.mark.parametrize("off", [-1, 1])
@pytest.mark.parametrize("kind", list(RuleKind))
def test_deck_with_a_value_off_by_one_dbu_is_told(kind, off):
    right = structure(kind, 140)
    mistaken = right.model_copy(update={"value_dbu": right.value_dbu + off})
    verdicts = {embedded_verdict(mistaken, LAYERS, one.gds()) == bool(one.violates) for one in made(right)}
    assert verdicts == {True, False}
