"""Judging a layout of ten million shapes, as an array and one by one: time and peak memory of each checker.

Each judgement has a process of its own, whose peak memory is then the judgement's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from math import isqrt
from pathlib import Path

import klayout.db as db
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

SHAPES, FEWER = 10_000_000, 1_000_000
LAYER = "68/20"
CHECKERS = {
    "shape_count": f"shape_count:layer={LAYER},min=1,width=400,height=400",
    "layer_area": f"layer_area:layer={LAYER},min_area=1",
    "drc_clean": f"drc_clean:present={LAYER}",
    "guard_ring": f"guard_ring:layer={LAYER}",
}
JUDGE = """
import json, resource, sys, time
from pathlib import Path
from iclayout_checkers import CHECKERS
from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.checking.oracle import Oracle
from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.checking.spec import parse_checker_string
from pytest_iclayout.technology.load import builtin_technology

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

path, text, way = sys.argv[1:]
bench = Bench(technology=builtin_technology("sky130"), rule_set="published")
checker, params = CheckerRegistry(CHECKERS).bind(parse_checker_string(text), bench)
artifact = Path(path).read_bytes()
begun, cpu = time.perf_counter(), time.process_time()
if way == "ours":
    ok = Oracle(checker, params, bench).judge(artifact).ok
else:
    from pytest_iclayout.geometry.view import open_view
    region = open_view(artifact, bench.technology, "published").region(params.layer)
    polygons = list(region.merged(True, 0).each())
    ok = all(one.is_box() and one.bbox().width() == one.bbox().height() == 400 for one in polygons)
print(json.dumps({"ok": ok, "s": time.perf_counter() - begun, "cpu_s": time.process_time() - cpu, "peak_mb": peak()}))
"""


def judged(layout: Path, text: str, way: str = "ours") -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(layout), text, way], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, float] = json.loads(done.stdout)
    return found


def write_grid(path: Path, shapes: int, *, flat: bool) -> None:
    """Squares of 400 dbu at a pitch of 800 dbu, as square an array as ``shapes`` allows."""
    layout = db.Layout(True)
    layout.dbu = 0.001
    index = layout.layer(68, 20)
    unit, top = layout.create_cell("unit"), layout.create_cell("top")
    unit.shapes(index).insert(db.Box(0, 0, 400, 400))
    columns = next(number for number in range(isqrt(shapes), 0, -1) if shapes % number == 0)
    step = db.Vector(800, 0), db.Vector(0, 800)
    top.insert(db.CellInstArray(unit.cell_index(), db.Trans(), *step, columns, shapes // columns))
    if flat:
        top.flatten(True)
    layout.write(str(path))


@pytest.fixture(scope="module", params=["array", "flat"])
def ten_million(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    path = tmp_path_factory.mktemp("large") / f"{request.param}.gds"
    write_grid(path, SHAPES, flat=request.param == "flat")
    return str(request.param), path


@pytest.mark.parametrize("checker", CHECKERS)
def test_judging_ten_million_shapes(benchmark: BenchmarkFixture, ten_million: tuple[str, Path], checker: str) -> None:
    kind, path = ten_million
    found = benchmark.pedantic(judged, (path, CHECKERS[checker]), rounds=1)
    assert found["ok"] == (checker != "guard_ring")
    megabytes = path.stat().st_size / 1e6
    benchmark.extra_info.update(found, what=f"{checker}, {SHAPES:,} shapes, {kind}", gds_mb=megabytes)


@pytest.mark.benchmark(group="shape_count, 1,000,000 shapes of an array / a list of polygons in Python")
def test_counting_an_array(benchmark: BenchmarkFixture, way: str, tmp_path: Path) -> None:
    write_grid(tmp_path / "array.gds", FEWER, flat=False)
    found = benchmark.pedantic(judged, (tmp_path / "array.gds", CHECKERS["shape_count"], way), rounds=1)
    assert found["ok"]


@pytest.mark.benchmark(group="shape_count, 1,000,000 shapes one by one / a list of polygons in Python")
def test_counting_flat_shapes(benchmark: BenchmarkFixture, way: str, tmp_path: Path) -> None:
    write_grid(tmp_path / "flat.gds", FEWER, flat=True)
    found = benchmark.pedantic(judged, (tmp_path / "flat.gds", CHECKERS["shape_count"], way), rounds=1)
    assert found["ok"]
