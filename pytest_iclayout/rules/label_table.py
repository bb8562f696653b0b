"""Labels of whole layouts in a table: which rules each one violates."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from pytest_iclayout.rules.labels import table_rows
from pytest_iclayout.rules.rule import RuleError

FILE_NAME = "labels.csv"
_FILENAME = "filename"
_CELLS = {"0": False, "1": True, "": None}


def read_label_table(path: Path) -> Mapping[Path, Mapping[str, bool]]:
    """For each layout file the rules that it is labelled for, and whether it violates them.

    The table is CSV with the header ``filename`` and a column a rule; a cell is 1 for a violation, 0 for none, empty
    for a layout that says nothing of the rule.  A file is named from the table's folder; folders before that, as in
    tables that were made elsewhere, are left out as far as it takes to find the file.

    Raises RuleError with file and line for all else, for a file that does not exist and one that is named twice.
    """
    try:
        rows = table_rows(path.read_bytes(), str(path))
    except OSError as error:
        raise RuleError(f"{path}: cannot be read: {error.strerror}") from error
    if not rows:
        raise RuleError(f"{path}: empty; needs the header {_FILENAME},RULE,...")
    line, header = rows[0]
    rules = [cell.strip() for cell in header]
    if _FILENAME not in rules:
        raise RuleError(f"{path}:{line}: no column {_FILENAME}; needs the header {_FILENAME},RULE,...")
    if not all(rules) or len(rules) != len(set(rules)):
        raise RuleError(f"{path}:{line}: a column has no name, or that of another one")
    found: dict[Path, Mapping[str, bool]] = {}
    for line, cells in rows[1:]:
        if len(cells) != len(rules):
            raise RuleError(f"{path}:{line}: has {len(cells)} cells, the header has {len(rules)}")
        row = {rule: cell.strip() for rule, cell in zip(rules, cells, strict=True)}
        layout = _layout(path.parent, row.pop(_FILENAME))
        if layout is None:
            raise RuleError(f"{path}:{line}: no such layout file below {path.parent}: {cells[rules.index(_FILENAME)]}")
        if layout in found:
            raise RuleError(f"{path}:{line}: {layout} has a row already")
        wrong = [(rule, cell) for rule, cell in row.items() if cell not in _CELLS]
        if wrong:
            raise RuleError(
                f"{path}:{line}: column {wrong[0][0]}: {wrong[0][1]!r} is neither 0 (meets the rule), 1 (violates it) "
                "nor empty (not labelled)"
            )
        found[layout] = {rule: value for rule, cell in row.items() if (value := _CELLS[cell]) is not None}
    return found


def _layout(folder: Path, name: str) -> Path | None:
    """The file that a row names: as named, else without folders from the left."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    for start in range(len(parts)):
        path = folder.joinpath(*parts[start:])
        if os.path.isfile(path):  # noqa: PTH113 - which also takes names that are too long for one
            return path.resolve()
    return None
