"""Pictures of a rule's layouts tell what a deck reports there, and what it should or should not have reported."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import klayout.db as db
import klayout.lay as lay
import klayout.rdb as rdb
import pytest

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.execution import Execution, Status
from pytest_iclayout.drc.report import count_items
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.rules import layout_picture
from pytest_iclayout.rules.evaluate import Reading, evaluate
from pytest_iclayout.rules.layout_picture import picture_of_layout, picture_of_result
from pytest_iclayout.rules.rule import LabelledLayout, Rule, RuleCategory
from pytest_iclayout.rules.shape_list import ShapeList
from pytest_iclayout.rules.structure import LayerExpression, Structure
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

LAYERS = {"m1": Layer(layer=68, datatype=20), "same": Layer(layer=68, datatype=20), "via": Layer(layer=68, datatype=44)}
NARROW = "m1 0 0 0.1 1"
DECK = Deck.of_text("", "a.drc")


def rule(shapes: str, *violates: str, declared: bool = True, layers: dict[str, Layer] = LAYERS) -> Rule:
    structure = Structure(kind=RuleKind.WIDTH, layer=LayerExpression(every=("m1",)), value_dbu=140)
    return Rule(
        id="m1.w",
        title="",
        text="m1 is at least 0.14 µm wide",
        layers=layers,
        categories=(RuleCategory(name="w", text=""), RuleCategory(name="s", text="")),
        layouts=(LabelledLayout("fail/1.gds", frozenset(violates), ShapeList(shapes, LAYERS)),),
        path=Path("rules.toml"),
        structures={"w": structure} if declared else {},
    )


class Pool:
    """Reports a marker (µm) for each of the categories; with ``text`` a report without places."""

    def __init__(self, *reported: str, text: str = "") -> None:
        self.reported = reported
        self.text = text

    def run(self, deck: Deck, layouts: Sequence[bytes], *, reports: Sequence[Path]) -> list[Future[Execution]]:
        found = rdb.ReportDatabase("")
        cell = found.create_cell("TOP").rdb_id()
        for number, name in enumerate(self.reported):
            item = found.create_item(cell, found.create_category(name).rdb_id())
            item.add_value(rdb.RdbItemValue(db.DBox(number, 0, number + 0.1, 1)))
        found.save(str(reports[0]))
        counts = count_items(reports[0])
        if self.text:
            reports[0].write_text(self.text)
        future: Future[Execution] = Future()
        future.set_result(Execution(status=Status.OK, items=counts.items, written=counts.written))
        return [future]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the last picture was made of."""
    seen: dict[str, Any] = {}
    render = layout_picture.render_png

    def rendered(layout: db.Layout, cell: None, technology: Any, findings: Any, **options: Any) -> bytes:
        seen.update(options, findings=findings, layers={one.name for one in technology.layers})
        return render(layout, cell, technology, findings, **options)

    monkeypatch.setattr(layout_picture, "render_png", rendered)
    return seen


def picture(rule: Rule, judged: Pool | Execution, again: Pool | None = None) -> bytes | None:
    """Of what ``judged`` says of the rule's layout; ``again`` runs for the picture."""
    if isinstance(judged, Pool):
        again = again or judged
        (future,) = judged.run(DECK, [b""], reports=[Path("judged.lyrdb")])
        judged = future.result()
    (result,) = evaluate(rule, [judged]).layouts
    return picture_of_result(rule, result, "mock", DECK, again or Pool(), Reading.STRICT)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_false_violation_is_named_and_its_markers_are_framed_first(drawn: dict[str, Any]) -> None:
    assert picture(rule(NARROW, "w"), Pool("w", "s")) is not None
    assert drawn["caption"] == [
        "m1.w: mock on fail/1.gds, labelled to violate w",
        "false: s (labelled clean, the deck reports it)",
    ]
    assert [(one.rule, one.message, one.place) for one in drawn["findings"]] == [
        ("s", "false; labelled clean, the deck reports this", Rect.of(1000, 0, 1100, 1000)),
        ("w", "as labelled, the deck reports this", Rect.of(0, 0, 100, 1000)),
    ]


