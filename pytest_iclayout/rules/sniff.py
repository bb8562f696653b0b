"""Whether a file is a rule of the published formats, told from its name and surroundings.

The plugin is asked about every file of such a name on an installation, so this imports neither pydantic nor a layout
library.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

SPEC_NAME = "spec.yaml"
GDS_FOLDER = "data/gds"
"""Of the published tree, below a rule's folder."""
LABELS_NAME = "labels.csv"

_BOM = b"\xef\xbb\xbf"
"""What some editors begin a file with."""
_KEYS = re.compile(rb"^(?:" + _BOM + rb")?[\"']?(categories|data_dir)[\"']?[ \t]*:", re.MULTILINE)
_RULE_TABLE = re.compile(
    rb"^(?:" + _BOM + rb")?[ \t]*(?:\[\[[ \t]*[\"']?rules?[\"']?[ \t]*\]\]|\[[ \t]*[\"']?rule[\"']?[ \t]*\])",
    re.MULTILINE,
)
"""Also as it is often written by mistake."""
_RULE_KEY = re.compile(
    rb"^[ \t]*[\"']?(text|layers|categories|structure|gold|base|pass|fail|equivalent)[\"']?[ \t]*[.=]", re.MULTILINE
)
_READ_AT_MOST = 65536


def is_published_rule(path: Path) -> bool:
    """Whether a ``spec.yaml`` stands beside labels, or has the keys that name them and the categories.

    Other programs have a spec.yaml too; False is final, True means that what is wrong with the file is to be told.
    """
    if path.name != SPEC_NAME:
        return False
    if os.path.exists(f"{os.fspath(path.parent)}/{GDS_FOLDER}/{LABELS_NAME}"):  # noqa: PTH110 - half the time
        return True
    if not path.is_file():  # a pipe would be waited for without end
        return False
    try:
        with path.open("rb") as file:
            return {match[1] for match in _KEYS.finditer(file.read(_READ_AT_MOST))} == {b"categories", b"data_dir"}
    except OSError:
        return False


def lies_in_published_rule(path: Path) -> bool:
    """Whether this is a folder of a published rule's own: of its layouts, labels and deck."""
    spec = f"{os.fspath(path.parent)}/{SPEC_NAME}"
    return os.path.exists(spec) and path.is_dir() and is_published_rule(Path(spec))  # noqa: PTH110


TABLE_SUFFIXES = (".parquet", ".jsonl")
_FOOTER_AT_MOST = 1 << 20
_ROW_AT_MOST = 65536


def is_dataset(path: Path) -> bool:
    """Whether a Parquet or JSON lines file is a table of rules: these carry the collector, each for its rows.

    The tables of layouts beside it are read with it, and carry none.
    """
    return table_has(path, ("problem_id", "spec_yaml", "labels_csv"))


def table_has(path: Path, columns: tuple[str, ...]) -> bool:
    """Whether a table seems to have all of these columns, from Parquet's footer or the first row."""
    if path.suffix not in TABLE_SUFFIXES:
        return False
    try:
        with path.open("rb") as file:
            if path.suffix == ".jsonl":
                text = file.read(_ROW_AT_MOST).removeprefix(_BOM)
                # A row is cut off where it is long, so this is no JSON; its keys may come in any order.
                return text.lstrip()[:1] == b"{" and all(f'"{name}"'.encode() in text for name in columns)
            file.seek(-8, os.SEEK_END)
            end = file.read(8)
            length = int.from_bytes(end[:4], "little")
            if end[4:] != b"PAR1" or length > _FOOTER_AT_MOST:
                return False
            file.seek(-8 - length, os.SEEK_END)
            footer = file.read(length)
            return all(name.encode() in footer for name in columns)
    except OSError:
        return False


def is_rule_file(path: Path) -> bool:
    """Whether a TOML file has tables named ``rule``, with a gold deck, or layers and another key, or three others.

    Other programs have such tables too; True means that what is wrong with the file is to be told.
    """
    keys = {match[1] for match in _RULE_KEY.finditer(_with_rule_table(path))}
    return b"gold" in keys or len(keys) >= (2 if b"layers" in keys else 3)


def has_rule_table(path: Path) -> bool:
    """Whether a TOML file has a table named ``rule``, whatever its keys: enough for a file that somebody names."""
    return bool(_with_rule_table(path))


def _with_rule_table(path: Path) -> bytes:
    """The beginning of a TOML file with a table named ``rule``; nothing of another file."""
    if path.suffix != ".toml":
        return b""
    try:
        with path.open("rb") as file:
            data = file.read(_READ_AT_MOST)
    except OSError:
        return b""
    return data if _RULE_TABLE.search(data) else b""


def may_be_rules(path: Path) -> bool:
    """Whether a file holds rules, in whatever form; False is final."""
    return is_published_rule(path) or is_rule_file(path) or is_dataset(path)
