"""Hypothesis profiles and pytester; nothing else."""

import os

from hypothesis import settings

pytest_plugins = ["pytester"]

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
# Hypothesis takes a profile of its own where it sees CI; the others must not inherit from that.
usual = settings.get_profile("default")
settings.register_profile("nightly", usual, max_examples=1000, deadline=None)
settings.register_profile("dev", usual, deadline=None)
# Where the same tests run on several Pythons, one of them tries all examples; the others show that the code runs.
settings.register_profile("light", settings.get_profile("ci"), max_examples=10)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
