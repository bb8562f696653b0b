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

_KEYS = re.compile(rb"^(?:\xef\xbb\xbf)?[\"']?(categories|data_dir)[\"']?[ \t]*:", re.MULTILINE)
_READ_AT_MOST = 16384


def is_published_rule(path: Path) -> bool:
    """Whether a ``spec.yaml`` stands beside labels, or has the keys that name them and the categories.

    Other programs have a spec.yaml too; False is final, True means that what is wrong with the file is to be told.
    """
    if path.name != SPEC_NAME:
        return False
    if os.path.exists(f"{os.fspath(path.parent)}/{GDS_FOLDER}/{LABELS_NAME}"):  # noqa: PTH110 - half the time
        return True
    try:
        with path.open("rb") as file:
            return {match[1] for match in _KEYS.finditer(file.read(_READ_AT_MOST))} == {b"categories", b"data_dir"}
    except OSError:
        return False
