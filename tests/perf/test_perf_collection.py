"""What the plugin costs in collecting and in a small run, against pytest doing nothing of the kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

TASK = """id = "task_{number}"
tier = 1
prompt = "Draw a rectangle on met1 (68/20) in a cell named top; sizes are in dbu."
technology = "sky130"
checker = "shape_count:layer=68/20,exact=1"
"""
PARAMETRISED = """import pytest

@pytest.mark.parametrize("number", range(1000))
def test_trivial(number):
    pass
"""


def run_pytest(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def thousand(tmp_path: Path, way: str) -> Path:
    if way == "naive":
        (tmp_path / "test_trivial.py").write_text(PARAMETRISED)
        return tmp_path
    (tmp_path / "manifest.toml").write_text(
        'version = "1"\ntasks = [' + ", ".join(f'"task_{number}"' for number in range(1000)) + "]\n"
    )
    for number in range(1000):
        (tmp_path / f"task_{number}.toml").write_text(TASK.format(number=number))
    return tmp_path


@pytest.mark.benchmark(group="collect 1,000 task files / 1,000 parametrised trivial tests")
def test_collecting_a_thousand_task_files(benchmark: BenchmarkFixture, way: str, thousand: Path) -> None:
    agent = ["--agent=nop"] if way == "ours" else []
    benchmark.pedantic(run_pytest, (thousand, "--collect-only", *agent), rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group="collect 1,000 task files, gate only / 1,000 parametrised trivial tests")
def test_collecting_a_thousand_task_files_without_agents(benchmark: BenchmarkFixture, way: str, thousand: Path) -> None:
    benchmark.pedantic(run_pytest, (thousand, "--collect-only"), rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group="tier-1 run with mock and gate / pytest with one empty test")
def test_whole_tier1_run(benchmark: BenchmarkFixture, way: str, tmp_path: Path) -> None:
    (tmp_path / "test_empty.py").write_text("def test_empty():\n    pass\n")
    arguments = [str(tmp_path)] if way == "naive" else ["--pyargs", "iclayout_tasks", "--agent=mock", "-k", "tier1"]
    benchmark.pedantic(run_pytest, (tmp_path, *arguments), rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group="tier-1 solve items with mock / pytest with one empty test")
def test_tier1_solve_items(benchmark: BenchmarkFixture, way: str, tmp_path: Path) -> None:
    (tmp_path / "test_empty.py").write_text("def test_empty():\n    pass\n")
    ours = ["--pyargs", "iclayout_tasks", "--agent=mock", "-k", "tier1", "-m", "solve"]
    arguments = [str(tmp_path)] if way == "naive" else ours
    benchmark.pedantic(run_pytest, (tmp_path, *arguments), rounds=5, warmup_rounds=1)
