"""A tree that is written is read again as the rules that it was written from, by us and as the format says."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from published_tree import LABELS, bar, make_tree

from pytest_iclayout.cli import main
from pytest_iclayout.rules.published import load_published_rule
from pytest_iclayout.rules.rule import LabelledLayout, Rule, RuleCategory, RuleError
from pytest_iclayout.rules.shape_list import ShapeList
from pytest_iclayout.rules.toml_file import load_rule_file
from pytest_iclayout.rules.writing import write_published
from pytest_iclayout.technology.layers import Layer

TOML = """
group = "metal"

[[rule]]
id = "m1"
title = "met1: width and space"
text = "met1 is at least 0.14 µm wide, and as far apart"
layers = { met1 = "68/20", "on" = "69/44" }
categories = [{ name = "W", text = "narrow" }, { name = "S", text = "near" }]
gold = 'met1.width(0.14).output("W"); met1.space(0.14).output("S")'
pass = ["met1 0 0 0.14 1"]
fail.W = ["met1 0 0 0.1 1"]

[[rule.layout]]
violates = ["W", "S"]
shapes = "met1 0 0 0.1 1; met1 0.2 0 0.4 1"
"""
MET1 = {"met1": Layer(layer=68, datatype=20)}


def ours(folder: Path) -> Rule:
    path = folder / "rules.toml"
    path.write_text(TOML, encoding="utf-8")
    (rule,) = load_rule_file(path)
    return rule


def rule_of(*layouts: LabelledLayout, rule_id: str = "r") -> Rule:
    return Rule(
        id=rule_id,
        title="a title",
        text="a text",
        layers=MET1,
        categories=(RuleCategory(name="A", text="a"),),
        layouts=layouts,
        path=Path("some.toml"),
    )


def shapes(name: str, *violates: str, width: str = "1") -> LabelledLayout:
    return LabelledLayout(name, frozenset(violates), ShapeList(f"met1 0 0 {width} 1", MET1))


def content(rule: Rule) -> tuple[object, ...]:
    deck = rule.gold_deck()
    assert deck is not None
    return (
        rule.id, rule.title, rule.text, dict(rule.layers), rule.categories, rule.group, deck.digest,
        [(one.name, one.violates, one.gds()) for one in rule.layouts],
    )  # fmt: skip


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    rule = ours(tmp_path)
    (path,) = write_published([rule], tmp_path / "tree")
    again = load_published_rule(path)
    assert content(again) == content(rule)
    assert again.warnings == ()


def test_the_files_name_each_other_as_the_published_programs_look_for_them(tmp_path: Path) -> None:
    (path,) = write_published([ours(tmp_path)], tmp_path / "tree")
    spec = yaml.safe_load(path.read_text(encoding="utf-8"))
    root = tmp_path / "tree"
    assert path == root / "problems" / "m1" / "spec.yaml"
    assert (root / spec["deck"]).is_file()
    table = list(csv.DictReader((root / spec["data_dir"] / "labels.csv").read_text().splitlines()))
    assert set(table[0]) == {"filename", *spec["categories"]}
    assert {row["filename"]: (row["W"], row["S"]) for row in table} == {
        "problems/m1/data/gds/pass/01.gds": ("0", "0"),
        "problems/m1/data/gds/fail/02.gds": ("1", "0"),
        "problems/m1/data/gds/fail/03.gds": ("1", "1"),
    }
    assert all((root / row["filename"]).is_file() for row in table)
    assert spec["layers"] == {"met1": [68, 20], "on": [69, 44]}
    assert spec["rules"] == [{"text": "narrow", "category": "W"}, {"text": "near", "category": "S"}]


def test_the_same_rules_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_published([ours(tmp_path)], tmp_path / name)
    files = sorted(one.relative_to(tmp_path / "a") for one in (tmp_path / "a").rglob("*") if one.is_file())
    assert len(files) == 6
    assert all((tmp_path / "a" / one).read_bytes() == (tmp_path / "b" / one).read_bytes() for one in files)


def test_a_published_rule_keeps_its_bytes_and_names(tmp_path: Path) -> None:
    path = make_tree(tmp_path)
    (copy,) = write_published([load_published_rule(path)], tmp_path / "copy")
    for name in ("gold/0001_physical.drc", "data/gds/labels.csv", "data/gds/fail/narrow.gds"):
        assert (copy.parent / name).read_bytes() == (path.parent / name).read_bytes()


def test_layouts_get_names_of_the_format_and_no_stem_twice(tmp_path: Path) -> None:
    rule = rule_of(
        shapes("pass/same.gds"),
        shapes("fail/same.gds", "A"),
        shapes("fail/SAME.gds", "A", width="2"),
        shapes("at the limit/a µm", width="3"),
        shapes("../../up", "A"),
        shapes("pass/more/deep.gds"),
    )
    (path,) = write_published([rule], tmp_path)
    again = load_published_rule(path)
    assert [one.name for one in again.layouts] == [
        "pass/same.gds", "fail/same-2.gds", "fail/SAME-3.gds",
        "pass/at_the_limit_a__m.gds", "fail/_.._up.gds", "pass/pass_more_deep.gds",
    ]  # fmt: skip
    assert [one.gds() for one in again.layouts] == [one.gds() for one in rule.layouts]
    assert [one.violates for one in again.layouts] == [one.violates for one in rule.layouts]


def test_layouts_whose_names_are_too_long_for_files_get_shorter_ones(tmp_path: Path) -> None:
    names = [f"pass/{'x' * 250}{end}.gds" for end in "ab"]
    (path,) = write_published([rule_of(*(shapes(name) for name in names))], tmp_path)
    short = f"pass/pass_{'x' * 195}"
    assert [one.name for one in load_published_rule(path).layouts] == [f"{short}.gds", f"{short}-2.gds"]


def test_a_rule_without_a_gold_deck_has_none_afterwards(tmp_path: Path) -> None:
    (path,) = write_published([rule_of(shapes("pass/a.gds"))], tmp_path)
    assert not (path.parent / "gold").exists()
    assert load_published_rule(path).gold is None


def test_a_rule_is_replaced_whole(tmp_path: Path) -> None:
    write_published([rule_of(shapes("pass/old.gds"))], tmp_path)
    (path,) = write_published([rule_of(shapes("pass/new.gds"))], tmp_path)
    assert [one.name for one in load_published_rule(path).layouts] == ["pass/new.gds"]
    assert [one.name for one in tmp_path.iterdir()] == ["problems"]


def test_a_rule_that_cannot_be_written_leaves_what_was_there_and_no_half(tmp_path: Path) -> None:
    write_published([rule_of(shapes("pass/old.gds"))], tmp_path)
    bad = LabelledLayout("fail/new.gds", frozenset({"A"}), b"%SEMI-OASIS")
    with pytest.raises(RuleError, match=r"^some.toml: r: layout fail/new.gds: not GDS, which the format needs$"):
        write_published([rule_of(shapes("pass/new.gds"), bad)], tmp_path)
    path = tmp_path / "problems" / "r" / "spec.yaml"
    assert [one.name for one in load_published_rule(path).layouts] == ["pass/old.gds"]
    assert [one.name for one in tmp_path.iterdir()] == ["problems"]


def test_a_folder_that_is_no_rule_is_not_replaced(tmp_path: Path) -> None:
    keep = tmp_path / "problems" / "r" / "thesis.txt"
    keep.parent.mkdir(parents=True)
    keep.write_text("years of work")
    with pytest.raises(RuleError, match=r"problems/r: is there already, and no rule"):
        write_published([rule_of(shapes("pass/a.gds"))], tmp_path)
    assert keep.read_text() == "years of work"


@pytest.mark.parametrize("rule_id", ["../up", "a/b", "", ".hidden", "a b"])
def test_an_id_that_is_no_folder_is_refused(tmp_path: Path, rule_id: str) -> None:
    with pytest.raises(RuleError, match=r"no name for a folder$"):
        write_published([rule_of(shapes("pass/a.gds"), rule_id=rule_id)], tmp_path / "tree")
    assert list(tmp_path.iterdir()) == []


def test_an_id_of_two_rules_is_refused(tmp_path: Path) -> None:
    rule = rule_of(shapes("pass/a.gds"))
    with pytest.raises(RuleError, match=r"^other.toml: id r: another rule has it too; a tree has a folder for each$"):
        write_published([rule, replace(rule, path=Path("other.toml"))], tmp_path)


def test_list_shows_each_rule_of_each_format_and_what_is_odd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours(tmp_path)
    make_tree(tmp_path, labels=LABELS.replace(",1", ",0"), gold=None)
    assert main(["rules", "list", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split() for line in said[:3]] == [
        ["rule", "group", "categories", "layouts", "violating", "gold", "warnings"],
        ["m1", "metal", "2", "3", "2", "yes"],
        ["0001_physical", "1", "2", "0", "no", "3"],
    ]
    assert (
        "0001_physical: no gold deck: no gold/0001_physical.drc; whether a deck can meet the labels is not known"
        in said
    )
    assert said[-1] == "2 rules, 5 layouts, 3 warnings"


def test_list_shows_the_good_rules_and_fails_for_the_bad_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours(tmp_path)
    path = make_tree(tmp_path, "id: [")
    assert main(["rules", "list", str(tmp_path)]) == 2
    out, error = capsys.readouterr()
    assert "m1" in out
    assert error.startswith(f"iclayout: {path}:2: not YAML: ")


@pytest.mark.parametrize("verb", ["list", "export"])
def test_rule_whose_layouts_cannot_be_made_is_told_and_only_listed_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    ours(tmp_path)
    structure = 'structure = { kind = "width", layer = "m1", value = 0.001 }'
    (tmp_path / "narrow.toml").write_text(
        f'[[rule]]\nid = "narrow"\ntext = "m1 is wide"\nlayers = {{ m1 = "1/0" }}\ngold = "m1"\n{structure}\n'
    )
    more = [str(tmp_path / "out")] if verb == "export" else []
    assert main(["rules", verb, str(tmp_path), *more]) == 2
    out, error = capsys.readouterr()
    assert ("m1 " in out, "narrow" in out) == (verb == "list", False)
    assert error.startswith(
        f"iclayout: {tmp_path / 'narrow.toml'}: rule narrow: structure: width of m1, value 1: no lay"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("verb", [["list"], ["export"]])
def test_a_path_without_rules_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    more = [str(tmp_path / "tree")] if verb == ["export"] else []
    assert main(["rules", *verb, str(folder), *more]) == 2
    assert capsys.readouterr().err == f"iclayout: {folder}: no file of rules below this folder\n"
    assert not (tmp_path / "tree").exists()


def test_export_writes_all_and_says_what_the_format_makes_odd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "in"
    rules.mkdir()
    ours(rules)
    make_tree(rules, gold=None)
    assert main(["rules", "export", str(rules / "rules.toml"), str(rules / "problems"), str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "0001_physical: no gold deck: no gold/0001_physical.drc; whether a deck can meet the labels is not known",
        f"{tmp_path / 'out/problems'}: 2 rules with 5 layouts written",
    ]
    assert load_published_rule(tmp_path / "out/problems/m1/spec.yaml").group == "metal"
    assert load_published_rule(tmp_path / "out/problems/0001_physical/spec.yaml").layouts[1].gds() == bar(139)


def test_export_writes_nothing_when_a_rule_is_bad(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours(tmp_path)
    make_tree(tmp_path, "id: [")
    assert main(["rules", "export", str(tmp_path), str(tmp_path / "out")]) == 2
    assert "not YAML" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
