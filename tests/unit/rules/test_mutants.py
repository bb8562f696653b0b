"""Mutants of gold decks: what is put wrong, and what must never be touched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_iclayout.rules import ruby
from pytest_iclayout.rules.deck_edits import MutantKind
from pytest_iclayout.rules.mutants import (
    MutantKeyError,
    check_keys,
    chosen,
    mutants_of,
    mutants_to_try,
)
from pytest_iclayout.rules.rule import RuleError
from pytest_iclayout.rules.toml_file import load_rule_file

HEAD = 'source($input)\nreport("0.5 < 0.6", $output)\na = input(68, 20)\nb = input(69, 20)\nc = input(70, 20)\n'


def faults(line: str, kind: MutantKind) -> set[str]:
    """What the mutants of one kind make of a line below the head."""
    return {
        one.text.removeprefix(HEAD).rstrip("\n")
        for one in mutants_of(f"{HEAD}{line}\n")
        if one.kind is kind and one.text.startswith(HEAD)
    }


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("w = 0.14", {"w = 0.141", "w = 0.139"}),
        ("w = 1.0", {"w = 1.001", "w = 0.999"}),
        ("w = 0.14.um", {"w = 0.141.um", "w = 0.139.um"}),
        ("w = 1.um", {"w = 1.001.um", "w = 0.999.um"}),
        ("w = 140.nm", {"w = 141.nm", "w = 139.nm"}),
        ("w = 0.00014.mm", {"w = 0.000141.mm", "w = 0.000139.mm"}),
        ("w = 140", {"w = 141", "w = 139"}),
        ("w = 0.0", {"w = 0.001"}),
        ("x = a.sized(-0.1)", {"x = a.sized(-0.101)", "x = a.sized(-0.099)"}),
        ("x = a.with_area(0.083, nil)", {"x = a.with_area(0.084, nil)", "x = a.with_area(0.082, nil)"}),
        ("x = a.with_area(83000, nil)", {"x = a.with_area(84000, nil)", "x = a.with_area(82000, nil)"}),
        ("x = a.with_area(0.083.um2, nil)", {"x = a.with_area(0.084.um2, nil)", "x = a.with_area(0.082.um2, nil)"}),
        ("x = a.with_area(83000.nm2, nil)", {"x = a.with_area(84000.nm2, nil)", "x = a.with_area(82000.nm2, nil)"}),
        ("x = a.drc(area < 0.083)", {"x = a.drc(area < 0.084)", "x = a.drc(area < 0.082)"}),
        ("x = a.separation(b, 0.3)", {"x = a.separation(b, 0.301)", "x = a.separation(b, 0.299)"}),
        ("x = a.with_angle(45.0)", {"x = a.with_angle(46.0)", "x = a.with_angle(44.0)"}),
        ("x = a.with_density(0.2 .. nil)", {"x = a.with_density(0.202 .. nil)", "x = a.with_density(0.198 .. nil)"}),
        ("x = a.rounded_corners(0.5, 0.5, 1)", {
            "x = a.rounded_corners(0.501, 0.5, 1)", "x = a.rounded_corners(0.499, 0.5, 1)",
            "x = a.rounded_corners(0.5, 0.501, 1)", "x = a.rounded_corners(0.5, 0.499, 1)",
            "x = a.rounded_corners(0.5, 0.5, 2)", "x = a.rounded_corners(0.5, 0.5, 0)",
        }),
    ],
)  # fmt: skip
def test_a_number_is_put_wrong_by_the_least_that_its_unit_can_show(line, wrong):
    assert faults(line, MutantKind.NUMBER) == wrong


def test_the_step_follows_the_database_unit():
    wrong = {one.text for one in mutants_of("w = 0.14", dbu_um=0.005)}
    assert wrong == {"w = 0.145", "w = 0.135"}
    wrong = {one.text for one in mutants_of("x.drc(area < 0.5)", dbu_um=0.005) if one.kind is MutantKind.NUMBER}
    assert wrong == {"x.drc(area < 0.525)", "x.drc(area < 0.475)"}


@pytest.mark.parametrize(
    ("line", "kind", "wrong"),
    [
        ("x = a.drc(width < w)", MutantKind.COMPARISON, {"x = a.drc(width <= w)"}),
        ("x = a.drc(w >= width)", MutantKind.COMPARISON, {"x = a.drc(w > width)"}),
        ("x = a.drc(area == w)", MutantKind.COMPARISON, {"x = a.drc(area != w)"}),
        ("a.sep(b, w)", MutantKind.LAYER, {"b.sep(b, w)", "a.sep(c, w)"}),
        ("x = a - b\nx.width(w)", MutantKind.LAYER, {
            "x = b - b\nx.width(w)", "x = a - c\nx.width(w)", "x = a - b\na.width(w)",
        }),
        ("input(68, 20).width(w)", MutantKind.LAYER, {"input(69, 20).width(w)"}),
        ("x = a & b", MutantKind.DROPPED, {"x = a", "x = b"}),
        ("x = (a | b) ^ c", MutantKind.DROPPED, {"x = (a | b)", "x = c", "x = (a) ^ c", "x = (b) ^ c"}),
        ("x = a.sized(w).width(w)", MutantKind.DROPPED, {"x = a.width(w)"}),
        ("x = a.inside(b).not(c)", MutantKind.DROPPED, {"x = a.not(c)", "x = a.inside(b)"}),
        ("x = a.merged.edges", MutantKind.DROPPED, set()),
        ("x = a.not(b)", MutantKind.SWAPPED, {"x = b.not(a)"}),
        ("x = a.not(b | c)", MutantKind.SWAPPED, {"x = (b | c).not(a)"}),
        ("x = a.enclosed b, w", MutantKind.SWAPPED, {"x = b.enclosed a, w"}),
        ("x = a - (b & c)", MutantKind.SWAPPED, {"x = (b & c) - a"}),
        ("x = a - b - c", MutantKind.SWAPPED, {"x = c - (a - b)", "x = b - a - c"}),
        ("x = a.sep(b, w)", MutantKind.SWAPPED, set()),
        ("x = a.sep(b, w, projecting > w)", MutantKind.SWAPPED, {"x = b.sep(a, w, projecting > w)"}),
        ("x = a.sized(w)", MutantKind.SWAPPED, set()),
        ("a.interacting(b).output(n)", MutantKind.SWAPPED, set()),
        ("x = a.interacting(b)", MutantKind.SWAPPED, {"x = b.interacting(a)"}),
        ("x = a.width(w)", MutantKind.METRIC, {"x = a.width(w, square)", "x = a.width(w, projection)"}),
        ("x = a.width(projection, w)", MutantKind.METRIC, {"x = a.width(euclidian, w)", "x = a.width(square, w)"}),
        ("x = a.drc(width < w)", MutantKind.METRIC, {
            "x = a.drc(width(square) < w)", "x = a.drc(width(projection) < w)",
        }),
        ("x = a.space(w, square, angle_limit(w))", MutantKind.METRIC, {
            "x = a.space(w, projection, angle_limit(w))", "x = a.space(w, euclidian, angle_limit(w))",
            "x = a.space(w, square)",
        }),
        ("x = a.space(whole_edges, w, square)", MutantKind.METRIC, {
            "x = a.space(w, square)", "x = a.space(whole_edges, w, projection)",
            "x = a.space(whole_edges, w, euclidian)",
        }),
        ("a.space(w, square, whole_edges).output(n)", MutantKind.METRIC, {
            "a.space(w, projection, whole_edges).output(n)", "a.space(w, euclidian, whole_edges).output(n)",
        }),
        ("x = a.sized(w, square_limit)", MutantKind.METRIC, {
            "x = a.sized(w, octagon_limit)", "x = a.sized(w, acute_limit)",
        }),
        ("x = a.width(w)", MutantKind.CHECK, {"x = a.space(w)"}),
        ("x = a.drc(width < w)", MutantKind.CHECK, {"x = a.drc(space < w)"}),
        ("x = a.inside(b)", MutantKind.CHECK, {"x = a.outside(b)", "x = a.overlapping(b)"}),
        ("x = a.with_holes(w)", MutantKind.CHECK, {"x = a.without_holes(w)"}),
        ("x = a.enclosed(b, w)", MutantKind.CHECK, {"x = a.enclosing(b, w)"}),
        ("x = a & b", MutantKind.CHECK, {"x = a - b"}),
        ("width = 3\nx = width + 4", MutantKind.CHECK, set()),
        ('x.output("A", "w")', MutantKind.CATEGORY, {'x.output("A_other", "w")'}),
        ('[a].each { |l| l.output("#{l}") }', MutantKind.CATEGORY, {'[a].each { |l| l.output("#{l}_other") }'}),
        ('x.output("A") if y', MutantKind.SILENT, {"nil if y"}),
        ('x.output("A")\ny.output("B")', MutantKind.SILENT, {'nil\ny.output("B")', 'x.output("A")\nnil'}),
    ],
)  # fmt: skip
def test_each_kind_of_fault(line, kind, wrong):
    assert faults(line, kind) == wrong


USED = "[a, b, c].each { |one| one.flatten }\n"


def test_another_layers_numbers_are_read():
    wrong = {one.text for one in mutants_of(HEAD + USED) if one.kind is MutantKind.LAYER and one.line < 6}
    assert wrong == {
        HEAD.replace("a = input(68, 20)", "a = input(69, 20)") + USED,
        HEAD.replace("b = input(69, 20)", "b = input(70, 20)") + USED,
        HEAD.replace("c = input(70, 20)", "c = input(68, 20)") + USED,
    }


def test_a_crash_for_each_drawn_layer_stands_behind_the_deck():
    crashes = [one for one in mutants_of(HEAD + USED) if one.kind is MutantKind.CRASH]
    assert [re.findall(r"input\((.*?)\)\.is_empty", one.text) for one in crashes] == [
        ["68, 20"],
        ["69, 20"],
        ["70, 20"],
    ]
    assert all(one.text.startswith(HEAD + USED) and "raise" in one.text[len(HEAD + USED) :] for one in crashes)


def test_a_layer_that_the_deck_does_not_use_is_not_put_wrong():
    mutants = mutants_of(HEAD + "a.width(0.14)\n")
    assert {one.line for one in mutants if one.kind is MutantKind.LAYER} == {3, 6}
    assert [one.description for one in mutants if one.kind is MutantKind.CRASH] == ["raises where 68, 20 is not empty"]


@pytest.mark.parametrize(
    "line",
    [
        '# a.width(0.14) & b < 0.2',
        'report("a & b < 0.14", $output)',
        "log('0.14 #{a.width(0.14)}')",
        'info("a" + "b")',
        "threads(4)",
        "deep",
        "=begin\na.width(0.14)\n=end",
        'x = "width < 0.14"',
        "t = <<E\n0.14 a & b\nE",
        'x = "#{a.width(0.14)}"',
        "t = <<E\n#{a.width(0.14)}\nE",
        'x = "a" + n',
        'x = y[0]',
    ],
)  # fmt: skip
def test_what_measures_nothing_stays_as_it_is(line):
    place = HEAD.count("\n") + 1
    below = [one for one in mutants_of(f"{HEAD}{line}\n") if one.line >= place and one.kind is not MutantKind.CRASH]
    assert [one.description for one in below] == []


def test_the_description_of_an_output_stays_as_it_is():
    line = 'a.width(0.14).output("A", "width < 0.14 & a")'
    texts = [one.text for one in mutants_of(HEAD + line) if one.kind is not MutantKind.SILENT]
    assert all('"width < 0.14 & a"' in one for one in texts)


def test_places_are_counted_in_characters():
    (category,) = [one for one in mutants_of('x.output("µ0") # µ\nw = 0.1') if one.kind is MutantKind.CATEGORY]
    assert category.key == "category:1:13:1"
    assert category.text == 'x.output("µ0_other") # µ\nw = 0.1'


def test_two_faults_of_the_same_text_are_one_mutant():
    mutants = mutants_of("x = y & y")
    assert [(one.key, one.text) for one in mutants] == [("dropped:1:5:1", "x = y"), ("check:1:7:1", "x = y - y")]


DECK = (
    HEAD + 'x = a.sized(0.1).not(b & c)\nx.width(0.14).output("A")\nx.sep(b, 0.2, projection).output("B")\n'
    'a.drc(area < 0.083).output("C", "c")\n'
)
LINES = [
    *DECK.splitlines(),
    "y = (a | c).with_area(nil, 0.3.um2).edges.with_length(0.1 .. 0.2)",
    "def far(l, w) = l.space(w, whole_edges)",
    '[a, b].each do |one|\n  one.width(0.5.um).output("W_#{one}") unless one.is_empty?\nend',
    "# 0.14 & a",
    "x = a -",
    "'",
    "é = 0.1 ? a : b",
]


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=8))
def test_every_mutant_is_another_deck_that_can_still_be_parsed(lines):
    deck = "\n".join(lines)
    mutants = mutants_of(deck)
    texts = [one.text for one in mutants]
    assert deck not in texts
    assert len(set(texts)) == len(texts)
    assert len({one.key for one in mutants}) == len(mutants)
    if not ruby.parse(deck).has_error:
        assert [one.description for one in mutants if ruby.parse(one.text).has_error] == []
    assert mutants_of(deck) == mutants


def test_chosen_mutants_are_spread_over_the_kinds_and_over_the_deck():
    mutants = mutants_of(DECK + 'a.width(0.1 + 0.2 + 0.3 + 0.4).output("D")\n' * 5)
    some = chosen(mutants, 24)
    assert len(some) == 24
    assert {one.kind for one in some} == set(MutantKind)
    numbers = [one.line for one in some if one.kind is MutantKind.NUMBER]
    assert min(numbers) < 8 < max(numbers)
    assert len({one.key for one in some}) == 24
    assert chosen(mutants, 10_000) == mutants
    assert chosen(mutants, 0) == []


@pytest.mark.parametrize("key", ["number", "number:1", "nombre:1:1:1", "number:1:1:x"])
def test_a_key_that_is_none_is_told(key):
    with pytest.raises(MutantKeyError, match=f"'{key}' is no mutant's key; write KIND:LINE:COLUMN:NUMBER"):
        check_keys([key], mutants_of(DECK))


def test_a_key_of_no_mutant_is_told_with_those_near():
    with pytest.raises(
        MutantKeyError, match=r"'number:7:1:1' names no mutant .* near it are number:7:9:1, number:7:9:2"
    ):
        check_keys(["number:7:1:1"], mutants_of(DECK))


RULE = """
[[rule]]
id = "m1"
text = "met1 is at least 0.14 µm wide."
layers = { met1 = "68/20" }
pass = ["met1 0 0 1 0.14"]
fail = ["met1 0 0 1 0.139"]
gold = 'met1.width(0.14).output("m1")'
"""


def rule(tmp_path: Path, more: str = ""):
    path = tmp_path / "rules.toml"
    path.write_text(RULE + more, encoding="utf-8")
    return load_rule_file(path)[0]


def test_equivalent_mutants_of_a_rule_are_not_tried(tmp_path):
    keys = [one.key for one in mutants_to_try(rule(tmp_path))]
    left_out = next(key for key in keys if key.startswith("metric:"))
    assert [one.key for one in mutants_to_try(rule(tmp_path, f'equivalent = ["{left_out}"]'))] == [
        key for key in keys if key != left_out
    ]


def test_equivalent_key_that_names_no_mutant_is_an_error_of_the_file(tmp_path):
    with pytest.raises(RuleError, match=r"rules.toml: rule m1: equivalent: 'number:99:1:1' names no mutant"):
        rule(tmp_path, 'equivalent = ["number:99:1:1"]')
