"""Names of categories as KLayout writes them into a report."""

from __future__ import annotations

import re
from functools import lru_cache

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@lru_cache(maxsize=4096)
def written_name(category: str) -> str:
    """What an item's ``<category>`` holds in a report's XML: in quotes, with escapes, unless it looks like the name of
    a variable.  ``M1.2b`` is ``'M1.2b'``; the dot alone would be a category within another one."""
    if _PLAIN.fullmatch(category):
        return category  # nearly all are, and to know it takes no layout library
    import klayout.rdb as rdb

    report = rdb.ReportDatabase("")  # has a name of its own, as categories die with their report
    return str(report.create_category(category).path())
