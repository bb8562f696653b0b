"""The dataset's tables give the rules that the tree of the same content gives; damage is one line."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from published_tree import GOLD, LABELS, bar, make_tree, spec_text

from pytest_iclayout.rules.dataset import iterate_dataset
from pytest_iclayout.rules.published import load_published_rule
from pytest_iclayout.rules.rule import Rule, RuleError
from pytest_iclayout.rules.sniff import is_dataset
from pytest_iclayout.suite.rule_files import rules_of

Row = dict[str, Any]


def load_dataset(path: Path, suite: str = "", suite_version: str = "") -> list[Rule]:
    rules = []
    for one in iterate_dataset(path, suite, suite_version):
        if isinstance(one, RuleError):
            raise one
        rules.append(one)
    return rules


def digest(data: str | bytes) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def task(problem: str = "0001_physical", **changed: Any) -> Row:
    row = {
        "problem_id": problem,
        "title": "a title that the description overrules",
        "prompt": "not read",
        "category": "physical",
        "layers_json": '{"met1": [68, 20]}',
        "spec_yaml": spec_text().replace("0001_physical", problem),
        "gold_drc": GOLD,
        "gold_drc_sha256": digest(GOLD),
        "labels_csv": LABELS.replace("0001_physical", problem),
        "labels_csv_sha256": digest(LABELS.replace("0001_physical", problem)),
        **changed,
    }
    if "labels_csv" in changed:
        row["labels_csv_sha256"] = digest(changed["labels_csv"])
    return row


def layout(name: str, width: int, problem: str = "0001_physical", **changed: Any) -> Row:
    return {
        "problem_id": problem,
        "testcase_id": name,
        "gds_path": name,
        "split_hint": name.partition("/")[0],
        "label": int(name.startswith("fail")),
        "labels_json": json.dumps({"M1_W": int(name.startswith("fail"))}),
        "gds": bar(width),
        "gds_sha256": digest(bar(width)),
        **changed,
    }


def layouts(problem: str = "0001_physical") -> list[Row]:
    return [layout("pass/wide.gds", 140, problem), layout("fail/narrow.gds", 139, problem)]


def as_json(row: Row) -> str:
    return json.dumps(
        {key: base64.b64encode(one).decode() if isinstance(one, bytes) else one for key, one in row.items()}
    )


def write(path: Path, rows: list[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(f"{as_json(row)}\n" for row in rows))
    return path


def content(rule: Rule) -> tuple[object, ...]:
    """All but where it comes from."""
    layouts = [(one.name, one.violates, one.gds()) for one in rule.layouts]
    return (rule.id, rule.title, rule.text, rule.layers, rule.categories, rule.warnings, layouts)


@pytest.mark.parametrize(
    ("tasks", "testcases"),
    [
        ("tasks.jsonl", "testcases.jsonl"),
        ("tasks.parquet", "testcases.parquet"),
        ("data/tasks-00000-of-00001.parquet", "data/testcases-00000-of-00001.parquet"),
        ("tasks/test-00000-of-00001.parquet", "testcases/test-00000-of-00001.parquet"),
        ("a.jsonl", "more/b.jsonl"),
        ("tasks.jsonl", "testcases.parquet"),
    ],
)
def test_a_dataset_gives_what_the_tree_gives(tmp_path: Path, tasks: str, testcases: str) -> None:
    table = write(tmp_path / "set" / tasks, [task()])
    write(tmp_path / "set" / testcases, layouts())
    tree = load_published_rule(make_tree(tmp_path / "tree"))
    (of_folder,) = load_dataset(tmp_path / "set", "a suite", "2")
    (of_table,) = load_dataset(table)
    assert content(of_folder) == content(tree)
    assert content(of_table) == content(tree)
    assert (of_folder.suite, of_folder.suite_version, of_folder.group) == ("a suite", "2", "physical")
    assert of_folder.path == table
    deck, gold = of_folder.gold_deck(), tree.gold_deck()
    assert deck is not None
    assert gold is not None
    assert deck.digest == gold.digest


def test_shards_are_read_together_and_each_carries_its_own_rules(tmp_path: Path) -> None:
    names = ["a_1", "b_2", "c_3"]
    shards = [write(tmp_path / f"tasks-{number}.parquet", [task(name)]) for number, name in enumerate(names)]
    for number, name in enumerate(names):  # layouts of a rule are not in the shard of its number
        write(tmp_path / f"testcases-{2 - number}.parquet", layouts(name))
    assert [one.id for one in load_dataset(tmp_path)] == names
    assert [[one.id for one in load_dataset(shard)] for shard in shards] == [["a_1"], ["b_2"], ["c_3"]]


def test_a_set_in_both_formats_is_not_read_twice(tmp_path: Path) -> None:
    for suffix in ("jsonl", "parquet"):
        write(tmp_path / f"tasks.{suffix}", [task()])
        write(tmp_path / f"testcases.{suffix}", layouts())
    assert len(load_dataset(tmp_path / "tasks.jsonl")[0].layouts) == 2
    assert len(load_dataset(tmp_path / "tasks.parquet")[0].layouts) == 2


@pytest.mark.parametrize(
    "path",
    ["fail/narrow.gds", "./fail/narrow.gds", "fail\\narrow.gds", "problems/x/data/gds/fail/narrow.gds", "narrow.gds"],
)
def test_a_layout_is_named_in_each_of_the_ways_that_upstream_reads(tmp_path: Path, path: str) -> None:
    write(tmp_path / "tasks.jsonl", [task()])
    rows = [layouts()[0], layout("fail/narrow.gds", 139, gds_path=path)]
    write(tmp_path / "testcases.jsonl", rows)
    assert [one.name for one in load_dataset(tmp_path)[0].layouts] == ["pass/wide.gds", "fail/narrow.gds"]


def test_older_names_of_columns_are_read(tmp_path: Path) -> None:
    rows = []
    for row in layouts():
        row["filename"], row["gds_bytes"] = row.pop("gds_path"), row.pop("gds")
        rows.append(row)
    write(tmp_path / "tasks.parquet", [task()])
    write(tmp_path / "testcases.parquet", rows)
    assert load_dataset(tmp_path)[0].layouts[1].gds() == bar(139)


def test_columns_stand_in_for_what_the_description_leaves_out(tmp_path: Path) -> None:
    short = spec_text(title=None, layers=None, nl_description=None)
    write(tmp_path / "tasks.jsonl", [task(spec_yaml=short, title="column", nl_description="at least 0.14")])
    write(tmp_path / "testcases.jsonl", layouts())
    (rule,) = load_dataset(tmp_path)
    assert (rule.title, rule.text) == ("column", "at least 0.14")
    assert {name: str(pair) for name, pair in rule.layers.items()} == {"met1": "68/20"}


@pytest.mark.parametrize(
    ("tasks", "testcases", "message"),
    [
        ([task(spec_yaml=None)], layouts(), "tasks.jsonl:1: 0001_physical: spec_yaml: needs text"),
        ([task(problem_id=3)], layouts(), "tasks.jsonl:1: problem_id: needs text"),
        ([task(spec_yaml=spec_text(id=None))], layouts(), "0001_physical: spec_yaml: id: required, but not given"),
        ([task(spec_yaml="\ud800")], layouts(), "0001_physical: spec_yaml: no Unicode text at character 1"),
        ([task(labels_csv=LABELS.replace(",1", ",2"))], layouts(), "labels_csv:3: column M1_W: '2' is neither 0 nor 1"),
        ([task(labels_csv=LABELS.replace("M1_W", "X"))], layouts(), "spec_yaml: categories: M1_W: labels_csv has no"),
        ([task(gold_drc_sha256="0" * 64)], layouts(), "gold_drc: is not what gold_drc_sha256 says"),
        ([task(layers_json="[")], layouts(), "0001_physical: layers_json: not JSON: "),
        (
            [task(), task()],
            layouts(),
            "tasks.jsonl:2: 0001_physical: {folder}/tasks.jsonl:1 has a rule of that id already",
        ),
        (
            [task(), task("b", spec_yaml=spec_text())],
            [*layouts(), *layouts("b")],
            "tasks.jsonl:2: 0001_physical: {folder}/tasks.jsonl:1 has a rule of that id already",
        ),
        ([task()], [{"problem_id": "0001_physical", "gds_path": "pass/wide.gds"}], "testcases.jsonl:1: gds: needs the"),
        ([task()], layouts()[:1], "labels_csv:3: column filename: no layout "),
        ([task()], [*layouts(), layout("fail/more.gds", 1)], "labels_csv: no row for fail/more.gds"),
        (
            [task()],
            [*layouts(), layout("fail/narrow.gds", 1)],
            "testcases.jsonl:3: the rule has a layout fail/narrow.gds",
        ),
        ([task()], [layout("pass/wide.gds", 140, gds=bar(141))], "testcases.jsonl:1: gds: is not what gds_sha256 says"),
        ([task()], [layout("pass/wide.gds", 140, gds="é")], "testcases.jsonl:1: gds: not Base64"),
        ([task()], [layout("pass/wide.gds", 140, gds=None)], "testcases.jsonl:1: gds: needs the bytes of a layout"),
        ([task()], [layout("a/../../x", 140)], "gds_path: 'a/../../x' leaves the folder"),
        ([task("other")], layouts(), "tasks.jsonl:1: other: no layouts of this rule in the tables of layouts"),
    ],
)
def test_damage_is_one_line_that_names_row_and_column(
    tmp_path: Path, tasks: list[Row], testcases: list[Row], message: str
) -> None:
    write(tmp_path / "tasks.jsonl", tasks)
    write(tmp_path / "testcases.jsonl", testcases)
    with pytest.raises(RuleError) as raised:
        load_dataset(tmp_path)
    assert str(raised.value).startswith(str(tmp_path))
    assert message.replace("{folder}", str(tmp_path)) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_bad_rule_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    write(tmp_path / "tasks.jsonl", [task("a_1"), task("b_2", spec_yaml="id: [\n"), task("c_3")])
    write(tmp_path / "testcases.jsonl", [*layouts("a_1"), *layouts("b_2"), *layouts("c_3")])
    first, bad, last = iterate_dataset(tmp_path)
    assert isinstance(first, Rule)
    assert isinstance(last, Rule)
    assert "tasks.jsonl:2: b_2: spec_yaml:2: not YAML" in str(bad)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("tasks.jsonl", b'{"problem_id": "spec_yaml", "labels_csv": \n', "tasks.jsonl:1: not JSON: "),
        ("tasks.parquet", None, "tasks.parquet: not readable as Parquet: "),
    ],
)
def test_a_damaged_table_is_one_line(tmp_path: Path, name: str, data: bytes | None, message: str) -> None:
    path = write(tmp_path / name, [task()])
    write(tmp_path / f"testcases{path.suffix}", layouts())
    path.write_bytes(path.read_bytes()[100:] if data is None else data)
    with pytest.raises(RuleError) as raised:
        load_dataset(path)
    assert message in str(raised.value)


@pytest.mark.parametrize("kind", ["timestamp", "duration"])
def test_a_time_that_python_cannot_hold_is_one_line(tmp_path: Path, kind: str) -> None:
    rows = pa.Table.from_pylist([task()])
    times = pa.array([2**62], getattr(pa, kind)("us" if kind == "timestamp" else "s"))
    pq.write_table(rows.set_column(rows.schema.get_field_index("title"), "title", times), tmp_path / "tasks.parquet")
    write(tmp_path / "testcases.parquet", layouts())
    with pytest.raises(RuleError, match=r"tasks.parquet: not readable as Parquet: \w"):
        load_dataset(tmp_path)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_table_that_is_given_and_cannot_be_told_for_one_is_not_read_as_toml(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"tasks.{suffix}", [task()])
    path.write_bytes(path.read_bytes()[:-20] if suffix == "parquet" else path.read_text().encode("utf-16"))
    (error,) = rules_of(path)
    assert str(error) == f"{path}: no table with the columns problem_id, spec_yaml and labels_csv, or a damaged one"


def test_mark_of_the_byte_order_hides_no_table(tmp_path: Path) -> None:
    for path in (write(tmp_path / "tasks.jsonl", [task()]), write(tmp_path / "testcases.jsonl", layouts())):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert [rule.id for rule in load_dataset(tmp_path)] == ["0001_physical"]


def test_what_is_missing_altogether_is_told(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=r"no table with the columns problem_id, spec_yaml and labels_csv$"):
        load_dataset(tmp_path)
    path = write(tmp_path / "a" / "b" / "tasks.jsonl", [task()])
    with pytest.raises(RuleError, match=r"tasks.jsonl: no table with the columns problem_id, gds_path and gds"):
        load_dataset(path)


def test_labels_that_differ_between_the_columns_are_a_warning(tmp_path: Path) -> None:
    write(tmp_path / "tasks.jsonl", [task()])
    write(tmp_path / "testcases.jsonl", [layouts()[0], layout("fail/narrow.gds", 139, labels_json='{"M1_W": 0}')])
    (rule,) = load_dataset(tmp_path)
    assert rule.layouts[1].violates == {"M1_W"}
    assert rule.warnings == ("layout fail/narrow.gds: labels_json differs from labels_csv, which counts",)


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "tasks.parquet", [task()])
    write(tmp_path / "testcases.parquet", layouts())
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(
        RuleError, match=r"parquet: reading Parquet needs pyarrow: pip install 'pytest-iclayout\[dataset\]'$"
    ):
        load_dataset(path)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_only_the_table_of_rules_carries_them(tmp_path: Path, suffix: str) -> None:
    assert is_dataset(write(tmp_path / f"a.{suffix}", [task()]))
    assert not is_dataset(write(tmp_path / f"b.{suffix}", layouts()))
    assert not is_dataset(write(tmp_path / f"c.{suffix}", [{"problem_id": "1", "spec_yaml": "a"}]))
    assert not is_dataset((tmp_path / f"a.{suffix}").rename(tmp_path / "a.json"))
    (tmp_path / f"d.{suffix}").write_bytes(b"PAR1")
    assert not is_dataset(tmp_path / f"d.{suffix}")
    assert not is_dataset(tmp_path / f"none.{suffix}")
