"""drc_clean's witness for two layers that cross is clean whatever the two layers' rules are."""

from __future__ import annotations

from itertools import combinations

import pytest
from judging import oracle_of

from pytest_iclayout.technology.load import builtin_technology
from pytest_iclayout.technology.models import RuleKind

SKY130 = builtin_technology("sky130")


@pytest.mark.parametrize("rule_set", ["published", "full"])
def test_crossing_bar_is_as_long_as_its_width_rule_asks(rule_set: str) -> None:
    """met5 must be 1600 dbu wide everywhere, also where it only has to cross a thin layer."""
    layers = sorted({rule.layer for rule in SKY130.rule_set(rule_set) if rule.kind is RuleKind.WIDTH})
    rejected = []
    for one, other in combinations(layers, 2):
        for pair in (f"{one}*{other}", f"{other}*{one}"):
            try:
                oracle = oracle_of(f"drc_clean:crossing={pair}", rule_set=rule_set)
                witness = oracle.witness()
            except ValueError:
                continue  # two layers that may not overlap have no such witness, and that is said
            verdict = oracle.judge(oracle.build(witness))
            if not verdict.ok:
                rejected.append((pair, verdict.summary(1)))
    assert rejected == []
