"""A rule of each shape as a model sees it: a change of a prompt is a change of the benchmark."""

from __future__ import annotations

import pytest
from shown_rules import gate_rule, width_rule
from syrupy.assertion import SnapshotAssertion

from pytest_iclayout.rules.prompt import Language, rule_context


@pytest.mark.parametrize("language", ["drc", "python"])
def test_prompt_changes_only_on_purpose(language: Language, snapshot: SnapshotAssertion) -> None:
    one = rule_context(width_rule(), language=language).prompt
    several = rule_context(gate_rule(), "layer.width(value)\nWidths below a value.", language).prompt
    assert one == snapshot(name=f"one category, {language}")
    assert several == snapshot(name=f"two categories with documentation, {language}")
