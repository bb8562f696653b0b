"""Rules written as a published tree, for programs that read that format."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from pytest_iclayout.rules.labels import write_labels
from pytest_iclayout.rules.published_spec import ID_PATTERN
from pytest_iclayout.rules.rule import LabelledLayout, Rule, RuleError
from pytest_iclayout.rules.sniff import GDS_FOLDER, LABELS_NAME, SPEC_NAME, is_published_rule

PROBLEMS = "problems"
"""The folder of the rules; the files name each other from the folder above it, where the published programs run."""
_LONGEST_STEM = 200
"""Letters: with its number and suffix a file's name stays below what file systems take."""
_FILE_NAME = re.compile(rf"(pass|fail)/[A-Za-z0-9_][A-Za-z0-9_.+-]{{0,{_LONGEST_STEM - 1}}}\.gds")
_GDS_HEADER = b"\x00\x06\x00\x02"


def write_published(rules: Iterable[Rule], folder: Path) -> list[Path]:
    """Write each rule to ``folder/problems/ID``; gives the paths of the ``spec.yaml`` files, in the rules' order.

    A rule is there whole or not at all, and takes the place of a former one of its id.  Layouts keep their names
    where those are names of the format, in ``pass`` or ``fail``; no two of a rule have one stem, by which the
    published evaluator names its reports.  What the format does not know is not written: structures, the suite.

    Raises RuleError for a rule that the format cannot hold, an id that is used twice, and a folder ``problems/ID``
    that holds something else; OSError where nothing can be written.
    """
    written: dict[str, Path] = {}
    for rule in rules:
        if rule.id in written:
            raise RuleError(f"{rule.path}: id {rule.id}: another rule has it too; a tree has a folder for each")
        if not re.match(ID_PATTERN, rule.id):
            raise RuleError(f"{rule.path}: id {rule.id!r}: no name for a folder")
        written[rule.id] = _write(rule, folder)
    return list(written.values())


def _write(rule: Rule, folder: Path) -> Path:
    place = folder / PROBLEMS / rule.id
    if place.exists() and not is_published_rule(place / SPEC_NAME):
        raise RuleError(f"{place}: is there already, and no rule; nothing was written over it")
    # Not below problems/: whoever lists that folder must not find half a rule.
    beside = folder / f".{uuid.uuid4().hex}.part"
    made, former = beside / "new", beside / "former"
    try:
        _fill(rule, made)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            place.rename(former)
        try:
            made.rename(place)
        except OSError:
            if former.exists():
                former.rename(place)
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return place / SPEC_NAME


def _fill(rule: Rule, folder: Path) -> None:
    gds = folder / GDS_FOLDER
    for side in ("pass", "fail"):
        (gds / side).mkdir(parents=True)
    names = _file_names(rule.layouts)
    for name, layout in zip(names, rule.layouts, strict=True):
        data = layout.gds()
        if not data.startswith(_GDS_HEADER):
            raise RuleError(f"{rule.path}: {rule.id}: layout {layout.name}: not GDS, which the format needs")
        (gds / name).write_bytes(data)
    prefix = f"{PROBLEMS}/{rule.id}/{GDS_FOLDER}"
    labels = {f"{prefix}/{name}": one.violates for name, one in zip(names, rule.layouts, strict=True)}
    (gds / LABELS_NAME).write_text(write_labels(rule.category_names, labels), encoding="utf-8", newline="\n")
    deck = rule.gold_deck()
    if deck is not None:
        (folder / "gold").mkdir()
        (folder / "gold" / f"{rule.id}.drc").write_bytes(deck.files[deck.name])
    text = yaml.safe_dump(_description(rule), sort_keys=False, allow_unicode=True, width=100)
    (folder / SPEC_NAME).write_text(text, encoding="utf-8", newline="\n")


def _description(rule: Rule) -> dict[str, Any]:
    here = f"{PROBLEMS}/{rule.id}"
    return {
        "id": rule.id,
        "title": rule.title,
        "categories": list(rule.category_names),
        "deck": f"{here}/gold/{rule.id}.drc",
        "data_dir": f"{here}/{GDS_FOLDER}",
        "nl_description": rule.text,
        "layers": {name: [pair.layer, pair.datatype] for name, pair in rule.layers.items()},
        "rules": [{"text": one.text, "category": one.name} for one in rule.categories],
        **({"group": rule.group} if rule.group else {}),
    }


def _file_names(layouts: Iterable[LabelledLayout]) -> list[str]:
    found: list[str] = []
    stems: set[str] = set()
    for layout in layouts:
        name = layout.name
        if not _FILE_NAME.fullmatch(name):
            stem = re.sub(r"[^A-Za-z0-9_.+-]", "_", name.removesuffix(".gds")).lstrip(".-+")[:_LONGEST_STEM] or "layout"
            name = f"{'fail' if layout.violates else 'pass'}/{stem}.gds"
        side, _, file = name.partition("/")
        stem = unique = file.removesuffix(".gds")
        number = 1
        while unique.lower() in stems:  # some file systems have no case
            number += 1
            unique = f"{stem}-{number}"
        stems.add(unique.lower())
        found.append(f"{side}/{unique}.gds")
    return found
