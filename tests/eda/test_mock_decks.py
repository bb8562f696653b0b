"""Decks made from structures find what the structure's check finds, for each kind and each of its keys."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import klayout.db as db
import pytest

from pytest_iclayout.drc import checks
from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.pool import DeckPool, run_all
from pytest_iclayout.rules.boundary import boundary_layouts
from pytest_iclayout.rules.mock_decks import deck_for
from pytest_iclayout.rules.rule import Rule, RuleCategory
from pytest_iclayout.rules.structure import Structure
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

pytestmark = pytest.mark.eda

LAYERS = {name: Layer(layer=number, datatype=5) for number, name in enumerate(("met1", "class", "x.y", "x_y"), 1)}
"""With names that Ruby, or the making of a name for Ruby, could trip over."""


MANY = 60


def structures() -> list[Structure]:
    found = []
    for kind in RuleKind:
        keys: list[dict[str, bool]] = [{}]
        if kind is RuleKind.SEPARATION:
            keys.append({"overlap_is_error": False})
        if kind in (RuleKind.ENCLOSURE, RuleKind.EXTENSION):
            keys.append({"outside_is_error": False})
        derived = "met1 - x_y" if kind is RuleKind.HOLE_AREA else "met1 & x.y - x_y"
        for layer, more in product(("met1", derived), keys):
            other = {"other": "class - x_y" if layer == derived else "class"} if kind.takes_two_layers else {}
            value = 90_000 if kind.is_area else 300
            found.append(Structure.model_validate({"kind": kind, "layer": layer, "value_dbu": value, **other, **more}))
    return found


def rule_of(structure: Structure, dbu_um: float = 0.001) -> Rule:
    return Rule(
        id="r",
        title="a rule's \\ title",
        text="text",
        layers=LAYERS,
        categories=(RuleCategory(name="it's", text="text"),),
        layouts=(),
        path=Path("x.toml"),
        structures={"it's": structure},
        dbu_um=dbu_um,
    )


def drawn(seed: int, dbu_um: float = 0.001) -> db.Layout:
    """Boxes on a coarse grid, some a dbu off it, so that many distances are at the value or beside it."""
    draw = random.Random(seed)
    layout = db.Layout()
    layout.dbu = dbu_um
    cell = layout.create_cell("TOP")
    for pair in LAYERS.values():
        shapes = cell.shapes(layout.layer(pair.layer, pair.datatype))
        for _ in range(draw.randint(0, 3)):
            left, bottom = 100 * draw.randint(0, 10), 100 * draw.randint(0, 10)
            width, height = 100 * draw.randint(1, 8) + draw.choice((0, 0, 1, -1)), 100 * draw.randint(1, 8)
            box = db.Box(left, bottom, left + width, bottom + height)
            ring = db.Region(box) - db.Region(box.enlarged(-100, -100))
            shapes.insert(ring if draw.random() < 0.4 else db.Region(box))
    return layout


def gds(layout: db.Layout) -> bytes:
    options = db.SaveLayoutOptions()
    options.format = "GDS2"
    return bytes(layout.write_bytes(options))


def violated(structure: Structure, layout: db.Layout) -> bool:
    """By the engine of our own."""

    def region_of(name: str) -> db.Region:
        pair = LAYERS[name]
        return db.Region(layout.top_cell().begin_shapes_rec(layout.layer(pair.layer, pair.datatype))).merged()

    layer, value = structure.layer.region(region_of), structure.value_dbu
    if structure.other is None:
        return bool(getattr(checks, structure.kind.value)(layer, value))
    other = structure.other.region(region_of)
    if structure.kind is RuleKind.SEPARATION:
        return bool(checks.separation(layer, other, value, overlap_is_error=structure.overlap_is_error))
    check = checks.enclosure if structure.kind is RuleKind.ENCLOSURE else checks.extension
    return bool(check(layer, other, value, outside_is_error=structure.outside_is_error))


def found_by_deck(pool: DeckPool, rule: Rule, layouts: list[bytes]) -> list[bool]:
    deck = deck_for(rule)
    assert deck is not None
    executions = run_all(pool, Deck.of_text(deck), layouts, batch=True)
    assert {one.reason for one in executions} == {""}, deck
    return [bool(one.violated) for one in executions]


@pytest.mark.parametrize("structure", structures(), ids=lambda one: f"{one.kind.value}-{one.layer}-{one.other}")
def test_deck_finds_what_the_check_of_the_structure_finds(structure: Structure, pool: DeckPool) -> None:
    layouts = [drawn(seed) for seed in range(MANY)]
    expected = [violated(structure, layout) for layout in layouts]
    assert True in expected
    assert False in expected
    found = found_by_deck(pool, rule_of(structure), [gds(one) for one in layouts])
    assert [seed for seed in range(MANY) if found[seed] != expected[seed]] == []


@pytest.mark.parametrize("structure", structures(), ids=lambda one: f"{one.kind.value}-{one.layer}-{one.other}")
def test_deck_meets_the_labels_of_boundary_layouts(structure: Structure, pool: DeckPool) -> None:
    layouts = boundary_layouts("it's", structure, LAYERS, 0.001)
    found = found_by_deck(pool, rule_of(structure), [one.gds() for one in layouts])
    wrong = [one.name for one, violates in zip(layouts, found, strict=True) if violates != bool(one.violates)]
    assert wrong == []


@pytest.mark.parametrize("kind", [RuleKind.WIDTH, RuleKind.AREA])
def test_values_mean_the_same_in_another_database_unit(kind: RuleKind, pool: DeckPool) -> None:
    structure = Structure.model_validate({"kind": kind, "layer": "met1", "value_dbu": 90_000 if kind.is_area else 300})
    layouts = [drawn(seed, 0.005) for seed in range(20)]
    found = found_by_deck(pool, rule_of(structure, 0.005), [gds(one) for one in layouts])
    assert found == [violated(structure, layout) for layout in layouts]
