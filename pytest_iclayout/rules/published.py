"""Rules of a published tree: a folder a rule, with spec.yaml, a gold deck and labelled GDS files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pytest_iclayout.rules.labels import read_labels
from pytest_iclayout.rules.published_spec import MOST_BYTES, PublishedSpec, parse_spec, published_rule
from pytest_iclayout.rules.rule import Rule, RuleError
from pytest_iclayout.rules.sniff import GDS_FOLDER, LABELS_NAME, is_published_rule

__all__ = ["check_layouts", "is_published_rule", "load_published_rule"]


def load_published_rule(spec_path: Path, suite: str = "", suite_version: str = "") -> Rule:
    """The rule of a ``spec.yaml``; no layout and no deck is read.

    Raises RuleError that names the file and the key, or the line: a required key is missing, a value has the wrong
    type, the categories are not those of the labels, a layout has no label or a label no layout.
    """
    place = os.fspath(spec_path)
    try:
        with open(place, "rb") as file:  # noqa: PTH123 - a suite has a thousand
            spec = parse_spec(file.read(MOST_BYTES + 1), place)
    except OSError as error:
        raise RuleError(f"{place}: cannot be read: {error.strerror}") from error
    folder = os.path.abspath(spec_path.parent)  # noqa: PTH100
    gds = _data_folder(spec, folder)
    if gds is None:
        raise RuleError(f"{place}: data_dir: no {LABELS_NAME} in {spec.data_dir}, seen from the folder of the problems "
                        "or the working directory, nor in data/gds beside the file")  # fmt: skip
    table = f"{gds}/{LABELS_NAME}"
    try:
        with open(table, "rb") as file:  # noqa: PTH123
            data = file.read()
        files = frozenset(_files(gds))
    except OSError as error:
        raise RuleError(f"{error.filename}: cannot be read: {error.strerror}") from error
    labels = read_labels(data, table, files, _prefixes(spec, folder, gds))
    gold = _gold(spec, folder)
    warnings = []
    if os.path.basename(folder) != spec.id:  # noqa: PTH119
        warnings.append(f"id: {spec.id} is not the folder's name; the published evaluator finds its decks by the id")
    usual = f"gold/{spec.id}.drc"
    named = spec.deck if spec.deck and not spec.deck.endswith(usual) else None
    if named and gold == Path(folder, usual):
        warnings.append(f"deck: {usual} is taken instead; there is no {named}")
    if gold is None:
        other = f" nor {named}" if named else ""
        warnings.append(f"no gold deck: no {usual}{other}; whether a deck can meet the labels is not known")
    return published_rule(
        spec,
        labels,
        {name: Path(f"{gds}/{name}") for name in labels.violates},
        place=place,
        table=table,
        path=spec_path,
        gold=gold,
        suite=suite,
        suite_version=suite_version,
        warnings=warnings,
    )


def check_layouts(rule: Rule) -> list[str]:
    """What is wrong with a rule's layouts, each named: one that KLayout cannot read, or without a single top cell,
    on which no deck runs.  Reads all of them."""
    import klayout.db as db

    found = []
    for one in rule.layouts:
        layout = db.Layout()
        try:
            layout.read_bytes(one.gds(), db.LoadLayoutOptions())
        except RuleError as error:
            found.append(f"{one.name}: {error}")
            continue
        except RuntimeError as error:
            found.append(f"{one.name}: not readable as a layout: {' '.join(str(error).split())}")
            continue
        tops = layout.top_cells()
        if len(tops) != 1:
            found.append(f"{one.name}: needs one top cell, has {len(tops)}")
    return found


def _data_folder(spec: PublishedSpec, folder: str) -> str | None:
    """The folder of the labels.  The working directory comes last: there may be another copy of the tree."""
    for place in (
        f"{_above(folder, 2)}/{spec.data_dir}",
        f"{folder}/{spec.data_dir}",
        f"{folder}/{GDS_FOLDER}",
        spec.data_dir,
    ):
        place = os.path.normpath(place)
        if os.path.isfile(f"{place}/{LABELS_NAME}"):  # noqa: PTH113
            return os.path.abspath(place)  # noqa: PTH100
    return None


def _prefixes(spec: PublishedSpec, folder: str, gds: str) -> list[str]:
    """What a table may write before the name that a layout has below ``gds``."""
    tops = (_above(folder, 2), os.getcwd())  # noqa: PTH109
    near = [gds[len(top.rstrip("/")) + 1 :] for top in tops if gds.startswith(f"{top.rstrip('/')}/")]
    return [f"{one}/" for one in (os.path.normpath(spec.data_dir), *near, gds)]


def _gold(spec: PublishedSpec, folder: str) -> Path | None:
    deck = spec.deck
    named = () if not deck else (f"{_above(folder, 2)}/{deck}", f"{folder}/{deck}")
    for place in (*named, f"{folder}/gold/{spec.id}.drc", *((deck,) if deck else ())):
        if os.path.isfile(place):  # noqa: PTH113
            return Path(os.path.abspath(place))  # noqa: PTH100
    return None


def _files(gds: str, below: str = "") -> Iterator[str]:
    """Names of the files below the GDS folder.  Raises OSError."""
    with os.scandir(f"{gds}/{below}" if below else gds) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=not below):  # pass may be a link; a link further down may lead to itself
                yield from _files(gds, f"{below}{entry.name}/")
            elif entry.is_file():
                yield f"{below}{entry.name}"


def _above(folder: str, levels: int) -> str:
    for _ in range(levels):
        folder = os.path.dirname(folder)  # noqa: PTH120
    return folder
