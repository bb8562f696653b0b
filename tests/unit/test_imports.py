"""Every pytest run on an installation loads the plugin: it must cost next to nothing."""

import subprocess
import sys

import pytest

HEAVY = {"pydantic", "klayout", "hypothesis", "gdstk", "tree_sitter"}

SCRIPT = """
import sys
import pytest
before = set(sys.modules)
import pytest_iclayout.plugin
print(*sorted(set(sys.modules) - before))
"""


@pytest.fixture(scope="module")
def loaded():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_plugin_loads_fewer_than_a_hundred_modules(loaded):
    assert "pytest_iclayout.plugin" in loaded
    assert len(loaded) < 100, loaded


def test_plugin_loads_no_model_engine_or_property_library(loaded):
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()
