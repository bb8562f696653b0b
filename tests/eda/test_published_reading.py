"""The lenient reading gives the published evaluator's verdict, the strict one what is true.

The evaluator is written here once more, plainly, from its description: a process of the application for each run, the
report's XML by its text.  It shares nothing with the package but the tree on the disk.
"""

from __future__ import annotations

import csv
import os
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from published_tree import bars, make_tree, spec_text

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.engines import Engine
from pytest_iclayout.drc.decks.execution import Status
from pytest_iclayout.drc.decks.pool import DeckPool, run_all
from pytest_iclayout.rules.evaluate import LayoutResult, Reading, evaluate
from pytest_iclayout.rules.published import load_published_rule
from pytest_iclayout.rules.rule import LabelledLayout
from pytest_iclayout.sandbox.policy import Limits

pytestmark = pytest.mark.eda

HEAD = 'source($input)\nreport("met1", $output)\nm1 = input(68, 20)\n'
BODY = 'm1.width(0.14).output("W")\nm1.space(0.14).output("S")\n'
CLEAN = "m1.width(0.14).is_empty? && m1.space(0.14).is_empty?"


@dataclass(frozen=True)
class Case:
    """A deck, and what is to be said of it."""

    deck: str | bytes
    strict: bool
    lenient: bool
    error: bool = False
    """Whether a run does not come to its end."""


TWO = {
    "good": Case(HEAD + BODY, strict=True, lenient=True),
    "misses a violation": Case(HEAD + BODY.replace("space(0.14)", "space(0.1)"), strict=False, lenient=False),
    "reports a clean layout": Case(HEAD + BODY.replace("width(0.14)", "width(0.3)"), strict=False, lenient=False),
    "crashes on the clean layout": Case(f'{HEAD}raise "none" if {CLEAN}\n{BODY}', False, True, error=True),
    "crashes on the others": Case(f'{HEAD}raise "some" unless {CLEAN}\n{BODY}', False, False, error=True),
    "reports another category": Case(f'{HEAD}{BODY}m1.width(0.14).output("X")\n', strict=False, lenient=False),
    "names another category, of no item": Case(f'{HEAD}{BODY}m1.width(0.01).output("X")\n', strict=True, lenient=True),
    "says nothing": Case(HEAD, strict=False, lenient=False),
    "leaves no report": Case(f"{HEAD}{BODY}exit!(0)\n", False, False, error=True),
    "leaves no report for the clean one": Case(f"{HEAD}exit!(0) if {CLEAN}\n{BODY}", False, True, error=True),
    "is no Ruby": Case(HEAD + BODY + ")\n", False, False, error=True),
}
NESTED = """
found = RBA::ReportDatabase.new("nested")
category = found.create_category(found.create_category("M1"), "NAME")
cell = found.create_cell("TOP")
source($input)
input(68, 20).width(0.14).data.each { |pair| found.create_item(cell.rdb_id, category.rdb_id) }
found.save($output)
"""
ONE = {
    "all layouts clean": ("W", 0, Case(HEAD + 'm1.width(0.1).output("W")\n', strict=True, lenient=False)),
    "dotted": ("M1.2b", 1, Case(HEAD + 'm1.width(0.14).output("M1.2b")\n', strict=True, lenient=False)),
    "within another": ("M1.a", 1, Case(NESTED.replace("NAME", "a"), strict=True, lenient=True)),
    "within another, in quotes": ("M1.2b", 1, Case(NESTED.replace("NAME", "2b"), strict=True, lenient=False)),
    "a dollar": ("M1$2b", 1, Case(HEAD + 'm1.width(0.14).output("M1$2b")\n', strict=True, lenient=True)),
}


@pytest.fixture(scope="module")
def patient(application: Engine) -> Iterator[DeckPool]:
    """With the time that the published evaluator gives a run."""
    with DeckPool(engine=application, children=2, limits=Limits(wall_s=120, cpu_s=60)) as made:
        yield made


@pytest.mark.parametrize("name", TWO)
def test_a_rule_of_two_categories(name: str, klayout: str, patient: DeckPool, tmp_path: Path) -> None:
    layouts = {
        "pass/clean.gds": bars(140, 140),
        "fail/narrow.gds": bars(139, 140),
        "fail/near.gds": bars(140, 140, space_dbu=139),
    }
    labels = "filename,W,S\n" + "".join(
        f"problems/0001_physical/data/gds/{file},{ones}\n"
        for file, ones in zip(layouts, ("0,0", "1,0", "0,1"), strict=True)
    )
    path = make_tree(tmp_path, spec_text(categories="[W, S]", rules=None), labels, layouts=layouts)
    compare(TWO[name], path, tmp_path, klayout, patient)


