"""Which application runs decks.  The programs here are fakes that only tell a version."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pytest_iclayout.drc.decks import engines
from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.engines import Engine, EngineUnavailable, find_engine, find_engines
from pytest_iclayout.drc.decks.pool import DeckPool, run_all
from pytest_iclayout.sandbox import fork_server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH, but for that of the shell."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin-of-nothing")
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def fake(path: Path, says: str) -> None:
    program(path, f"#!/bin/sh\necho '{says}'\n")


def program(path: Path, text: str) -> None:
    path.write_text(text)
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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("#!/bin/sh\necho No license.\nexit 3", r"(-b -v) it ended with status 3 and printed 'No license.'"),
        ("#!/bin/sh\nexit 1", "it ended with status 1 and printed nothing"),
        ("#!/bin/sh\necho KLayout 0.27.13", "is of version 0.27.13"),
        ("#!/no/such/interpreter", "cannot be started: No such file or directory"),
        ("#!/bin/sh\necho KLayout 0.28.5; /bin/sleep 600", "it did not end within 3 s and printed 'KLayout 0.28.5'"),
        ("#!/bin/sh\nwhile :; do echo y; done", "it did not end within 3 s and printed 'y'"),
    ],
    ids=["status", "silent", "old", "no program", "hangs", "prints on"],
)
def test_program_that_does_not_work_is_named_with_what_it_did(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    monkeypatch.setattr(engines, "_ANSWER_S", 3)
    program(folder / "klayout", text)
    with pytest.raises(EngineUnavailable) as caught:
        find_engine()
    known = "no KLayout application 0.28 or newer on PATH can be used: "
    assert str(caught.value).startswith(f"{known}{folder / 'klayout'} ")
    assert told in str(caught.value)
    assert str(caught.value).endswith(f"{engines.ADVICE}; {engines.INSTALL}")


def test_what_a_hanging_program_started_is_ended_with_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_ANSWER_S", 3)
    program(folder / "klayout", f"#!/bin/sh\n/bin/sleep 600 &\necho $! > {folder / 'pid'}\nwait")
    assert find_engines() == ()
    deadline = time.monotonic() + 30
    while is_alive(int((folder / "pid").read_text())):
        assert time.monotonic() < deadline, "a process outlived the question"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("text", "did"),
    [
        ("exec /bin/sleep 600", "was not ready within 3 s and printed nothing"),
        ("echo broken; exit 1", "ended before it was ready and printed 'broken'"),
    ],
)
def test_application_that_never_serves_is_named_once_and_not_waited_for_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, did: str
) -> None:
    monkeypatch.setattr(fork_server, "_START_S", 3)
    program(folder / "klayout", f"#!/bin/sh\necho started >> {folder / 'starts'}\n{text}\n")
    engine = Engine(kind="klayout", program=str(folder / "klayout"), version="0.28.5")
    with DeckPool(engine=engine, sandbox=False) as pool:
        executions = run_all(pool, Deck.of_text("", "a.drc"), [b"one", b"two", b"three"])
    why = f"{folder / 'klayout'} does not work: as a server for scripts it {did}; {engines.ADVICE}"
    assert {(one.infrastructure, one.reason) for one in executions} == {(True, why)}
    assert (folder / "starts").read_text().count("started") == 1


def test_where_there_is_no_application_it_is_said_how_to_install_one(folder: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"no KLayout application 0\.28 or newer on PATH \(.*apt-get install"):
        find_engine()
