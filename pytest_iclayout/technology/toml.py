"""TOML reading on every supported Python: tomllib came with 3.11; tomli is the same code for 3.10."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class TOMLError(ValueError):
    """Text that is no TOML; the message says where and why."""


def loads(text: str) -> dict[str, Any]:
    """Raises TOMLError, also for tables without end in one another and for a number of too many digits, of which the
    parser tells in other ways."""
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise TOMLError(str(error)) from error
    return found
