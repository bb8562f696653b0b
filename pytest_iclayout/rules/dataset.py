"""Rules of the dataset: a table of rules and a table of their layouts, in files of any name."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_iclayout.rules.labels import Labels, read_labels
from pytest_iclayout.rules.published_spec import parse_spec, published_rule
from pytest_iclayout.rules.rule import Rule, RuleError
from pytest_iclayout.rules.sniff import GDS_FOLDER, TABLE_SUFFIXES, is_dataset, table_has
from pytest_iclayout.rules.tables import Row, read_rows

__all__ = ["is_dataset", "iterate_dataset"]

_RULE_COLUMNS = (
    "problem_id", "title", "nl_description", "category", "layers_json", "spec_yaml",
    "gold_drc", "gold_drc_sha256", "labels_csv", "labels_csv_sha256",
)  # fmt: skip
_LAYOUT_COLUMNS = (
    "problem_id", "gds_path", "filename", "split_hint", "labels_json", "gds", "gds_bytes", "gds_sha256",
)  # fmt: skip


def iterate_dataset(path: Path, suite: str = "", suite_version: str = "") -> Iterator[Rule | RuleError]:
    """All rules of a folder's tables, or those of one table of rules, in the order of the rows; a bad rule is its
    error, and the others go on.

    The tables of layouts lie in the same folder, in folders below it, or in folders beside it.  They are those in the
    format of the table of rules, where there are any.  Raises RuleError for a table that cannot be read.
    """
    if path.is_dir():
        tables = [one for one in _tables(path, 2) if is_dataset(one)]
        if not tables:
            raise RuleError(f"{path}: no table with the columns problem_id, spec_yaml and labels_csv")
    elif is_dataset(path):
        tables = [path]
    else:
        raise RuleError(f"{path}: no table with the columns problem_id, spec_yaml and labels_csv, or a damaged one")
    ids: dict[str, str] = {}
    layouts: dict[tuple[Path, ...], dict[str, _Layouts]] = {}
    for table in tables:
        files = _layout_tables(table)
        if files not in layouts:
            layouts[files] = _read_layouts(files)
        for place, row in read_rows(table, _RULE_COLUMNS):
            try:
                rule = _rule(place, row, table, layouts[files], suite, suite_version)
                if ids.setdefault(rule.id, place) != place:
                    raise RuleError(f"{place}: {rule.id}: {ids[rule.id]} has a rule of that id already")
                yield rule
            except RuleError as error:
                yield error


def _tables(folder: Path, levels: int) -> Iterator[Path]:
    try:
        entries = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    except OSError as error:
        raise RuleError(f"{folder}: cannot be read: {error.strerror}") from error
    for one in entries:
        if one.suffix in TABLE_SUFFIXES and one.is_file():
            yield one
    for one in entries:
        if levels and one.is_dir() and not one.is_symlink():
            yield from _tables(one, levels - 1)


def _layout_tables(table: Path) -> tuple[Path, ...]:
    folder = table.parent
    for top, levels in ((folder, 1), (folder.parent, 1)):
        found = [
            one
            for one in _tables(top, levels)
            if not is_dataset(one)
            and (table_has(one, ("problem_id", "gds_path")) or table_has(one, ("problem_id", "filename")))
        ]
        if found:
            return tuple(one for one in found if one.suffix == table.suffix) or tuple(found)
    raise RuleError(
        f"{table}: no table with the columns problem_id, gds_path and gds, in its folder, below it or beside it"
    )


class _Layouts:
    """The layouts of one rule, by name; what was wrong with one is told when the rule is made."""

    def __init__(self) -> None:
        self.gds: dict[str, bytes] = {}
        self.labels: dict[str, Mapping[str, Any]] = {}
        self.error: RuleError | None = None

    def add(self, place: str, row: Row) -> None:
        try:
            name = _name(place, row)
            if name in self.gds:
                raise RuleError(f"{place}: the rule has a layout {name} already")
            self.gds[name] = _gds(place, row)
            if row.get("labels_json") is not None:
                self.labels[name] = _json(place, row, "labels_json")
        except RuleError as error:
            self.error = self.error or error


def _read_layouts(files: Iterable[Path]) -> dict[str, _Layouts]:
    found: dict[str, _Layouts] = {}
    for file in files:
        for place, row in read_rows(file, _LAYOUT_COLUMNS):
            found.setdefault(_text(place, row, "problem_id"), _Layouts()).add(place, row)
    return found


def _rule(place: str, row: Row, table: Path, layouts: Mapping[str, _Layouts], suite: str, suite_version: str) -> Rule:
    problem = _text(place, row, "problem_id")
    place = f"{place}: {problem}"
    given = layouts.get(problem)
    if given is None:
        raise RuleError(f"{place}: no layouts of this rule in the tables of layouts")
    if given.error is not None:
        raise given.error
    spec_text, labels_text = (_text(place, row, column) for column in ("spec_yaml", "labels_csv"))
    gold = None if row.get("gold_drc") is None else _text(place, row, "gold_drc")
    _require_digest(place, row, "labels_csv", labels_text.encode())
    if gold is not None:
        _require_digest(place, row, "gold_drc", gold.encode())
    spec = parse_spec(spec_text.encode(), f"{place}: spec_yaml", _defaults(place, row))
    prefixes = (f"{spec.data_dir.rstrip('/')}/", f"problems/{problem}/{GDS_FOLDER}/")
    labels = read_labels(labels_text.encode(), f"{place}: labels_csv", given.gds, prefixes)
    warnings = list(_label_differences(labels, given.labels))
    if spec.id != problem:
        warnings.append(f"id: {spec.id} is not the problem_id {problem}")
    if gold is None:
        warnings.append("no gold deck: whether a deck can meet the labels is not known")
    group = row.get("category")
    return published_rule(
        spec,
        labels,
        given.gds,
        place=f"{place}: spec_yaml",
        table="labels_csv",
        path=table,
        gold=gold,
        suite=suite,
        suite_version=suite_version,
        group=group if isinstance(group, str) and group not in spec.categories else "",
        warnings=warnings,
    )


def _defaults(place: str, row: Row) -> dict[str, Any]:
    """What the description may leave out and the columns have."""
    found = {key: row[key] for key in ("title", "nl_description") if row.get(key) is not None}
    if row.get("layers_json") is not None:
        found["layers"] = _json(place, row, "layers_json")
    return found


def _label_differences(labels: Labels, by_layout: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, given in by_layout.items():
        ones = {category for category, value in given.items() if value}
        if name in labels.violates and ones != labels.violates[name]:
            yield f"layout {name}: labels_json differs from labels_csv, which counts"


def _name(place: str, row: Row) -> str:
    column = "gds_path" if "gds_path" in row else "filename"
    name = _text(place, row, column).replace("\\", "/").lstrip("./").rpartition(f"{GDS_FOLDER}/")[2]
    if "/" not in name:
        name = f"{_text(place, row, 'split_hint')}/{name}"
    if ".." in name.split("/"):
        raise RuleError(f"{place}: {column}: {row[column]!r} leaves the folder")
    return name


def _gds(place: str, row: Row) -> bytes:
    column = "gds_bytes" if "gds_bytes" in row and "gds" not in row else "gds"
    data = row.get(column)
    if isinstance(data, str):
        try:
            data = base64.b64decode(data, validate=True)
        except ValueError as error:
            raise RuleError(f"{place}: {column}: not Base64: {error}") from error
    if not isinstance(data, bytes):
        raise RuleError(f"{place}: {column}: needs the bytes of a layout, in JSON as Base64")
    _require_digest(place, row, "gds", data)
    return data


def _require_digest(place: str, row: Row, column: str, data: bytes) -> None:
    digest = row.get(f"{column}_sha256")
    if digest is not None and hashlib.sha256(data).hexdigest() != str(digest).lower():
        raise RuleError(f"{place}: {column}: is not what {column}_sha256 says; the file was changed or damaged")


def _text(place: str, row: Row, column: str) -> str:
    value = row.get(column)
    if column not in row:
        raise RuleError(f"{place}: {column}: no such column")
    if not isinstance(value, str) or not value:
        raise RuleError(f"{place}: {column}: needs text")
    try:
        value.encode()
    except UnicodeEncodeError as error:  # JSON can escape half a character
        raise RuleError(f"{place}: {column}: no Unicode text at character {error.start + 1}") from error
    return value


def _json(place: str, row: Row, column: str) -> Mapping[str, Any]:
    """A column of JSON text; also one that is no text but the value itself."""
    value = row[column]
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise RuleError(f"{place}: {column}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise RuleError(f"{place}: {column}: needs a JSON object")
    return value
