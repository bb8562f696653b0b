"""A rule of the published tree is loaded as it was meant, or refused in one line; what is odd is a warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from published_tree import GOLD, LABELS, bar, make_tree, spec_text

from pytest_iclayout.rules.published import check_layouts, load_published_rule
from pytest_iclayout.rules.published_spec import ID_PATTERN
from pytest_iclayout.rules.rule import RuleError
from pytest_iclayout.rules.sniff import is_published_rule
from pytest_iclayout.technology.layers import Layer


def test_a_rule_is_loaded_with_all_that_it_says(tmp_path: Path) -> None:
    path = make_tree(tmp_path)
    rule = load_published_rule(path, "a suite", "1.0")
    assert (rule.id, rule.title, rule.text) == ("0001_physical", "Width of met1", "met1 is at least 0.14 um wide")
    assert rule.layers == {"met1": Layer(layer=68, datatype=20)}
    assert [(one.name, one.text) for one in rule.categories] == [("M1_W", "at least 0.14 um wide")]
    assert [(one.name, one.violates) for one in rule.layouts] == [
        ("pass/wide.gds", frozenset()),
        ("fail/narrow.gds", frozenset({"M1_W"})),
    ]
    assert rule.layouts[1].gds() == bar(139)
    deck = rule.gold_deck()
    assert deck is not None
    assert deck.files == {"0001_physical.drc": GOLD.encode()}
    assert (rule.path, rule.suite, rule.suite_version, rule.warnings) == (path, "a suite", "1.0", ())


def test_what_is_optional_has_its_default(tmp_path: Path) -> None:
    left_out = spec_text(title=None, nl_description=None, layers=None, rules=None, deck=None, extra="{not: ours}")
    rule = load_published_rule(make_tree(tmp_path, left_out))
    assert (rule.title, rule.text, rule.layers) == ("0001_physical", "", {})
    assert [(one.name, one.text) for one in rule.categories] == [("M1_W", "M1_W")]
    assert rule.gold is not None


def test_a_key_without_a_value_is_as_one_left_out(tmp_path: Path) -> None:
    rule = load_published_rule(make_tree(tmp_path, spec_text(title="", nl_description="", layers="", rules="")))
    assert (rule.title, rule.text, rule.layers) == ("0001_physical", "", {})


def test_sentences_of_one_category_are_joined(tmp_path: Path) -> None:
    several = "[{text: wide, category: M1_W}, {text: at corners too, category: M1_W}]"
    rule = load_published_rule(make_tree(tmp_path, spec_text(rules=several)))
    assert rule.categories[0].text == "wide; at corners too"


@pytest.mark.parametrize("form", ["{gds}/", "data/gds/", "0001_physical/data/gds/", ""])
def test_labels_name_files_in_each_of_the_accepted_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    prefix = form.format(gds=tmp_path / "problems/0001_physical/data/gds")
    path = make_tree(tmp_path, labels=LABELS.replace("problems/0001_physical/data/gds/", prefix))
    if form == "data/gds/":
        monkeypatch.chdir(path.parent)
    elif form == "0001_physical/data/gds/":
        monkeypatch.chdir(path.parent.parent)
    assert len(load_published_rule(path).layouts) == 2


def test_a_tree_that_was_moved_and_renamed_is_still_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_tree(tmp_path)
    moved = path.parent.rename(tmp_path / "elsewhere")
    monkeypatch.chdir("/")
    rule = load_published_rule(moved / "spec.yaml")
    assert rule.layouts[0].source == moved / "data/gds/pass/wide.gds"
    assert rule.gold == moved / "gold/0001_physical.drc"
    assert [one for one in rule.warnings if "not the folder's name" in one]


def test_a_copy_of_the_tree_in_the_working_directory_is_not_read_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_tree(tmp_path / "meant")
    make_tree(tmp_path / "copy", labels=LABELS.replace(",0", ",1"), gold="other")
    monkeypatch.chdir(tmp_path / "copy")
    rule = load_published_rule(path)
    assert rule.layouts[0].violates == frozenset()
    assert rule.layouts[0].source == path.parent / "data/gds/pass/wide.gds"
    assert rule.gold == path.parent / "gold/0001_physical.drc"


def test_the_working_directory_is_asked_last_for_data_and_deck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_tree(tmp_path / "here", gold="far").parent / "data"
    path = tmp_path / "spec" / "0001_physical" / "spec.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(spec_text())
    monkeypatch.chdir(tmp_path / "here")
    rule = load_published_rule(path)
    assert rule.layouts[0].source == data / "gds/pass/wide.gds"
    assert rule.gold == data.parent / "gold/0001_physical.drc"


def test_the_deck_that_the_file_names_is_the_gold_one(tmp_path: Path) -> None:
    path = make_tree(tmp_path, spec_text(deck="gold/best.drc"))
    (path.parent / "gold/best.drc").write_text("best")
    assert load_published_rule(path).gold == path.parent / "gold/best.drc"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (spec_text(id=None), "id: required, but not given"),
        (spec_text(categories=None), "categories: required, but not given"),
        (spec_text(data_dir=None), "data_dir: required, but not given"),
        (spec_text(categories="M1_W"), "categories: needs a list (given 'M1_W')"),
        (spec_text(categories="[]"), "categories: list should have at least 1 item after validation, not 0 (given [])"),
        (spec_text(categories="[1.2]"), "categories[0]: input should be a valid string (given 1.2)"),
        (spec_text(categories="[NO]"), "categories[0]: input should be a valid string (given False)"),
        (spec_text(categories="[M1_W, M1_W]"), "categories: M1_W is listed twice"),
        (spec_text(layers="{met1: [68]}"), "layers.met1: needs [layer, datatype] (given [68])"),
        (spec_text(layers="{met1: 68/20}"), "layers.met1: needs [layer, datatype] (given '68/20')"),
        (spec_text(layers="{met1: ['68', 20]}"), "layers.met1.layer: input should be a valid integer (given '68')"),
        (spec_text(layers="[met1]"), "layers: needs a table of keys (given ['met1'])"),
        (spec_text(rules="[{text: wide}]"), "rules[0].category: required, but not given"),
        (spec_text(id="../up"), f"id: string should match pattern '{ID_PATTERN}' (given '../up')"),
        (spec_text(id='"a\\e[2J"'), f"id: string should match pattern '{ID_PATTERN}' (given 'a\\x1b[2J')"),
        (spec_text(id="a" * 201), f"id: string should have at most 200 characters (given '{'a' * 58}…)"),
        (spec_text(layers="{1: [68, 20]}"), "layers[1] (the key): input should be a valid string (given 1)"),
        (
            spec_text(categories=str(list(range(12)))),
            "; ".join(f"categories[{one}]: input should be a valid string (given {one})" for one in range(10))
            + "; and 2 more",
        ),
        ("just text", "needs a mapping of keys, such as id, categories and data_dir"),
    ],
)
def test_a_key_that_is_wrong_is_one_error_that_names_it(tmp_path: Path, spec: str, message: str) -> None:
    path = make_tree(tmp_path, spec)
    with pytest.raises(RuleError) as raised:
        load_published_rule(path)
    assert str(raised.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("id: a\ncategories: [A\n", 3, "not YAML: did not find expected ',' or ']'"),
        ("id: !!python/object:os.system a\n", 1, "not YAML: could not determine a constructor"),
        ("id: a\ntitle: \0\n", None, "not YAML: "),
        ("id: 2020-99-99\n", 1, "not YAML: '2020-99-99' is no timestamp"),
        ("id: a\nx: !!bool maybe\n", 2, "not YAML: 'maybe' is no bool"),
        ("id: a\nx: !!int ''\n", 2, "not YAML: '' is no int"),
        ("id: a\nx: !!timestamp now\n", 2, "not YAML: 'now' is no timestamp"),
        (f"id: a\nx: {'1:' * 300}1.5\n", 2, "not YAML: '1:1:1:1:"),
        (f"id: a\nx: {'1' * 5000}\n", 2, "not YAML: '1111111"),
        ("id: a\ntitle: b\nid: c\n", 3, "not YAML: the key 'id' stands twice"),
        ("x: {a: {b: 1, b: 2}}\n", 1, "not YAML: the key 'b' stands twice"),
        ("id: a\n---\nid: b\n", 2, "not YAML: but found another document"),
        ("[" * 100_000, 1, "not YAML: "),
        ("x: 1\ny:\n" + "- " * 100_000, 3, "not YAML: "),
        ("x: " + "{a: " * 1001 + "}" * 1001, 1, "not YAML: "),
    ],
)
def test_what_is_not_yaml_is_one_line_with_its_place(tmp_path: Path, text: str, line: int | None, reason: str) -> None:
    path = make_tree(tmp_path, text)
    with pytest.raises(RuleError) as raised:
        load_published_rule(path)
    assert str(raised.value).startswith(f"{path}:{line}: {reason}" if line else f"{path}")
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    path = make_tree(tmp_path)
    path.write_bytes(b"id: a\ntitle: \xe9\n")
    with pytest.raises(RuleError, match=r"spec.yaml:2: not UTF-8: byte 0xe9$"):
        load_published_rule(path)


def test_a_file_of_some_bytes_cannot_fill_the_memory_by_aliases(tmp_path: Path) -> None:
    levels = "".join(f"  - &n{n} [{', '.join([f'*n{n - 1}'] * 9)}]\n" for n in range(1, 12))
    path = make_tree(tmp_path, f"x:\n  - &n0 [a]\n{levels}{spec_text(categories='[*n11]')}")
    with pytest.raises(RuleError, match=r"categories\[0\]: input should be a valid string"):
        load_published_rule(path)


def test_a_file_of_some_bytes_cannot_fill_the_memory_by_merge_keys(tmp_path: Path) -> None:
    maps = ", ".join(f"{{{', '.join(f'k{part}_{n}: 0' for n in range(2000))}}}" for part in range(6))
    path = make_tree(tmp_path, spec_text(extra=f"{{<<: [{maps}]}}"))
    with pytest.raises(RuleError, match=r"spec.yaml:9: not YAML: more than 10000 keys in one mapping$"):
        load_published_rule(path)


def test_a_key_that_overrules_a_merged_one_does_not_stand_twice(tmp_path: Path) -> None:
    merged = "{a: &a {x: 1, y: 2}, b: &b {<<: *a, x: 3}, c: {<<: [*b, *a], y: 4}}"
    assert load_published_rule(make_tree(tmp_path, spec_text(extra=merged))).id == "0001_physical"


def test_categories_that_are_not_the_columns_are_refused_both_ways(tmp_path: Path) -> None:
    path = make_tree(tmp_path / "missing", spec_text(categories="[M1_W, M1_S]"))
    table = path.parent / "data/gds/labels.csv"
    with pytest.raises(RuleError) as raised:
        load_published_rule(path)
    assert str(raised.value) == f"{path}: categories: M1_S: {table} has no column"
    path = make_tree(tmp_path / "extra", labels="filename,M1_W,M1_S\npass/wide.gds,0,0\nfail/narrow.gds,1,0\n")
    with pytest.raises(RuleError, match=r"spec.yaml: categories: M1_S: not in the list, but a column of .*labels.csv$"):
        load_published_rule(path)
    path = make_tree(tmp_path / "many", spec_text(categories=str([f"C{number}" for number in range(7)])))
    with pytest.raises(RuleError, match=r"categories: C0, C1, C2, C3, C4 and 2 more: .*labels.csv has no column$"):
        load_published_rule(path)


def test_a_layout_that_is_gone_and_one_without_a_label_are_refused(tmp_path: Path) -> None:
    path = make_tree(tmp_path)
    gone = path.parent / "data/gds/fail/narrow.gds"
    gone.rename(gone.with_name("other.gds"))
    with pytest.raises(RuleError, match=r"labels.csv:3: column filename: no layout .*fail/narrow.gds'$"):
        load_published_rule(path)
    gone.with_name("other.gds").rename(gone.with_name("other.GDS"))
    gone.write_bytes(bar(1))
    with pytest.raises(RuleError, match=r"labels.csv: no row for fail/other.GDS$"):
        load_published_rule(path)
    gone.with_name("other.GDS").rename(gone.with_name("other.gds"))
    with pytest.raises(RuleError, match=r"labels.csv: no row for fail/other.gds$"):
        load_published_rule(path)


def test_a_rule_without_labels_is_refused_with_where_they_were_looked_for(tmp_path: Path) -> None:
    path = make_tree(tmp_path)
    (path.parent / "data/gds/labels.csv").unlink()
    with pytest.raises(RuleError, match=r"spec.yaml: data_dir: no labels.csv in problems/0001_physical/data/gds, seen"):
        load_published_rule(path)


@pytest.mark.parametrize(
    ("changed", "warning"),
    [
        ({"labels": LABELS.replace(",1", ",0")}, "category M1_W: no layout violates it; the published evaluator"),
        ({"labels": LABELS.replace(",0", ",1")}, "category M1_W: every layout violates it"),
        ({"labels": LABELS.replace(",1", ",0")}, "layout fail/narrow.gds: in fail/, but labelled without a violation"),
        ({"labels": LABELS.replace(",0", ",1")}, "layout pass/wide.gds: in pass/, but labelled with a violation"),
        (
            {"spec": spec_text(categories="['M1.W']"), "labels": LABELS.replace("M1_W", "M1.W")},
            "category M1.W: is 'M1.W' in KLayout's reports",
        ),
        ({"gold": None}, "no gold deck: no gold/0001_physical.drc; whether"),
        (
            {"gold": None, "spec": spec_text(deck="best.drc")},
            "no gold deck: no gold/0001_physical.drc nor best.drc; whether",
        ),
        (
            {"spec": spec_text(deck="gold/best.drc")},
            "deck: gold/0001_physical.drc is taken instead; there is no gold/best.drc",
        ),
        ({"spec": spec_text(rules="[{text: a, category: B}]")}, "rules: category B is none of the rule's"),
        (
            {
                "layouts": {"pass/wide.gds": bar(140), "fail/narrow.gds": bar(1), "more/x.gds": bar(1)},
                "labels": LABELS + "more/x.gds,1\n",
            },
            "layout more/x.gds: neither in pass/ nor in fail/",
        ),
    ],
)
def test_what_is_odd_is_a_warning(tmp_path: Path, changed: dict[str, str], warning: str) -> None:
    rule = load_published_rule(make_tree(tmp_path, **changed))  # type: ignore[arg-type]
    assert [one for one in rule.warnings if one.startswith(warning)], rule.warnings


def test_loading_reads_no_layout_and_check_layouts_names_each_bad_one(tmp_path: Path) -> None:
    path = make_tree(tmp_path, layouts={"pass/wide.gds": b"no layout", "fail/narrow.gds": bar(139)})
    rule = load_published_rule(path)
    (found,) = check_layouts(rule)
    assert found.startswith("pass/wide.gds: not readable as a layout: ")
    (path.parent / "data/gds/fail/narrow.gds").unlink()
    assert len(check_layouts(rule)) == 2


def test_a_layout_without_a_single_top_cell_is_named(tmp_path: Path) -> None:
    import klayout.db as db

    layout = db.Layout()
    layout.create_cell("A")
    layout.create_cell("B")
    path = make_tree(tmp_path)
    layout.write(str(path.parent / "data/gds/pass/wide.gds"))
    assert check_layouts(load_published_rule(path)) == ["pass/wide.gds: needs one top cell, has 2"]


def test_only_files_of_the_format_are_taken_for_rules(tmp_path: Path) -> None:
    path = make_tree(tmp_path)
    assert is_published_rule(path)
    assert not is_published_rule(path.with_name("labels.csv"))
    path.write_text("anything")  # beside labels.csv
    assert is_published_rule(path)
    other = tmp_path / "spec.yaml"
    assert not is_published_rule(other)
    for text, ours in (
        ("openapi: 3.0.0\ncategories: [a]\n", False),
        ("x:\n  categories: [a]\n  data_dir: b\n", False),
        ("# categories:\n# data_dir:\n", False),
        ('data_dir: b\n"categories": [a]\n', True),
        ("#" * 70_000 + "\ncategories: [a]\ndata_dir: b\n", False),
    ):
        other.write_text(text)
        assert is_published_rule(other) is ours, text


def test_asking_about_a_file_imports_no_yaml_pydantic_or_klayout() -> None:
    code = (
        "import sys, pathlib\nfrom pytest_iclayout.rules.sniff import is_published_rule\n"
        "is_published_rule(pathlib.Path('spec.yaml'))\n"
        "print([name for name in ('yaml', 'pydantic', 'klayout', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
