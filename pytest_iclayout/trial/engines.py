"""Versions of everything that takes part in a verdict."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata


@cache
def engine_versions() -> dict[str, str]:
    """Name to version of the plugin, the geometry engines, pydantic, Python and the platform."""
    names = ("pytest-iclayout", "klayout", "gdstk", "hypothesis", "jinja2", "pydantic", "pytest")
    versions = {name: metadata.version(name) for name in names}
    return {**versions, "python": platform.python_version(), "platform": platform.platform(terse=True)}