@pytest.mark.parametrize("name", ONE)
def test_a_rule_of_one_category(name: str, klayout: str, patient: DeckPool, tmp_path: Path) -> None:
    category, label, case = ONE[name]
    gds = "problems/0001_physical/data/gds"
    labels = f"filename,{category}\n{gds}/pass/wide.gds,0\n{gds}/fail/narrow.gds,{label}\n"
    path = make_tree(tmp_path, spec_text(categories=f"['{category}']", rules=None), labels)
    compare(case, path, tmp_path, klayout, patient)


def compare(case: Case, spec: Path, root: Path, klayout: str, pool: DeckPool) -> None:
    deck = Deck.of_text(case.deck)
    rule = load_published_rule(spec)
    executions = run_all(pool, deck, [one.gds() for one in rule.layouts])
    assert {one.status for one in executions} <= {Status.OK, Status.ERROR}, [one.reason for one in executions]
    lenient = evaluate(rule, executions, Reading.LENIENT)
    published = published_evaluation(root, spec, deck.files[deck.name], klayout)
    assert {name: one.model_dump(exclude={"error"}) for name, one in lenient.categories.items()} == published.counts
    assert {name: one.f1 for name, one in lenient.categories.items()} == published.f1
    assert lenient.success == published.success
    ours = zip(rule.layouts, lenient.layouts, executions, strict=True)
    assert {one.name: said_of(one, result) if run.ok else None for one, result, run in ours} == published.found
    strict = evaluate(rule, executions, Reading.STRICT)
    assert (strict.success, lenient.success, strict.error) == (case.strict, case.lenient, case.error)


def said_of(layout: LabelledLayout, result: LayoutResult) -> set[str]:
    """The categories that a deck reported, from what was wrong with it."""
    return (layout.violates - set(result.missed)) | {*result.false, *result.unexpected}


@dataclass(frozen=True)
class Published:
    success: bool
    found: dict[str, set[str] | None]
    """By layout, below the folder of the labels: the report's categories, None where the run did not count."""
    counts: dict[str, dict[str, int]]
    f1: dict[str, float]


def published_evaluation(root: Path, spec_path: Path, deck: bytes, klayout: str) -> Published:
    spec = yaml.safe_load(spec_path.read_text())
    categories = spec["categories"]
    data = root / spec["data_dir"]
    with (data / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    labels = {row["filename"]: {name: int(row[name]) for name in categories} for row in rows}
    script = root / "candidate.drc"
    script.write_bytes(deck)
    layouts = sorted([*data.glob("pass/*.gds"), *data.glob("fail/*.gds")])
    with ThreadPoolExecutor(2) as threads:
        reports = list(threads.map(lambda one: published_run(klayout, script, one, root / f"{one.stem}.out"), layouts))
    precheck = set(rows[0]) - {"filename"} != set(categories)
    found = []
    for report in reports:
        items = [] if report is None else ET.parse(report).getroot().findall("./items/item")
        found.append({(item.findtext("category") or "").strip() for item in items})
        precheck = precheck or bool(found[-1] - set(categories))
    counts = {}
    f1 = {}
    for name in categories:
        pairs = [
            (labels[one.relative_to(root).as_posix()][name], int(name in told))
            for one, told in zip(layouts, found, strict=True)
        ]
        tp, fp, fn, tn = (pairs.count(pair) for pair in ((1, 1), (0, 1), (1, 0), (0, 0)))
        counts[name] = {"true_positive": tp, "false_positive": fp, "false_negative": fn, "true_negative": tn}
        precision = tp / (tp + fp) if tp + fp else 0.0
        recall = tp / (tp + fn) if tp + fn else 0.0
        f1[name] = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    success = not precheck and all(one == 1.0 for one in f1.values())
    told = [None if report is None else names for report, names in zip(reports, found, strict=True)]
    by_layout = {one.relative_to(data).as_posix(): names for one, names in zip(layouts, told, strict=True)}
    return Published(success, by_layout, counts, f1)


def published_run(klayout: str, deck: Path, layout: Path, report: Path) -> Path | None:
    command = [klayout, "-b", "-r", str(deck), "-rd", f"input={layout}", "-rd", f"output={report}"]
    done = subprocess.run(
        command,
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(report.parent)},
    )
    return report if done.returncode == 0 and report.exists() else None
