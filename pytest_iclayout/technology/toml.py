"""TOML reading on every supported Python: tomllib came with 3.11; tomli is the same code for 3.10."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

__all__ = ["loads"]
