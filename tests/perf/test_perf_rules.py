"""What collecting a thousand rules with their layouts costs, against a thousand tests that do nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import klayout.db as db
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

RULES = 1000
LAYOUTS_A_RULE = 14
TRIVIAL = f"""import pytest

@pytest.mark.parametrize("number", range({RULES}))
def test_trivial(number):
    pass
"""
SPEC = """id: {id}
title: Width of met1
nl_description: Every shape on met1 is at least 0.14 um wide.
categories:
- MET1_WIDTH
layers:
  met1:
  - 68
  - 20
rules:
- text: met1 is at least 0.14 um wide
  category: MET1_WIDTH
deck: problems/{id}/gold/{id}.drc
data_dir: problems/{id}/data/gds
"""
GOLD = 'source($input)\nreport("width", $output)\ninput(68, 20).width(0.14.um).output("MET1_WIDTH")\n'


def _bar(width: int) -> bytes:
    layout = db.Layout()
    layout.create_cell("TOP").shapes(layout.layer(68, 20)).insert(db.Box(0, 0, width, 1000))
    return bytes(layout.write_bytes(db.SaveLayoutOptions()))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published tree: as many rules, and layouts a rule, as the published set has."""
    top = tmp_path_factory.mktemp("published")
    shapes = {"pass": _bar(140), "fail": _bar(139)}
    for number in range(RULES):
        rule_id = f"{number:04}_width"
        gds = top / "problems" / rule_id / "data" / "gds"
        rows = ["filename,MET1_WIDTH"]
        for label, data in shapes.items():
            (gds / label).mkdir(parents=True)
            for one in range(LAYOUTS_A_RULE // 2):
                (gds / label / f"{one:02}.gds").write_bytes(data)
                rows.append(f"problems/{rule_id}/data/gds/{label}/{one:02}.gds,{int(label == 'fail')}")
        (gds / "labels.csv").write_text("\n".join(rows) + "\n")
        rule = gds.parents[1]
        (rule / "spec.yaml").write_text(SPEC.format(id=rule_id))
        (rule / "gold").mkdir()
        (rule / "gold" / f"{rule_id}.drc").write_text(GOLD)
    return top


@pytest.fixture(scope="module")
def trivial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trivial")
    (folder / "test_trivial.py").write_text(TRIVIAL)
    return folder


@pytest.mark.benchmark(group=f"collect {RULES:,} rules with {RULES * LAYOUTS_A_RULE:,} layouts / as many trivial tests")
def test_collecting_a_thousand_rules(benchmark: BenchmarkFixture, way: str, tree: Path, trivial: Path) -> None:
    agent = ["--agent=nop"] if way == "ours" else []
    _measure(benchmark, tree if way == "ours" else trivial, *agent)


@pytest.mark.benchmark(
    group=f"collect {RULES:,} rules with {RULES * LAYOUTS_A_RULE:,} layouts, gate only / as many trivial tests"
)
def test_collecting_a_thousand_rules_without_agents(
    benchmark: BenchmarkFixture, way: str, tree: Path, trivial: Path
) -> None:
    _measure(benchmark, tree if way == "ours" else trivial)


def _measure(benchmark: BenchmarkFixture, folder: Path, *agent: str) -> None:
    peaks: list[int] = []
    benchmark.pedantic(lambda: peaks.append(_collect(folder, *agent)), rounds=5, warmup_rounds=1)
    benchmark.extra_info["memory_mb"] = max(peaks)


def _collect(folder: Path, *arguments: str) -> int:
    """Peak memory (MB) of a collection in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_maxrss >> 10
