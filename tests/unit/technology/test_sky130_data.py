"""The SKY130 data against the published tables it was transcribed from."""

from __future__ import annotations

import csv
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from pytest_iclayout.technology.load import builtin_technology
from pytest_iclayout.technology.models import Rule, RuleKind

REFERENCE = Path(__file__).parents[4] / "shared" / "reference"
SKY130 = builtin_technology("sky130")

TWO_LAYERS_EACH_BY_ITSELF = {"difftap.1", "n/ psd.1", "n/ psd.2", "n/ psd.11"}
ONE_LAYER_OF_A_ROW_WITH_ONE = {"n/ psd.10a": "nsdm", "n/ psd.10b": "psdm"}


def rows_of(name: str) -> list[dict[str, str]]:
    path = REFERENCE / name
    if not path.is_file():
        pytest.skip(f"the published table {name} is not beside the repository")
    with path.open(encoding="utf-8") as table:
        return list(csv.DictReader(table))


def value_of(row: dict[str, str]) -> Decimal:
    """In dbu or dbu², of which 1000 make a µm."""
    return Decimal(row["value_um"]) * (10**6 if row["kind"] in ("area", "hole_area") else 10**3)


def test_full_set_has_every_unambiguous_row_once_a_layer_and_no_more():
    rows = [row for row in rows_of("sky130_rules.csv") if row["rule_class"] == "geometric_unambiguous"]
    rules: dict[str, list[Rule]] = defaultdict(list)
    for rule in SKY130.rule_set("full"):
        rules[rule.source].append(rule)
    assert set(rules) == {f"{row['rule_id']}, {row['table']}" for row in rows}
    assert len(rows) == 78
    for row in rows:
        found = rules[f"{row['rule_id']}, {row['table']}"]
        drawn = dict(pair.split("=") for pair in row["drawn_layers"].replace(":", "/").split(";"))
        assert {rule.id for rule in found} == {row["rule_id"].removesuffix(".-").replace("n/ psd", "npsd")}
        assert {Decimal(rule.value) for rule in found} == {value_of(row)}, row["rule_id"]
        names = [{SKY130.name_of(layer) for layer in rule.layers} for rule in found]
        if row["rule_id"] in TWO_LAYERS_EACH_BY_ITSELF:
            assert sorted(names, key=min) == sorted(({name} for name in drawn), key=min)
        elif row["rule_id"] in ONE_LAYER_OF_A_ROW_WITH_ONE:
            assert names == [{ONE_LAYER_OF_A_ROW_WITH_ONE[row["rule_id"]]}]
        else:
            assert names == [set(drawn)]
        assert all(str(layer) in drawn.values() for rule in found for layer in rule.layers)
        if row["kind"] == "spacing":
            kind = RuleKind.SEPARATION if len(names[0]) == 2 else RuleKind.SPACE
        else:
            kind = RuleKind(row["kind"])
        assert {rule.kind for rule in found} == {kind}, row["rule_id"]


def test_enclosure_rules_have_the_cut_or_mark_inside():
    # A table row names its two layers in any order; only its text says which lies inside.
    inside = {
        rule.id: (SKY130.name_of(rule.layer), SKY130.name_of(rule.layers[1]))
        for rule in SKY130.rule_set("full")
        if rule.kind is RuleKind.ENCLOSURE
    }
    assert inside == {
        "ct.4": ("mcon", "li1"),
        "vpp.8": ("capacitor", "nwell"),
        "via.4a": ("via", "met1"),
        "m2.4": ("via", "met2"),
        "via2.4": ("via2", "met2"),
        "m3.4": ("via2", "met3"),
        "via3.4": ("via3", "met3"),
        "m4.3": ("via3", "met4"),
        "m5.3": ("via4", "met5"),
        "via4.4": ("via4", "met4"),
    }


def test_only_rules_over_intended_overlaps_are_lenient():
    full = SKY130.rule_set("full")
    assert [rule.id for rule in full if not rule.overlap_is_error] == ["rpm.7"]
    assert [rule.id for rule in full if not rule.outside_is_error] == ["vpp.8"]


def test_published_set_is_the_published_subset():
    rows = [row for row in rows_of("published_drc_subsets.csv") if row["process"] == "sky130"]
    expected = [
        (
            row["rule_id"],
            row["kind"].replace("spacing", "space"),
            row["layer"],
            row["other_layer"] or None,
            int(row["value_dbu"]),
        )
        for row in rows
    ]
    got = [
        (
            rule.id,
            rule.kind.value,
            str(rule.layer),
            None if rule.other_layer is None else str(rule.other_layer),
            rule.value,
        )
        for rule in SKY130.rule_set("published")
    ]
    assert len(got) == 26
    assert got == expected


def test_stack_closes_without_gap_from_poly_to_the_top_metal():
    slabs = ["poly", "licon1", "li1", "mcon", "met1", "via", "met2", "via2", "met3", "via3", "met4", "via4"]
    for below, above in zip(slabs, [*slabs[1:], "met5"], strict=True):
        low = SKY130.entry(SKY130.layer_named(below))
        high = SKY130.entry(SKY130.layer_named(above))
        assert low is not None
        assert high is not None
        assert low.z_bottom_nm is not None
        assert low.thickness_nm is not None
        assert low.z_bottom_nm + low.thickness_nm == high.z_bottom_nm, above


def test_every_label_layer_is_declared():
    # A text on a layer that the technology does not know could be drawn by nobody.
    assert [entry.name for entry in SKY130.layers if entry.label is not None and entry.label not in SKY130] == []
