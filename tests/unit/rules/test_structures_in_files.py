"""Structures in rule files: the layouts that come of them, and where they may not be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_iclayout.rules.rule import Rule, RuleError
from pytest_iclayout.rules.toml_file import load_rule_file

ONE = """
[[rule]]
id = "m1.w"
text = "m1 is at least 0.14 µm wide"
layers = { m1 = "68/20" }
gold = 'm1.width(0.14).output("m1_w")'
structure = { kind = "width", layer = "m1", value = 0.14 }
"""
TWO = """
[[rule]]
id = "two"
text = "m1 is at least 0.14 µm wide, {what}"
layers = {{ m1 = "68/20", m2 = "69/20", same = "68/20" }}
gold = 'm1.width(0.14).output("w")'
categories = [
  {{ name = "w", text = "m1 width", structure = {{ kind = "width", layer = "m1", value = 0.14 }} }},
  {{ name = "s", text = "{what}" {structure} }},
]
"""


def load(tmp_path: Path, text: str) -> Rule:
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    (rule,) = load_rule_file(path)
    return rule


def test_rule_of_one_category_without_the_layouts_of_its_structure(tmp_path):
    rule = load(tmp_path, ONE)
    assert {"pass/m1_w-at_value.gds", "fail/m1_w-one_below.gds"} <= {layout.name for layout in rule.layouts}
    assert all(layout.violates <= {"m1_w"} for layout in rule.layouts)


def test_layouts_of_categories_on_other_layers_with_a_name_in_common(tmp_path):
    other = ', structure = { kind = "width", layer = "m2", value = 0.2 }'
    rule = load(tmp_path, TWO.format(what="m2 0.2 µm", structure=other))
    names = [layout.name for layout in rule.layouts]
    assert len(set(names)) == len(names)
    assert {"fail/w-one_below.gds", "fail/s-one_below.gds"} <= set(names)


@pytest.mark.parametrize(
    ("structure", "why"),
    [
        (', structure = { kind = "space", layer = "m1", value = 0.14 }', "measures some of the same layers"),
        (', structure = { kind = "width", layer = "m2 - m1", value = 0.14 }', "measures some of the same layers"),
        (', structure = { kind = "width", layer = "same", value = 0.2 }', "measures some of the same layers"),
        ("", "declares no structure"),
    ],
)
def test_layouts_that_may_break_another_category_are_not_made(tmp_path, structure, why):
    with pytest.raises(RuleError) as raised:
        load(tmp_path, TWO.format(what="m2 also", structure=structure))
    assert str(raised.value) == (
        f"{tmp_path / 'rules.toml'}: rule two: structure: the layouts made for category w may break s, which {why}; "
        "leave the structure of w out and list layouts in pass, fail.w or layout"
    )


def test_structure_that_gives_no_layouts_names_the_file_and_the_rule(tmp_path):
    text = ONE.replace('layer = "m1", value', 'layer = "m1 - m1", value')
    with pytest.raises(RuleError, match=r"rules\.toml: rule m1\.w: structure: width of m1 - m1, value 140: no layouts"):
        len(load(tmp_path, text).layouts)


BARE = """
[[rule]]
id = "m1.w"
text = "m1 is wide."
title = 'a "b" #{exit} c\\'
layers = { m1 = "1/0" }
gold = 'm1.width(0.14).output("m1_w")'
"""


def test_rule_without_layouts_is_an_error_as_any_deck_would_solve_it(tmp_path):
    with pytest.raises(RuleError, match=r"rules\.toml: rule m1\.w: no layouts; give a structure, or pass, fail or"):
        load(tmp_path, BARE)


def test_title_cannot_end_its_text_in_the_gold_deck(tmp_path):
    rule = load(tmp_path, BARE + 'pass = ["m1 0 0 1 1"]\n')
    assert rule.gold is not None
    assert r'report("a \"b\" \#{exit} c\\", $output)' in str(rule.gold)


def test_structure_without_its_second_layer_is_told_in_one_line(tmp_path):
    text = BARE + 'structure = { kind = "enclosure", layer = "m1", value = 0.1 }\n'
    with pytest.raises(RuleError) as caught:
        load(tmp_path, text)
    assert str(caught.value).endswith("structure: kind enclosure needs other")


def test_category_that_no_listed_layout_violates_is_warned_of_as_in_a_published_rule(tmp_path):
    text = (
        BARE
        + """categories = [{ name = "W", text = "wide" }, { name = "S", text = "spaced" }]
pass = ["m1 0 0 1 1"]
fail.W = ["m1 0 0 0.1 1"]
"""
    )
    (warning,) = load(tmp_path, text).warnings
    assert warning == "category S: no layout violates it; the published evaluator counts no deck as right then"
    assert load(tmp_path, f'{text}fail.S = ["m1 0 0 1 1"]\n').warnings == ()
    (warning,) = load(tmp_path, BARE + 'fail = ["m1 0 0 0.1 1"]\n').warnings
    assert warning == "category m1_w: every layout violates it; a deck that always reports it is right"


def test_structure_has_layouts_of_both_labels_and_no_warning(tmp_path):
    structure = 'structure = { kind = "width", layer = "m1", value = 0.14 }\n'
    assert load(tmp_path, BARE + structure).warnings == ()
    assert load(tmp_path, BARE + structure + 'fail = ["m1 0 0 0.1 1"]\n').warnings == ()
