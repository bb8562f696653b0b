"""The deck pool gives what an application started for each run gives: status, bits and markers.

On decks of every family of the language, on six layouts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from deck_layouts import LAYOUTS
from deck_runs import Found, is_nightly, run_all_alone, run_pooled
from decks import FAILING, GOOD

from pytest_iclayout.drc.decks.engines import Engine
from pytest_iclayout.drc.decks.pool import DeckPool

pytestmark = pytest.mark.eda

Alone = Callable[[str], list[Found]]

FURTHER = Path(__file__).parents[3] / "shared" / "recipes" / "drc" / "decks"
"""Decks that others wrote, where they are at hand."""


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("layouts")
    for name, made in LAYOUTS.items():
        (folder / f"{name}.gds").write_bytes(made())
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("decks")
    for name, code in (GOOD | FAILING).items():
        (folder / f"{name}.drc").write_text(code, encoding="utf-8")
    return {name: folder / f"{name}.drc" for name in GOOD | FAILING}


@pytest.fixture(scope="module")
def alone(engine: Engine, scripts: dict[str, Path], layouts: list[Path]) -> Alone:
    """Of each deck once: run alone it takes seconds."""
    return cache(lambda name: run_all_alone(engine, [scripts[name]], layouts)[0])


@pytest.mark.parametrize("name", [*GOOD, *FAILING])
def test_pool_gives_what_a_process_a_run_gives(
    engine_pool: DeckPool, alone: Alone, scripts: dict[str, Path], layouts: list[Path], name: str
) -> None:
    single = run_pooled(engine_pool, scripts[name], layouts)
    assert single == alone(name)
    assert run_pooled(engine_pool, scripts[name], layouts, batch=True) == single
    assert all(one.ok for one in single) != (name in FAILING)


def test_every_deck_marks_some_layout_and_not_every_category_always(alone: Alone) -> None:
    # A comparison of nothing with nothing would hold as well.
    assert [name for name in GOOD if not any(one.bits for one in alone(name))] == []
    differing = [name for name in GOOD if len({one.bits for one in alone(name)}) > 1]
    assert len(differing) >= len(GOOD) * 9 // 10


def test_pool_gives_what_a_process_a_run_gives_on_decks_of_others(
    engine: Engine, engine_pool: DeckPool, layouts: list[Path]
) -> None:
    if not FURTHER.is_dir():
        pytest.skip(f"{FURTHER} is not here: decks of others, which this project does not contain")
    decks = [path for path in sorted(FURTHER.glob("*.drc")) if path.stem != "include"]
    if not is_nightly():  # the families are those of the other test: here two layouts, at seconds a run, are enough
        layouts = [path for path in layouts if path.stem in ("crowded", "hierarchy")]
    expected = dict(zip(decks, run_all_alone(engine, decks, layouts), strict=True))
    found = {deck: run_pooled(engine_pool, deck, layouts) for deck in decks}
    assert [deck.stem for deck in decks if found[deck] != expected[deck]] == []
