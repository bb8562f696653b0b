"""The decks of decks.toml, whole: those that run and those that must not end well."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TABLE = tomllib.loads(Path(__file__).with_name("decks.toml").read_text(encoding="utf-8"))
GOOD: dict[str, str] = {name: _TABLE["head"] + code for name, code in _TABLE["decks"].items()}
FAILING: dict[str, str] = {name: _TABLE["head"] + code for name, code in _TABLE["fails"].items()}
