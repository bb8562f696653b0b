"""What a run over the bundled tasks prints, and a record of it: both are read by people and programs."""

from __future__ import annotations

import json
import re
from typing import Any

import gdstk
import klayout.lay
import pytest
from iclayout_checkers import CHECKERS
from syrupy.assertion import SnapshotAssertion

import pytest_iclayout.collect
import pytest_iclayout.trial.picture
from pytest_iclayout.checking.registry import CheckerRegistry

# A run within this process drops the modules that it was the first to import, which extension modules do not survive.
_PRELOADED = (gdstk, klayout.lay, pytest_iclayout.collect, pytest_iclayout.trial.picture)
for _name in CHECKERS:
    CheckerRegistry(CHECKERS).get(_name)

VARIABLE = ("artifact_sha256", "engines", "run_id", "started_at", "wall_ms", "nodeid", "task_digest")
"""Keys of a record that differ between runs, places or versions of a library."""

BUNDLED = ("--pyargs", "iclayout_tasks", "--agent=mock", "--agent=oracle", "--agent=nop", "--gate-examples=1")


def test_section_of_the_terminal(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    monkeypatch.setenv("COLUMNS", "100")
    text = pytester.runpytest_inprocess(*BUNDLED, "-k", "solve or (gate and tier1)").stdout.str()
    section = re.split(r"^=+ iclayout =+$", text, flags=re.MULTILINE)[1]
    section = re.split(r"^=+ short test summary info =+$", section, flags=re.MULTILINE)[0]
    assert re.search(r"; [1-9]\d* layouts tried$", section, re.MULTILINE)
    assert re.sub(r"\d+ layouts tried", "N layouts tried", section).strip("\n") == snapshot


def test_record(pytester: pytest.Pytester, snapshot: SnapshotAssertion):
    """Of a trial in which a command failed and was corrected."""
    pytester.runpytest_inprocess(*BUNDLED, "-k", "solve and t1_place_met1_rect")
    path = pytester.path / ".iclayout/results/iclayout/t1_place_met1_rect/mock.json"
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert set(VARIABLE) <= set(record)
    record |= dict.fromkeys(VARIABLE, "(normalised)")
    for key in ("artifact", "transcript"):
        record[key] = re.sub(r"-[0-9a-f]{12}\.", "-DIGEST.", record[key])
    assert json.dumps(record, indent=2) == snapshot
