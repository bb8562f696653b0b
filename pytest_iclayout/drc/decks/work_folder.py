"""The folder in which a pool's server and its jobs work."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from pytest_iclayout.drc.decks.deck import Deck

_LOG_BYTES = 4000
"""How much of the end of a script's output an execution keeps."""
_CLEAR_UP = 'asker=$1 folder=$2; shift 2; "$@"; [ -d "/proc/$asker" ] || rm -rf -- "$folder"'
"""Runs the server; the folder goes with it where the process that asked for it was killed and cannot remove it."""


def cleared_up(server: Sequence[str], folder: Path) -> list[str]:
    """The command of a server whose folder goes with it also when this process is killed."""
    return ["/bin/sh", "-c", _CLEAR_UP, "sh", str(os.getpid()), str(folder), *server]


def end_of(log: Path) -> str:
    try:
        with log.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - _LOG_BYTES))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


def is_large(layout: Path) -> bool:
    """Whether jobs read a staged layout where it is, and are given no copy of it."""
    return layout.stat().st_size > _MOST_COPIED


def copied_for_job(layout: Path, folder: Path, number: int) -> Path:
    """The file of its own that a job is given, made with those of the jobs around it: its age and number do not tell
    when the layout was staged, by who knows its labels. Raises OSError."""
    path = folder / f"layout-{number}{''.join(layout.suffixes)}"
    path.write_bytes(layout.read_bytes())
    path.chmod(0o644)
    return path


class WorkFolder:
    """Where decks and layouts are put for the jobs' user to read, and jobs write: in memory where there is room.

    Below a name that tells the process, so that what a killed one leaves is found and removed by the next.
    """

    def __init__(self) -> None:
        place = _in_memory() or Path(tempfile.gettempdir())
        prefix = f"iclayout-pool-{_process_space()}-"
        _remove_left_behind(place, prefix)
        self.path = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=place))
        # The jobs' user may go through, not look around.
        self.path.chmod(0o711)
        self._lock = threading.Lock()
        # A job that knew where its layout is kept could tell from the file's age what was staged before it.
        self._layouts = f"layouts-{secrets.token_hex(16)}"
        for name in ("home", "decks", self._layouts, "jobs"):
            (self.path / name).mkdir(mode=0o700 if name == "home" else 0o711)

    def environment(self) -> dict[str, str]:
        """For the application: nothing of the user's own settings, no windows."""
        home = str(self.path / "home")
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": home,
            "KLAYOUT_HOME": home,
            "LANG": "C.UTF-8",
            "QT_QPA_PLATFORM": "offscreen",
            "TMPDIR": home,
        } | {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "KLAYOUT_PATH") if name in os.environ}

    def stage_layout(self, layout: Path | bytes) -> Path:
        """A layout's file in the folder, once for each content. Raises OSError."""
        data = layout if isinstance(layout, bytes) else layout.read_bytes()
        suffix = ".gds" if isinstance(layout, bytes) else "".join(layout.suffixes[-2:])[-16:]
        path = self.path / self._layouts / (hashlib.sha256(data).hexdigest() + suffix)
        self._put(path, data)
        return path

    def stage_deck(self, deck: Deck) -> Path:
        """The deck's script in the folder, with what it includes. Raises OSError."""
        folder = self.deck_folder(deck)
        # The script last: where it is, all is.
        for name in sorted(deck.files, key=lambda one: one == deck.name):
            self._put(folder / name, deck.files[name])
        return folder / deck.name

    def deck_folder(self, deck: Deck) -> Path:
        return self.path / "decks" / deck.digest

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def _put(self, path: Path, data: bytes) -> None:
        with self._lock:
            if path.exists():
                return
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            beside = path.with_name(path.name + ".part")
            try:
                beside.write_bytes(data)
                beside.chmod(0o644)
                beside.replace(path)
            except OSError:
                beside.unlink(missing_ok=True)
                raise


_MOST_COPIED = 1 << 20
"""Bytes; the layouts of rules, whose labels must not be guessed, have a thousand."""
_ROOM = 1 << 30
"""Bytes that the memory's folder must have free: many containers have 64 MB there."""


def _in_memory() -> Path | None:
    place = Path("/dev/shm")
    try:
        return place if os.access(place, os.W_OK) and shutil.disk_usage(place).free >= _ROOM else None
    except OSError:
        return None


def _process_space() -> int:
    """The number of the PID namespace: processes of another one, which may share the folder, are not seen from here."""
    return Path("/proc/self/ns/pid").stat().st_ino


def _remove_left_behind(place: Path, prefix: str) -> None:
    for folder in place.glob(f"{prefix}*-*"):
        process = folder.name.removeprefix(prefix).partition("-")[0]
        if process.isdecimal() and not Path(f"/proc/{process}").exists() and folder.lstat().st_uid == os.geteuid():
            shutil.rmtree(folder, ignore_errors=True)
