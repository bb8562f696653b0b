"""Tables of labels: which layout violates which category, as the published tree writes them."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pytest_iclayout.rules.rule import RuleError

_FILENAME = "filename"


@dataclass(frozen=True)
class Labels:
    """``violates`` has for each layout, by its name below the GDS folder, the categories labelled 1, in the order of
    the rows."""

    categories: tuple[str, ...]
    violates: Mapping[str, frozenset[str]]


def read_labels(data: bytes, place: str, files: Collection[str], prefixes: Sequence[str] = ()) -> Labels:
    """A table with the header ``filename`` and the categories, in any order; its cells are 0 or 1.

    ``files`` are the names of the layouts below the GDS folder, ``pass/x.gds``.  A row may name one so, or with one
    of ``prefixes`` before it, which end in a slash.  ``place`` is the table's name for messages.

    Raises RuleError with place, line and column for what is not such a table, a file that is named twice or does not
    exist, and a layout without a row.
    """
    rows = table_rows(data, place)
    if not rows:
        raise RuleError(f"{place}: empty; needs the header {_FILENAME},CATEGORY,...")
    line, header = rows[0][0], [cell.strip() for cell in rows[0][1]]
    categories = _categories(header, f"{place}:{line}")
    at = header.index(_FILENAME)
    columns = [(number, name) for number, name in enumerate(header) if number != at]
    violates: dict[str, frozenset[str]] = {}
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise RuleError(f"{place}:{line}: has {len(row)} cells, the header {len(header)}")
        name = _file(row[at].strip(), files, prefixes)
        if name is None:
            raise RuleError(f"{place}:{line}: column {_FILENAME}: no layout {row[at]!r}")
        if name in violates:
            raise RuleError(f"{place}:{line}: column {_FILENAME}: {row[at]!r} has a row already")
        ones = []
        for number, category in columns:
            cell = row[number].strip()
            if cell == "1":
                ones.append(category)
            elif cell != "0":
                raise RuleError(f"{place}:{line}: column {category}: {row[number]!r} is neither 0 nor 1")
        violates[name] = frozenset(ones)
    missing = sorted(name for name in files if name.lower().endswith(".gds") and name not in violates)
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise RuleError(f"{place}: no row for {missing[0]}{more}")
    if not violates:
        raise RuleError(f"{place}: no layouts")
    return Labels(categories, violates)


def write_labels(categories: Sequence[str], violates: Mapping[str, Collection[str]]) -> str:
    """The table for layouts by the names that its rows are to have."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow([_FILENAME, *categories])
    for name, ones in violates.items():
        table.writerow([name, *(int(category in ones) for category in categories)])
    return out.getvalue()


def table_rows(data: bytes, place: str) -> list[tuple[int, list[str]]]:
    """The rows of a CSV table with their line numbers, blank ones left out. Raises RuleError with place and line."""
    try:
        table = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        return [(table.line_num, row) for row in table if any(cell.strip() for cell in row)]
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleError(f"{place}:{line}: not UTF-8: byte {data[error.start]:#04x}") from error
    except csv.Error as error:
        raise RuleError(f"{place}:{table.line_num}: no table of comma-separated values: {error}") from error


def _categories(header: Sequence[str], place: str) -> tuple[str, ...]:
    if _FILENAME not in header:
        raise RuleError(f"{place}: no column {_FILENAME}; the header has {', '.join(map(repr, header))}")
    double = sorted({name for name in header if header.count(name) > 1})
    if double:
        raise RuleError(f"{place}: column {double[0]} stands twice in the header")
    categories = tuple(name for name in header if name != _FILENAME)
    if not all(categories):
        raise RuleError(f"{place}: a column of the header has no name")
    return categories


def _file(text: str, files: Collection[str], prefixes: Sequence[str]) -> str | None:
    name = text.replace("\\", "/") if "\\" in text else text
    while name.startswith("./"):
        name = name[2:]
    if name in files:
        return name
    for prefix in prefixes:
        if name.startswith(prefix) and name[len(prefix) :] in files:
            return name[len(prefix) :]
    return None
