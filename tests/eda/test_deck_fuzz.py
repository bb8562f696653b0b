"""Random decks on random layouts: the deck pool, an application of its own for each run, and the embedded engine.

25 decks on 4 layouts each in CI; with ``--hypothesis-profile nightly`` 500.
"""

from __future__ import annotations

from pathlib import Path

import klayout.db as db
import pytest
from deck_grammar import DeckGrammar
from deck_layouts import crowded
from deck_runs import Found, is_nightly, run_all_alone, run_pooled

from pytest_iclayout.drc.decks.engines import Engine
from pytest_iclayout.drc.decks.pool import DeckPool
from pytest_iclayout.drc.engine import run_rules
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Rule

pytestmark = pytest.mark.eda

HEAD = """source($input)
report("random", $output)
a, b, c, d = [1, 2, 3, 4].map { |number| input(number, 0) }
"""
LAYOUTS, DECKS, NIGHTLY_DECKS = 4, 25, 500
PRIMITIVE = 5
"""Of this many decks one is of single checks, which the embedded engine runs too."""


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("layouts")
    paths = [folder / f"{number}.gds" for number in range(LAYOUTS)]
    for number, path in enumerate(paths):
        path.write_bytes(crowded(seed=100 + number, shapes=12 * (number + 1)))
    return paths


def _agrees(found: Found, rules: list[Rule], layout: Path) -> bool:
    read = db.Layout()
    read.read(str(layout))

    def region(layer: Layer) -> db.Region:
        return db.Region(read.top_cell().begin_shapes_rec(read.layer(layer.layer, layer.datatype))).merged()

    findings = run_rules(region, rules)
    # Where slanted edges meet in a point, the module reports a distance of 0 and the application 0.28.5 may not.
    certain = {finding.rule for finding in findings if finding.measured != 0}
    return certain <= found.bits <= {finding.rule for finding in findings}


def test_random_decks_give_the_same_alone_pooled_and_embedded(
    engine: Engine, engine_pool: DeckPool, layouts: list[Path], tmp_path: Path
) -> None:
    scripts, rules = [], {}
    for number in range(NIGHTLY_DECKS if is_nightly() else DECKS):
        grammar = DeckGrammar(seed=number)
        script = tmp_path / f"{number}.drc"
        if number % PRIMITIVE == 0:
            code, rules[number] = grammar.primitive()
        else:
            code = grammar.deck()
        script.write_text(HEAD + code, encoding="utf-8")
        scripts.append(script)
    alone = run_all_alone(engine, scripts, layouts)
    pooled = [run_pooled(engine_pool, script, layouts) for script in scripts]
    assert [script.read_text() for script, one, other in zip(scripts, alone, pooled, strict=True) if one != other] == []
    differing = [
        (scripts[number].read_text(), layout.name, sorted(found.bits))
        for number in rules
        for layout, found in zip(layouts, alone[number], strict=True)
        if not _agrees(found, rules[number], layout)
    ]
    assert differing == []
    _require_telling(alone)


def _require_telling(found: list[list[Found]]) -> None:
    """A comparison of nothing with nothing would hold as well: the decks run, and say different things."""
    assert all(one.ok for row in found for one in row)
    assert len({one.bits for row in found for one in row}) > len(found)
