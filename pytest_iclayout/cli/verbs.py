"""What the verbs of ``iclayout`` share."""

from __future__ import annotations

import argparse
from typing import TypeAlias

EXIT_DIFFERS = 1
"""Something that was asked about does not hold."""
EXIT_USAGE = 2

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
