"""The bundled suite with its gate, mock and oracle, on two workers: how long it takes, and which items take longest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import perf_counter
from xml.etree import ElementTree

from pytest_benchmark.fixture import BenchmarkFixture

ROOT = Path(__file__).parents[2]
SLOWEST = 10


def run_suite(folder: Path) -> tuple[float, list[tuple[float, str]]]:
    """Seconds of the whole run, and of each item."""
    report = folder / "report.xml"
    begun = perf_counter()
    command = ["pytest", "tasks/layout", "--agent=mock", "--agent=oracle", "-q", "-n2", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", *command, f"--iclayout-results={folder / 'results'}", f"--junitxml={report}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = perf_counter() - begun
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    cases = ElementTree.parse(report).iter("testcase")
    return seconds, [(float(case.get("time", 0)), _name(case)) for case in cases]


def _name(case: ElementTree.Element) -> str:
    """``t1_wire::rejects``."""
    folder = str(case.get("classname")).removesuffix(".toml")
    return f"{folder.rpartition('.')[2]}::{case.get('name')}"


def test_whole_suite_with_its_gate(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    seconds, items = benchmark.pedantic(run_suite, (tmp_path,), rounds=1)
    slowest = sorted(items, reverse=True)[:SLOWEST]
    benchmark.extra_info.update(items=len(items), items_s=sum(taken for taken, _ in items), suite_s=seconds)
    benchmark.extra_info["slowest"] = slowest
