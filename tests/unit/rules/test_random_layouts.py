"""Random layouts of structures: the embedded engine, which did not make them, finds their labels right."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from pytest_iclayout.rules.embedded import embedded_verdict
from pytest_iclayout.rules.random_layouts import labelled_layouts
from pytest_iclayout.rules.structure import LayerExpression, Structure
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

LAYERS = {name: Layer(layer=number, datatype=20) for number, name in enumerate("abcde", 60)}
PAIRS = [("a", "b"), ("a & c - d", "b & e"), ("a", "b - d")]
REPRODUCIBLE = settings(
    max_examples=50, derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
FIRST_FOUND = settings(REPRODUCIBLE, max_examples=1000, phases=[Phase.generate])


def structure(kind: RuleKind, value: int, layer: str, other: str, strict: bool) -> Structure:
    return Structure(
        kind=kind,
        layer=LayerExpression.model_validate(layer),
        other=LayerExpression.model_validate(other) if kind.takes_two_layers else None,
        value_dbu=value**2 + value % 3 if kind.is_area else value,
        overlap_is_error=strict,
        outside_is_error=strict,
    )


@pytest.mark.parametrize("kind", list(RuleKind))
@REPRODUCIBLE
@given(data=st.data())
def test_label_that_the_embedded_engine_does_not_confirm(kind, data):
    layer, other = data.draw(st.sampled_from(PAIRS))
    value = data.draw(st.sampled_from((5, 12, 34, 140, 141, 1000)))
    one = structure(kind, value, layer, other, data.draw(st.booleans()))
    layout = data.draw(labelled_layouts("cat", one, LAYERS, 0.001))
    assert embedded_verdict(one, LAYERS, layout.gds()) == bool(layout.violates), layout.source


@pytest.mark.parametrize("words", ["r90", "x3", "x0.5", "put", "path", "poly"])
@pytest.mark.parametrize("fails", [True, False])
def test_way_of_drawing_that_never_occurs(words, fails):
    one = structure(RuleKind.ENCLOSURE, 140, "a", "b", True)
    layouts = labelled_layouts("cat", one, LAYERS, 0.001)
    found = find(
        layouts,
        lambda layout: bool(layout.violates) is fails and words in layout.source.text,
        settings=FIRST_FOUND,
    )
    assert found.name.startswith("fail/cat-" if fails else "pass/cat-")


@pytest.mark.parametrize("kind", list(RuleKind))
@pytest.mark.parametrize("off", [-1, 1])
def test_value_off_by_one_that_no_layout_tells(kind, off):
    right = structure(kind, 35, "a", "b", True)
    mistaken = right.model_copy(update={"value_dbu": right.value_dbu + off})
    find(
        labelled_layouts("cat", right, LAYERS, 0.001),
        lambda layout: embedded_verdict(mistaken, LAYERS, layout.gds()) != bool(layout.violates),
        settings=FIRST_FOUND,
    )
