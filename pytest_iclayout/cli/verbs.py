"""What the verbs of ``iclayout`` share."""

from __future__ import annotations

import argparse
from typing import TypeAlias

EXIT_DIFFERS = 1
"""Something that was asked about does not hold."""
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
"""As shells have it for Ctrl-C."""

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
