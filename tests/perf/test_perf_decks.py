"""What the deck pool is worth against an application started for each run, and what lasts."""

from __future__ import annotations

import os
import time
from itertools import cycle, islice
from pathlib import Path
from statistics import median

import pytest
from deck_layouts import crowded
from deck_runs import run_all_alone
from decks import GOOD
from pytest_benchmark.fixture import BenchmarkFixture

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.engines import Engine, find_engines
from pytest_iclayout.drc.decks.pool import DeckPool
from pytest_iclayout.sandbox.policy import Limits

SEVERAL = ("width", "space", "separation", "enclosing", "booleans", "sizes", "area", "boxes", "interacting", "inside",
           "edges_length", "universal_width")  # fmt: skip
"""Twelve decks of three to six checks."""
LAYOUTS_A_RULE = 14
ROUNDS = 5
RULES = 1000
SOAK = int(os.environ.get("ICLAYOUT_SOAK", "20000"))


@pytest.fixture(scope="module")
def klayout() -> Engine:
    for engine in find_engines():
        if engine.kind == "klayout":
            return engine
    pytest.skip("no program named klayout is on the PATH")


@pytest.fixture(scope="module")
def decks() -> list[Deck]:
    return [Deck.of_text(GOOD[name]) for name in SEVERAL]


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("layouts")
    paths = [folder / f"{number}.gds" for number in range(LAYOUTS_A_RULE)]
    for number, path in enumerate(paths):
        path.write_bytes(crowded(seed=number, shapes=12))
    return paths


def _rate(pool: DeckPool, decks: list[Deck], layouts: list[Path], *, batch: bool = False) -> float:
    """Runs a second of every deck on every layout; all must end well."""
    begun = time.perf_counter()
    runs = [run for deck in decks for run in pool.run(deck, layouts, batch=batch)]
    assert all(run.result().ok for run in runs)
    return len(runs) / (time.perf_counter() - begun)


@pytest.fixture(scope="module")
def alone(klayout: Engine, decks: list[Deck], layouts: list[Path], tmp_path_factory: pytest.TempPathFactory) -> float:
    """Runs a second of an application a run, as many at a time as there are processors."""
    folder = tmp_path_factory.mktemp("decks")
    for name, deck in zip(SEVERAL, decks, strict=True):
        (folder / f"{name}.drc").write_bytes(deck.files[deck.name])
    begun = time.perf_counter()
    found = run_all_alone(klayout, sorted(folder.iterdir()), layouts[:2])
    assert all(one.ok for row in found for one in row)
    return sum(map(len, found)) / (time.perf_counter() - begun)


@pytest.mark.parametrize("kind", ["klayout", "strmrun"])
def test_rate(benchmark: BenchmarkFixture, alone: float, decks: list[Deck], layouts: list[Path], kind: str) -> None:
    """The ways take turns: a machine that is slower for a while is so for all of them."""
    engine = next((one for one in find_engines() if one.kind == kind), None)
    if engine is None:
        pytest.skip(f"no {kind} that runs decks is on the PATH")
    name = f"{kind} {engine.version}"
    with DeckPool(engine=engine) as contained, DeckPool(engine=engine, sandbox=False) as free:
        ways = {
            f"{name}, one child a run": lambda: _rate(contained, decks, layouts),
            f"{name}, one child for the layouts of a deck": lambda: _rate(contained, decks, layouts, batch=True),
            f"{name}, one child a run, not contained": lambda: _rate(free, decks, layouts),
        }
        for pool in (contained, free):
            pool.run(decks[0], layouts[:1])[0].result()
        rates = benchmark.pedantic(
            lambda: [{what: measure() for what, measure in ways.items()} for _ in range(ROUNDS)], rounds=1
        )
    medians = {what: median(one[what] for one in rates) for what in ways}
    benchmark.extra_info.update(alone=alone, rates=medians)


def test_thousand_rules_projected_from_a_tenth(
    benchmark: BenchmarkFixture, klayout: Engine, layouts: list[Path], alone: float
) -> None:
    codes = [f"{GOOD[name]}# {number}\n" for number, name in enumerate(islice(cycle(GOOD), RULES // 10))]
    with DeckPool() as pool:
        pool.run(Deck.of_text(codes[0]), layouts[:1])[0].result()

        def run() -> float:
            begun = time.perf_counter()
            runs = [run for code in codes for run in pool.run(Deck.of_text(code), layouts)]
            assert all(run.result().ok for run in runs)
            return len(runs) / (time.perf_counter() - begun)

        rate = benchmark.pedantic(run, rounds=1)
    minutes = RULES * LAYOUTS_A_RULE / rate / 60
    engine = find_engines()[0]
    work = f"{RULES:,} rules x {LAYOUTS_A_RULE} layouts from a tenth of them"
    what = f"{engine.kind} {engine.version}, {work}: {minutes:.1f} minutes"
    benchmark.extra_info.update(alone=alone, rates={what: rate})


def test_soak(benchmark: BenchmarkFixture, klayout: Engine, decks: list[Deck], layouts: list[Path]) -> None:
    with DeckPool(limits=Limits(wall_s=60)) as pool:

        def run(executions: int) -> None:
            left = executions
            while left > 0:
                futures = [run for deck in decks for run in pool.run(deck, layouts)][:left]
                assert [future.result().reason for future in futures if not future.result().ok] == []
                left -= len(futures)

        run(500)
        before = _held(pool)
        benchmark.pedantic(run, (SOAK,), rounds=1)
        after = _held(pool)
    assert pool.restarts == 0
    benchmark.extra_info.update(
        what=f"{SOAK:,} executions", soak={name: (before[name], after[name]) for name in before}
    )


def _held(pool: DeckPool) -> dict[str, int]:
    """Descriptors, processes and memory (MB) of this process and of the application."""
    assert pool._server._process is not None
    processes = [os.getpid()]
    for pid in processes:
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            processes += map(int, path.read_text().split())
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in processes)
    return {
        "processes": len(processes),
        "descriptors": sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in processes),
        "memory, MB": pages * os.sysconf("SC_PAGE_SIZE") >> 20,
        "files": sum(1 for path in pool._folder.path.rglob("*") if path.is_file()),
    }
