"""Which application runs decks.  The programs here are fakes that only tell a version."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_iclayout.drc.decks.engines import EngineUnavailable, find_engine, find_engines


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH, but for that of the shell."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin-of-nothing")
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def fake(path: Path, says: str) -> None:
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)


def test_strmrun_is_preferred_and_loads_the_language_first(folder: Path) -> None:
    fake(folder / "klayout", "KLayout 0.28.5")
    fake(folder / "strmrun", "0.30.0 rLatestSourcePackage")
    (folder / "libklayout_drc.so.0").touch()
    fast, slow = find_engines()
    assert (fast.kind, fast.version, slow.kind, slow.version) == ("strmrun", "0.30.0", "klayout", "0.28.5")
    assert f"LD_PRELOAD={folder / 'libklayout_drc.so.0'}" in fast.server_command(3, 4, 2)
    assert not any("LD_PRELOAD" in word for word in slow.server_command(3, 4, 2))


def test_strmrun_without_the_language_runs_no_decks(folder: Path) -> None:
    fake(folder / "klayout", "KLayout 0.29.1")
    fake(folder / "strmrun", "KLayout 0.30.0")
    assert [one.kind for one in find_engines()] == ["klayout"]


def test_language_is_found_where_a_link_leads(folder: Path, tmp_path: Path) -> None:
    home = tmp_path / "opt" / "klayout"
    home.mkdir(parents=True)
    fake(home / "strmrun", "0.30.4")
    (home / "libklayout_drc.so").touch()
    (folder / "strmrun").symlink_to(home / "strmrun")
    (engine,) = find_engines()
    assert engine.library == str(home / "libklayout_drc.so")
    assert {home, folder} <= set(engine.folders()), "both are shown to a contained server"


@pytest.mark.parametrize("says", ["KLayout 0.27.13", "no version", ""])
def test_what_is_too_old_or_something_else_is_not_taken(folder: Path, says: str) -> None:
    fake(folder / "klayout", says)
    with pytest.raises(EngineUnavailable, match=r"no KLayout application 0\.28 or newer on PATH .*apt-get install"):
        find_engine()
