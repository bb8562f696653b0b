"""Which KLayout application runs decks."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from shutil import which
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

INSTALL = "install one: apt-get install klayout (Debian, Ubuntu), or a package of https://www.klayout.de/build.html"
ADVICE = "mend it or put another one before it on PATH"
_OLDEST = (0, 28)
_ANSWER_S = 20
"""A program that has not told its version by then hangs: KLayout does in a second, on a busy machine in a few."""
_MOST_SAID = 1 << 16


class EngineUnavailable(RuntimeError):
    """No KLayout application that runs decks; the message says what was looked for and how to install one."""


class Engine(BaseModel):
    """A program that runs DRC decks: ``kind`` is ``strmrun`` or ``klayout``, ``version`` KLayout's."""

    model_config = ConfigDict(frozen=True)

    kind: str
    program: str
    version: str
    library: str | None = None
    """What strmrun must load first to have the DRC language, which it is not linked with."""

    def server_command(self, jobs_fd: int, done_fd: int, children: int) -> list[str]:
        script = self.server_script()
        settings = (f"jobs_fd={jobs_fd}", f"done_fd={done_fd}", f"children={children}")
        if self.kind == "strmrun":
            return [
                "env",
                f"LD_PRELOAD={self.library}",
                self.program,
                str(script),
                *(word for one in settings for word in ("-v", one)),
            ]
        return [self.program, "-b", "-r", str(script), *(word for one in settings for word in ("-rd", one))]

    def folders(self) -> tuple[Path, ...]:
        """Where the program and its libraries lie, wherever it was installed."""
        program = Path(self.program)
        libraries = [] if self.library is None else [self.library]
        try:
            said = subprocess.run(["ldd", str(program)], capture_output=True, text=True, timeout=60, check=False).stdout
        except (OSError, subprocess.TimeoutExpired):
            said = ""  # a program that is none of the loader's finds its libraries in some other way
        libraries += re.findall(r"(/\S+) \(0x", said)
        places = (place for path in (program, *map(Path, libraries)) for place in (path.parent, path.resolve().parent))
        return tuple(dict.fromkeys(places))

    @staticmethod
    def server_script() -> Path:
        return Path(str(resources.files(__package__) / "server.rb"))


def find_engines() -> tuple[Engine, ...]:
    """All that are installed and new enough, the fastest first: strmrun has no windows to prepare."""
    return _found(os.environ.get("PATH", "")).engines


def find_engine() -> Engine:
    """The fastest. Raises EngineUnavailable."""
    found = _found(os.environ.get("PATH", ""))
    if not found.engines:
        oldest = ".".join(map(str, _OLDEST))
        wanted = f"no KLayout application {oldest} or newer on PATH"
        if not found.unusable:
            raise EngineUnavailable(
                f"{wanted} (looked for strmrun and klayout; the Python module has no DRC language); {INSTALL}"
            )
        raise EngineUnavailable(f"{wanted} can be used: {'; '.join(found.unusable)}; {ADVICE}; {INSTALL}")
    return found.engines[0]


class _Found(NamedTuple):
    engines: tuple[Engine, ...]
    unusable: tuple[str, ...]
    """Of each program of a fitting name that is none: its path and why."""


@cache
def _found(path: str) -> _Found:
    engines, unusable = [], []
    for kind, arguments in (("strmrun", ["--version"]), ("klayout", ["-b", "-v"])):
        program = which(kind, path=path)
        if program is None:
            continue
        try:
            version = _version(program, arguments)
            library = _drc_library(Path(program)) if kind == "strmrun" else None
        except EngineUnavailable as error:
            unusable.append(f"{program} {error}")
        else:
            engines.append(Engine(kind=kind, program=program, version=version, library=library))
    return _Found(tuple(engines), tuple(unusable))


def _drc_library(program: Path) -> str:
    """KLayout's library of the DRC language, beside a strmrun or where packages put libraries.

    Raises EngineUnavailable.
    """
    home = program.resolve().parent
    for folder in (home, home.parent / "lib" / "klayout", home.parent / "lib64" / "klayout", home.parent / "lib"):
        for path in sorted(folder.glob("libklayout_drc.so*")):
            return str(path)
    raise EngineUnavailable("has no library of the DRC language (libklayout_drc.so) beside it")


def _version(program: str, arguments: Sequence[str]) -> str:
    """Raises EngineUnavailable, which says what the program did instead of telling one that is new enough."""
    try:
        said, status = _answer([program, *arguments])
    except OSError as error:
        raise EngineUnavailable(f"cannot be started: {error.strerror}") from error
    number = re.search(r"(?m)^(?:KLayout )?(\d+\.\d+(?:\.\d+)*)\b", said)
    if number is None or status is None:
        did = f"did not end within {_ANSWER_S} s" if status is None else f"ended with status {status}"
        printed = f"printed {said.strip().splitlines()[0][:80]!r}" if said.strip() else "printed nothing"
        raise EngineUnavailable(f"does not work: asked for its version ({' '.join(arguments)}) it {did} and {printed}")
    if tuple(map(int, number[1].split(".")[:2])) < _OLDEST:
        raise EngineUnavailable(f"is of version {number[1]}")
    return number[1]


def _answer(command: Sequence[str]) -> tuple[str, int | None]:
    """The beginning of what a program prints, and its status; None where it went on and was ended."""
    until = time.monotonic() + _ANSWER_S
    said = b""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        start_new_session=True,
    ) as process:
        status = None
        try:
            assert process.stdout is not None
            while (left := until - time.monotonic()) > 0 and select.select([process.stdout], [], [], left)[0]:
                data = os.read(process.stdout.fileno(), _MOST_SAID)
                if not data:
                    with suppress(subprocess.TimeoutExpired):
                        status = process.wait(left)
                    break
                said = (said + data)[:_MOST_SAID]
        finally:
            if status is None:
                # With what it started: a script that waits for a program is not the program.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    return said.decode("utf-8", "replace"), status
