"""Folders of killed processes are removed by the next, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_iclayout.drc.decks import work_folder
from pytest_iclayout.drc.decks.work_folder import WorkFolder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(work_folder, "_in_memory", lambda: tmp_path)
    return tmp_path


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def named_after(made: WorkFolder, process: int) -> Path:
    """A folder such as the process would have made."""
    found = made.path.with_name(made.path.name.replace(f"-{os.getpid()}-", f"-{process}-"))
    assert found != made.path
    (found / "jobs").mkdir(parents=True)
    return found


def test_folder_of_a_dead_process_is_removed_that_of_a_live_one_is_not(place: Path) -> None:
    first = WorkFolder()
    dead, live = named_after(first, dead_process()), named_after(first, os.getppid())
    WorkFolder()
    assert first.path.exists()
    assert live.exists()
    assert not dead.exists()


def test_folder_of_a_process_that_another_container_sees_is_not_removed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(work_folder, "_process_space", lambda: 1)
        other = WorkFolder()
    theirs = named_after(other, dead_process())
    WorkFolder()
    assert theirs.exists()
