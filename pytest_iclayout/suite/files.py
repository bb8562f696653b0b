"""Reading TOML files whole, with errors that name the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_iclayout.technology import toml


class SuiteError(ValueError):
    """A file of a suite that cannot be used; the message names the file and the key or line."""


def read_text(path: Path) -> str:
    """Raises SuiteError for a file that is missing, empty or not UTF-8."""
    if path.exists() and not path.is_file() and not path.is_dir():
        # Reading a pipe that nobody writes to would never end.
        raise SuiteError(f"{path}: a pipe, socket or device, not a file")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SuiteError(f"{path}: cannot be read: {error.strerror}") from error
    if not data.strip():
        raise SuiteError(f"{path}: the file is empty")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SuiteError(f"{path}: not UTF-8 text (byte {error.start})") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Raises SuiteError as :func:`read_text` does, and for text that is not TOML."""
    text = read_text(path)
    try:
        return toml.loads(text)
    except toml.TOMLError as error:
        raise SuiteError(f"{path}: not TOML: {error}") from error
