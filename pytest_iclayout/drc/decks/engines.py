"""Which KLayout application runs decks."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from shutil import which

from pydantic import BaseModel, ConfigDict

INSTALL = "install one: apt-get install klayout (Debian, Ubuntu), or a package of https://www.klayout.de/build.html"
_OLDEST = (0, 28)


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
    return _found(os.environ.get("PATH", ""))


def find_engine() -> Engine:
    """The fastest. Raises EngineUnavailable."""
    engines = find_engines()
    if not engines:
        raise EngineUnavailable(
            f"no KLayout application {'.'.join(map(str, _OLDEST))} or newer on PATH (looked for strmrun and klayout; "
            f"the Python module has no DRC language); {INSTALL}"
        )
    return engines[0]


@cache
def _found(path: str) -> tuple[Engine, ...]:
    found = []
    for kind, arguments in (("strmrun", ["--version"]), ("klayout", ["-b", "-v"])):
        program = which(kind, path=path)
        version = program and _version(program, arguments)
        if program and version and tuple(map(int, version.split(".")[:2])) >= _OLDEST:
            library = _drc_library(Path(program)) if kind == "strmrun" else None
            if kind == "klayout" or library:
                found.append(Engine(kind=kind, program=program, version=version, library=library))
    return tuple(found)


def _drc_library(program: Path) -> str | None:
    """KLayout's library of the DRC language, beside a strmrun or where packages put libraries."""
    home = program.resolve().parent
    for folder in (home, home.parent / "lib" / "klayout", home.parent / "lib64" / "klayout", home.parent / "lib"):
        for path in sorted(folder.glob("libklayout_drc.so*")):
            return str(path)
    return None


def _version(program: str, arguments: Sequence[str]) -> str | None:
    try:
        said = subprocess.run(
            [program, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    number = re.search(r"(?m)^(?:KLayout )?(\d+\.\d+(?:\.\d+)*)\b", said.stdout + said.stderr)
    return number[1] if number else None
