"""The bundled rules: what can be told of them without running a deck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from pytest_iclayout.rules.rule import Rule
from pytest_iclayout.rules.toml_file import load_rule_file
from pytest_iclayout.suite.folder import bundled_folder

FOLDER = bundled_folder() / "rules"
FILES = sorted(FOLDER.glob("*.toml"))


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    return [rule for path in FILES for rule in load_rule_file(path)]


def more_than_once(values: Iterable[str]) -> list[str]:
    return sorted(value for value, count in Counter(values).items() if count > 1)


def test_no_rule_file_lies_where_the_package_does_not_take_it_along() -> None:
    assert FILES
    assert sorted(FOLDER.rglob("*.toml")) == FILES


def test_ids_that_two_files_share_would_mix_their_records(rules: list[Rule]) -> None:
    assert more_than_once(rule.id for rule in rules) == []


def test_category_without_both_labels_accepts_a_deck_that_always_says_the_same(rules: list[Rule]) -> None:
    one_label = [
        (rule.id, name)
        for rule in rules
        for name in rule.category_names
        if len({name in layout.violates for layout in rule.layouts}) < 2
    ]
    assert one_label == []


def test_rule_with_few_layouts_lets_wrong_decks_through(rules: list[Rule]) -> None:
    assert [(rule.id, len(rule.layouts)) for rule in rules if len(rule.layouts) < 6] == []
    assert sum(len(rule.layouts) for rule in rules) >= 10 * len(rules)


def test_two_layouts_of_one_name_cannot_be_told_apart_in_a_record(rules: list[Rule]) -> None:
    twice = {rule.id: more_than_once(layout.name for layout in rule.layouts) for rule in rules}
    assert {rule: names for rule, names in twice.items() if names} == {}


def test_agent_that_is_told_nothing_cannot_write_a_deck(rules: list[Rule]) -> None:
    assert [rule.id for rule in rules if not rule.text.strip()] == []
    assert [(rule.id, one.name) for rule in rules for one in rule.categories if not one.text.strip()] == []


def test_text_that_stands_in_two_rules_was_not_fitted_to_one_of_them(rules: list[Rule]) -> None:
    assert more_than_once(rule.text for rule in rules) == []


def test_rule_without_a_gold_deck_or_a_group_cannot_be_tried_or_summed_up(rules: list[Rule]) -> None:
    assert [rule.id for rule in rules if rule.gold is None or not rule.group] == []


def test_layer_that_is_neither_named_nor_drawn_only_misleads(rules: list[Rule]) -> None:
    unused = [
        (rule.id, name)
        for rule in rules
        for name in rule.layers
        if name not in rule.text
        and not any(name in one.text for one in rule.categories)
        and not any(f"{name} " in getattr(layout.source, "text", "") for layout in rule.layouts)
    ]
    assert unused == []