def test_missed_violation_is_named_with_what_the_embedded_engine_finds_there(drawn: dict[str, Any]) -> None:
    assert picture(rule(NARROW, "w"), Pool()) is not None
    assert drawn["caption"][1:] == ["missed: w (labelled violated, the deck reports nothing)"]
    (one,) = drawn["findings"]
    assert one.message == "missed; the embedded engine finds: m1: width 100 dbu, at least 140 dbu required"
    assert (one.rule, one.place) == ("w", Rect.of(0, 0, 100, 1000))
    assert picture(rule(NARROW, "w", declared=False), Pool()) is not None
    assert drawn["findings"] == []


def test_category_that_the_rule_does_not_have_is_named_as_such(drawn: dict[str, Any]) -> None:
    assert picture(rule(NARROW, "w"), Pool("w", "X")) is not None
    assert drawn["caption"][1:] == ["no category of the rule: X (the deck reports it)"]
    assert [one.message for one in drawn["findings"]] == [
        "no category of the rule; the deck reports this",
        "as labelled, the deck reports this",
    ]


def test_run_that_did_not_end_is_told_with_its_reason(drawn: dict[str, Any]) -> None:
    assert picture(rule(NARROW, "w"), Execution(status=Status.ERROR, reason="no method widht")) is not None
    assert drawn["caption"][1:] == ["the deck did not run to its end here: no method widht"]
    assert drawn["findings"] == []


@pytest.mark.parametrize(
    ("again", "why"),
    [
        (Pool("s", "w"), "run once more for this picture, the deck did not say the same"),
        (Pool("s", text='{"s": 1}'), "the deck's report has no places"),
    ],
)
def test_markers_that_cannot_be_had_are_missed_in_words(drawn: dict[str, Any], again: Pool, why: str) -> None:
    assert picture(rule(NARROW, "w", declared=False), Pool("s"), again) is not None
    assert drawn["caption"][-1] == why
    assert drawn["findings"] == []


def test_layers_without_a_shape_are_in_the_legend_all_the_same(drawn: dict[str, Any]) -> None:
    with_via, without = (picture(rule(f"{NARROW}; {more}", "w"), Pool()) for more in ("via 0 0 0.1 1", ""))
    assert drawn["name_empty"]
    assert drawn["layers"] == {"m1", "via"}
    assert with_via is not None
    assert without is not None
    # The other's swatch is filled.
    assert colour(without, 0x2CA02C) < colour(with_via, 0x2CA02C)
    assert colour(without, 0x2CA02C) > 20


def test_rule_that_names_no_layer_is_drawn_in_those_of_the_layout(drawn: dict[str, Any]) -> None:
    assert picture(rule(NARROW, "w", declared=False, layers={}), Pool()) is not None
    assert drawn["layers"] == {"68/20"}


def test_nothing_drawn_is_shown_only_with_what_is_reported_there() -> None:
    assert picture(rule("", "w"), Pool()) is None
    assert picture_of_layout(rule("", "w"), rule("", "w").layouts[0]) is None
    assert picture(rule(""), Pool("w")) is not None


def test_picture_of_a_layout_alone_frames_what_the_engine_finds(drawn: dict[str, Any]) -> None:
    for declared in (True, False):
        one = rule(NARROW, "w", declared=declared)
        made = picture_of_layout(one, one.layouts[0])
        assert made is not None
        assert (colour(made, 0xE01010) > 0) == declared
        assert drawn["caption"] == ["m1.w: fail/1.gds, labelled to violate w"]


def colour(png: bytes, wanted: int) -> int:
    pixels = lay.PixelBuffer.from_png_data(png)
    return sum(pixels.pixel(x, y) & 0xFFFFFF == wanted for x in range(pixels.width()) for y in range(pixels.height()))
