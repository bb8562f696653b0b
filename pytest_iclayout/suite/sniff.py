"""What a TOML file looks like, told from its text alone.

The plugin is asked about every TOML file of every project on an installation, so this imports
neither pydantic nor a layout library: most of those files are no concern of ours.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from pytest_iclayout.rules.sniff import is_rule_file

MANIFEST_NAME = "manifest.toml"
TASK_KEYS = ("checker", "prompt", "tier", "id", "technology")
"""The keys of a task file by which it is known."""

_BOM = rb"(?:\xef\xbb\xbf)?"
"""What some editors begin a file with."""
_TASKS_KEY = re.compile(rb"^" + _BOM + rb"\s*([\"']?)tasks\1\s*=", re.MULTILINE)
_TASK_KEY = re.compile(rb"^" + _BOM + rb"\s*[\"']?(" + "|".join(TASK_KEYS).encode() + rb")[\"']?\s*=", re.MULTILINE)
_TABLE = re.compile(rb"^\s*\[", re.MULTILINE)
_READ_AT_MOST = 65536
"""Bytes that are looked through for keys: they stand at a file's beginning."""


def may_be_ours(path: Path, top: Path) -> bool:
    """Whether a TOML file could be a task or a suite's manifest; False is final, True is not."""
    if path.name == MANIFEST_NAME:
        return is_suite_manifest(path)
    return looks_like_task(path) or is_rule_file(path) or manifest_above(path.parent, top) is not None


def looks_like_task(path: Path) -> bool:
    """Whether ``checker`` and another, or three, of a task's keys stand before the first table; also for
    text that is not quite TOML.  An id and a prompt alone are anybody's."""
    try:
        with path.open("rb") as file:
            top = _TABLE.split(file.read(_READ_AT_MOST), 1)[0]
    except OSError:
        return False
    keys = {match[1] for match in _TASK_KEY.finditer(top)}
    return len(keys) >= (2 if b"checker" in keys else 3)


def is_suite_manifest(path: Path) -> bool:
    """Whether a file of that name lists tasks; other programs have a manifest.toml too."""
    try:
        return path.name == MANIFEST_NAME and _TASKS_KEY.search(path.read_bytes()) is not None
    except OSError:
        return False


@lru_cache(maxsize=4096)
def manifest_above(folder: Path, top: Path) -> Path | None:
    """The nearest suite manifest in ``folder`` or above it, no higher than ``top``."""
    candidate = folder / MANIFEST_NAME
    if is_suite_manifest(candidate):
        return candidate
    if folder == top or folder.parent == folder:
        return None
    return manifest_above(folder.parent, top)
