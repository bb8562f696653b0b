"""Options of the regression of decks (``pytest --deck``) and what is made of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_iclayout.drc.decks.deck import Deck
    from pytest_iclayout.rules.markers import MarkerLayers
    from pytest_iclayout.technology.layers import Layer

TIMEOUT_S = 600
MEMORY_MB = 4096
_LEAST_MB, _MOST = 64, 1_000_000

LABELS_NEEDED = (
    "--deck: no labels found {where}; label layouts in a labels.csv beside them or below (columns filename and one a "
    "rule, 1 for a violation, 0 for none), in a table named by --deck-labels, or by boxes in the layouts "
    "(--deck-pass-layer, --deck-fail-layer) with their rules' names as texts (--deck-name-layer)"
)


@dataclass(frozen=True)
class DeckSettings:
    """Validated; paths are absolute."""

    decks: tuple[Path, ...]
    root: Path | None
    tables: tuple[Path, ...]
    layers: MarkerLayers | None
    reports: Path | None
    variables: dict[str, str]
    timeout_s: int
    memory_mb: int
    strict: bool
    layouts: tuple[Path, ...]
    """Files and folders in which layouts and tables are looked for."""

    def load(self, path: Path) -> Deck:
        """Raises pytest.UsageError."""
        from pytest_iclayout.drc.decks.deck import Deck, DeckError

        try:
            deck = Deck.of_file(path, self.root)
            return Deck(name=deck.name, files=deck.files, variables=self.variables, flat_markers=True)
        except DeckError as error:
            raise pytest.UsageError(f"--deck: {error}") from error
        except ValueError as error:  # of pydantic: what its validator says is in the first line but one
            raise pytest.UsageError(f"--deck-define: {_reason(error)}") from error


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("iclayout-deck", "regression of DRC decks on labelled layouts (pytest-iclayout)")
    group.addoption(
        "--deck",
        action="append",
        type=Path,
        default=[],
        metavar="DECK",
        help="judge this deck in KLayout's DRC language on the labelled layouts of the folders and files given, an "
        "item a rule; may be given several times. Example: pytest --deck my.drc layouts --deck-fail-layer=100/2 "
        "--deck-pass-layer=100/1 --deck-name-layer=100/3",
    )
    group.addoption(
        "--deck-labels",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="a table of labels (default: every labels.csv in the folders given): column filename, then a column a "
        "rule: 1 violated, 0 met, empty not labelled; may be given several times",
    )
    for name, text in (
        ("pass", "boxes in which the deck must report nothing of a rule"),
        ("fail", "boxes in which the deck must report a rule"),
        ("box", "boxes for which a text of their row or column says pass or fail"),
        ("name", "texts inside a box: the names of its rules"),
        ("row", "texts left of a row of boxes: the rule's name, or pass or fail"),
        ("column", "texts above a column of boxes: pass or fail, or the rule's name"),
    ):
        group.addoption(
            f"--deck-{name}-layer", type=_layer, default=None, metavar="L/D", help=f"layer of the layouts with {text}"
        )
    group.addoption(
        "--deck-root", type=Path, default=None, metavar="DIR",
        help="files that the decks include lie below (default: each deck's folder)",
    )  # fmt: skip
    group.addoption(
        "--deck-define", action="append", type=_definition, default=[], metavar="NAME=VALUE",
        help="set $NAME for the decks, as klayout -rd does; {input} and {output} in VALUE stand for the layout's and "
        "the report's file (a deck that reports to $report: --deck-define 'report={output}'); may be given several "
        "times",
    )  # fmt: skip
    group.addoption(
        "--deck-timeout", type=_timeout, default=TIMEOUT_S, metavar="S",
        help=f"seconds that a deck has for a layout (default: {TIMEOUT_S})",
    )  # fmt: skip
    group.addoption(
        "--deck-memory", type=_memory, default=MEMORY_MB, metavar="MB",
        help=f"megabytes that a deck has for a layout (default: {MEMORY_MB})",
    )  # fmt: skip
    group.addoption(
        "--deck-strict", action="store_true",
        help="fail for categories of the deck that no label names, and for labels, boxes and layouts left over",
    )  # fmt: skip
    group.addoption(
        "--rdb-dir", type=Path, default=None, metavar="DIR",
        help="keep the report databases of the decks here",
    )  # fmt: skip


def configure(config: pytest.Config) -> DeckSettings | None:
    """The settings of a run with ``--deck``, None of any other. Raises pytest.UsageError."""
    here = config.invocation_params.dir
    decks = tuple(dict.fromkeys((here / path).resolve() for path in config.getoption("deck")))
    layers = _marker_layers(config)
    if not decks:
        _refuse_without_deck(config, layers)
        return None
    for path in decks:
        if not path.is_file():
            raise pytest.UsageError(f"--deck: no such deck file: {path}")
    tables = tuple(here / path for path in config.getoption("deck_labels"))
    for path in tables:
        if not path.is_file():
            raise pytest.UsageError(f"--deck-labels: no such file: {path}")
    root: Path | None = config.getoption("deck_root")
    if root is not None and not (here / root).is_dir():
        raise pytest.UsageError(f"--deck-root: no such folder: {here / root}")
    reports: Path | None = config.getoption("rdb_dir")
    if reports is not None and (here / reports).exists() and not (here / reports).is_dir():
        raise pytest.UsageError(f"--rdb-dir: {here / reports} is not a folder")
    if reports is not None:
        try:
            (here / reports).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise pytest.UsageError(f"--rdb-dir: {here / reports} cannot be made: {error.strerror}") from error
    return DeckSettings(
        decks=decks,
        root=None if root is None else here / root,
        tables=tables,
        layers=layers,
        reports=None if reports is None else here / reports,
        variables=dict(config.getoption("deck_define")),
        timeout_s=config.getoption("deck_timeout"),
        memory_mb=config.getoption("deck_memory"),
        strict=config.getoption("deck_strict"),
        layouts=_layouts(config, decks),
    )


def name_decks(config: pytest.Config, decks: Sequence[Path]) -> None:
    """Have pytest collect the decks as if they were named on the command line, unless rules of them are."""
    named = {_file_part(config, one) for one in config.args}
    config.args += [str(path) for path in decks if path not in named]


def _layouts(config: pytest.Config, decks: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(path for one in config.args if (path := _file_part(config, one)) not in decks)


def _file_part(config: pytest.Config, argument: str) -> Path:
    return (config.invocation_params.dir / argument.partition("::")[0]).resolve()


_LAYER_OPTIONS = {
    "passes": "pass", "fails": "fail", "boxes": "box", "names": "name", "rows": "row", "columns": "column"
}  # fmt: skip


def _marker_layers(config: pytest.Config) -> MarkerLayers | None:
    """None where no layer is named. Raises pytest.UsageError for layers that label nothing together."""
    given = {
        key: layer
        for key, name in _LAYER_OPTIONS.items()
        if (layer := config.getoption(f"deck_{name}_layer")) is not None
    }
    if not given:
        return None
    from pytest_iclayout.rules.markers import MarkerLayers

    layers = MarkerLayers(**given)
    if not (layers.passes or layers.fails or layers.boxes):
        raise pytest.UsageError(
            "--deck-name-layer, --deck-row-layer and --deck-column-layer name boxes: say which layer these are on by "
            "--deck-pass-layer, --deck-fail-layer or --deck-box-layer"
        )
    if not (layers.names or layers.rows or layers.columns):
        raise pytest.UsageError(
            "--deck-pass-layer, --deck-fail-layer and --deck-box-layer need texts that name the rules: "
            "--deck-name-layer, --deck-row-layer or --deck-column-layer"
        )
    if layers.boxes and not (layers.rows or layers.columns):
        raise pytest.UsageError(
            "--deck-box-layer needs texts that say pass or fail: --deck-row-layer or --deck-column-layer"
        )
    boxes = [layer for layer in (layers.passes, layers.fails, layers.boxes) if layer is not None]
    if len(set(boxes)) < len(boxes):
        raise pytest.UsageError(
            "--deck-pass-layer, --deck-fail-layer and --deck-box-layer: each needs a layer of its own"
        )
    return layers


def _refuse_without_deck(config: pytest.Config, layers: MarkerLayers | None) -> None:
    lone = [name for name in ("deck_labels", "deck_root", "deck_define", "deck_strict") if config.getoption(name)]
    if lone or layers is not None or config.getoption("rdb_dir"):
        name = lone[0].replace("_", "-") if lone else "rdb-dir" if layers is None else "deck-...-layer"
        raise pytest.UsageError(f"--{name} says something of decks, and no --deck is given")


def _layer(text: str) -> Layer:
    from pytest_iclayout.technology.layers import Layer

    try:
        return Layer.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(_reason(error)) from error


def _definition(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is no definition; write NAME=VALUE")
    return name, value


def _timeout(text: str) -> int:
    return _whole_number(text, 1)


def _memory(text: str) -> int:
    return _whole_number(text, _LEAST_MB)


def _whole_number(text: str, least: int) -> int:
    value = int(text) if text.isdecimal() else least - 1
    if not least <= value <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {_MOST}")
    return value


def _reason(error: ValueError) -> str:
    """Without what pydantic puts around it."""
    errors = getattr(error, "errors", None)
    return str(errors()[0]["msg"]).removeprefix("Value error, ") if errors else str(error)
