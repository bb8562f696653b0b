"""What is wrong with a TOML file of rules is told once, by the key that its author wrote; and no key is silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_iclayout.rules.rule import Rule, RuleError
from pytest_iclayout.rules.toml_file import load_rule_file

ONE = """
[[rule]]
id = "m1"
text = "met1 is at least 0.14 µm wide."
layers = { met1 = "68/20" }
gold = 'met1.width(0.14).output("m1")'
"""
TWO = """
[[rule]]
id = "m1"
text = "met1 is at least 0.14 µm wide, and as far apart."
layers = { met1 = "68/20" }
categories = [{ name = "A", text = "narrow" }, { name = "B", text = "near" }]
gold = 'met1.width(0.14).output("A"); met1.space(0.14).output("B")'
"""
STRUCTURE = 'structure = { kind = "width", layer = "met1", value = 0.14 }\n'
GOOD, BAD = '"met1 0 0 1 1"', '"met1 0 0 1"'
WHY = "met1 0 0 1: a box needs 4 numbers, LEFT BOTTOM RIGHT TOP, and has 3"


def load(tmp_path: Path, text: str) -> Rule:
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    (rule,) = load_rule_file(path)
    return rule


def error_of(tmp_path: Path, text: str) -> str:
    with pytest.raises(RuleError) as raised:
        load(tmp_path, text)
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith(f"{tmp_path / 'rules.toml'}: ")
    return message.removeprefix(f"{tmp_path / 'rules.toml'}: ")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (ONE + f"pass = [{BAD}]", "pass[0]"),
        (ONE + f"pass = [{GOOD}]\nfail = [{GOOD}, {BAD}]", "fail[1]"),
        (TWO + f"pass = [{GOOD}, {GOOD}]\nfail.B = [{GOOD}, {BAD}]", "fail.B[1]"),
        (TWO + f"pass = [{GOOD}]\n[[rule.layout]]\nviolates = []\nshapes = {BAD}", "layout[0].shapes"),
        (ONE + f"base = {BAD}\npass = [{GOOD}]", "base"),
        (ONE + f'base = "cell A {{ met1 0 0 1 1 }}"\npass = ["put A 0 0", {BAD}]', "pass[1]"),
    ],
)
def test_wrong_shapes_are_told_by_the_key_that_holds_them(tmp_path: Path, text: str, key: str) -> None:
    assert error_of(tmp_path, text) == f"rule m1: {key}: {WHY}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ONE.replace("text =", "title =") + f"fail = [{GOOD}]", "rule m1: text: required, but not given"),
        (ONE.replace("gold =", "title ="), "rule m1: gold: required, but not given"),
        (ONE.replace('id = "m1"', ""), "rule[0].id: required, but not given"),
        (
            ONE.replace('"met1 is at least 0.14 µm wide."', "3"),
            "rule m1: text: input should be a valid string (given 3)",
        ),
        (TWO + f"fail.C = [{GOOD}]", "rule m1: fail.C: no category 'C'; the rule has A, B"),
        (
            TWO + f'[[rule.layout]]\nviolates = ["A", "C"]\nshapes = {GOOD}',
            "rule m1: layout[0].violates: no category 'C'; the rule has A, B",
        ),
        (
            TWO + f"fail = [{GOOD}]",
            "rule m1: fail: a list is for rules of one category; write fail.CATEGORY = [...]",
        ),
        (ONE + "fail = [3]", "rule m1: fail[0]: input should be a valid string (given 3)"),
        (ONE + f"fail = {GOOD}", "rule m1: fail: needs a table of keys (given 'met1 0 0 1 1')"),
        (ONE + f"pass = {GOOD}", "rule m1: pass: needs a list (given 'met1 0 0 1 1')"),
        (ONE + 'categories = ["A"]', "rule m1: categories[0]: needs a table of keys (given 'A')"),
        (
            ONE + "categories = []",
            "rule m1: categories: tuple should have at least 1 item after validation, not 0 (given [])",
        ),
        (
            ONE + 'base = "met1 0 0 1 1"\n' + STRUCTURE,
            "rule m1: base: is for layouts in pass, fail or layout, and there are none",
        ),
        (
            'technology = "sky131"' + ONE,
            "technology: no technology 'sky131' is built in; there is sky130",
        ),
        (
            ONE.replace('{ met1 = "68/20" }', '["met1"]'),
            "rule m1: layers: names need the file's technology; else write a table",
        ),
        (
            'technology = "sky130"' + ONE.replace('{ met1 = "68/20" }', '["met1", "met1"]'),
            "rule m1: layers: met1 is listed twice",
        ),
        (
            ONE + 'passes = [""]',
            "rule m1: passes: unknown key; keys of rule are id, title, text, layers, categories, structure, gold, "
            "base, pass, fail, layout, equivalent",
        ),
        (
            "dbu = 0.001" + ONE,
            "dbu: unknown key; keys of the file are group, technology, dbu_um, rule",
        ),
        (
            ONE + STRUCTURE.replace("}", ", x = 1 }"),
            "rule m1: structure.x: unknown key; keys of structure are kind, layer, other, value, overlap_is_error, "
            "outside_is_error",
        ),
        (
            ONE.replace("[[rule]]", "[[rules]]"),
            "rule: required, but not given; rules: unknown key; keys of the file are group, technology, dbu_um, rule",
        ),
        (
            ONE.replace("[[rule]]", "[rule]"),
            "rule: is one table; a file has a list of them, so write [[rule]]",
        ),
        ("dbu_um = inf" + ONE, "dbu_um: input should be less than or equal to 1000 (given inf)"),
        ("dbu_um = true" + ONE, "dbu_um: input should be a valid number (given True)"),
        (
            ONE + STRUCTURE.replace("met1", "met2"),
            "rule m1: structure: no layer 'met2'; the rule has met1",
        ),
        (
            TWO.replace('text = "near"', 'text = "near", ' + STRUCTURE.strip().replace("met1", "met2")),
            "rule m1: categories[1].structure: no layer 'met2'; the rule has met1",
        ),
        (
            TWO + STRUCTURE,
            "rule m1: structure: is for rules without categories; give each category its own",
        ),
        (
            ONE + STRUCTURE.replace("0.14", "inf"),
            "rule m1: structure.value: input should be a finite number (given inf)",
        ),
        (
            ONE + STRUCTURE.replace("0.14", "5000.001"),
            "rule m1: structure: value: 5000.001 is too large to be drawn; at most 5000",
        ),
        (
            ONE + STRUCTURE.replace("0.14", "25000000.001").replace("width", "area"),
            "rule m1: structure: value: 25000000.001 is too large to be drawn; at most 25000000",
        ),
    ],
)
def test_fault_is_told_once_with_its_key_and_what_is_accepted(tmp_path: Path, text: str, message: str) -> None:
    assert error_of(tmp_path, text) == message


def test_number_of_too_many_digits_is_told_as_what_is_no_toml(tmp_path: Path) -> None:
    assert error_of(tmp_path, "number = " + "1" * 5000 + ONE).startswith("not TOML: Exceeds the limit (4300")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("end", "'end' is a keyword of Ruby, in which decks are written; give it another name"),
        ("BEGIN", "'BEGIN' is a keyword of Ruby, in which decks are written; give it another name"),
        ("put", "'put' is a word of shape lists; give it another name"),
        ("a b", "'a b' is no name of letters, digits, _ and . that begins with no digit"),
        ("1a", "'1a' is no name of letters, digits, _ and . that begins with no digit"),
        *(
            (
                name,
                f"'{name}' cannot be a variable of the gold deck; give it another name, or write the whole deck, with "
                "source($input)",
            )
            for name in ("m1.pin", "source", "_1")
        ),
    ],
)
def test_layer_that_no_deck_could_name_is_refused(tmp_path: Path, name: str, message: str) -> None:
    text = ONE.replace("{ met1 =", f'{{ "{name}" = "1/0", met1 =')
    assert error_of(tmp_path, text) == f"rule m1: layers: {message}"


def test_names_of_methods_are_no_fault_of_layers_and_a_whole_deck_need_not_assign_them(tmp_path: Path) -> None:
    names = ("input", "report", "capacitor", "M1", "ending", "_")
    many = ", ".join(f'{name} = "1/{number}"' for number, name in enumerate(names))
    rule = load(tmp_path, ONE.replace('met1 = "68/20"', f'met1 = "68/20", {many}') + f"pass = [{GOOD}]")
    assert "input = input(1, 0)\n" in str(rule.gold)
    whole = ONE.replace("{ met1 =", '{ "m1.pin" = "1/0", met1 =').replace("gold = '", "gold = 'source($input); ")
    assert list(load(tmp_path, whole + f"pass = [{GOOD}]").layers) == ["m1.pin", "met1"]


def test_id_that_is_too_long_for_names_of_files_is_refused_and_not_repeated(tmp_path: Path) -> None:
    load(tmp_path, ONE.replace('"m1"', f'"{"m" * 200}"', 1) + STRUCTURE)
    message = error_of(tmp_path, ONE.replace('"m1"', f'"{"m" * 300}"', 1) + STRUCTURE)
    assert message == f"rule[0].id: string should have at most 200 characters (given '{'m' * 58}…)"
