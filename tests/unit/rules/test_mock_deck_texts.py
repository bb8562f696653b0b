"""Decks made from structures, as text; tests/eda runs them."""

from __future__ import annotations

from dataclasses import replace

from shown_rules import gate_rule, width_rule

from pytest_iclayout.rules.mock_decks import deck_for


def test_deck_of_a_category_without_structure_is_not_guessed():
    rule = gate_rule()
    assert deck_for(rule) is None
    assert deck_for(replace(rule, structures={"GATE_W": width_rule().structures["m1_1"]})) is None


def test_whole_number_of_micrometres_has_a_point_or_it_would_be_database_units():
    rule = width_rule()
    structure = rule.structures["m1_1"].model_copy(update={"value_dbu": 2000})
    assert ".width(2.0).output('m1_1')" in (deck_for(replace(rule, structures={"m1_1": structure})) or "")


def test_small_value_is_written_without_an_exponent():
    rule = width_rule()
    structure = rule.structures["m1_1"].model_copy(update={"value_dbu": 1})
    deck = deck_for(replace(rule, structures={"m1_1": structure}, dbu_um=0.00001))
    assert ".width(0.00001).output('m1_1')" in (deck or "")
