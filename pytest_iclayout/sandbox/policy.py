"""What a job may do: one policy for deck scripts, Python scripts and programs."""

from __future__ import annotations

import os
import platform
import stat
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pytest_iclayout.sandbox.bubblewrap import find_bubblewrap
from pytest_iclayout.sandbox.landlock import build_ruleset, landlock_version
from pytest_iclayout.sandbox.seccomp import ARCHITECTURES, build_filter

_NOBODY = 65534
"""The user and group that root's jobs run as: on Debian and Ubuntu ``nobody`` and ``nogroup``."""


class SandboxUnavailable(RuntimeError):
    """This machine cannot contain a job; the message says what is missing and what to do."""


class Limits(BaseModel):
    """Of one job: ``wall_s`` and ``cpu_s`` in seconds, the others in bytes or numbers.

    ``file_bytes`` bounds each file, ``folder_bytes`` all files that the job has made together.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    wall_s: float = Field(default=60, gt=0)
    cpu_s: int = Field(default=60, ge=1)
    memory_bytes: int = Field(default=2 << 30, ge=64 << 20)
    file_bytes: int = Field(default=256 << 20, ge=1 << 16)
    folder_bytes: int = Field(default=512 << 20, ge=1 << 16)
    descriptors: int = Field(default=128, ge=16)


class Policy(BaseModel):
    """``readable`` and ``writable`` are folders or files; everything else is out of reach.

    ``contained`` False switches everything off but the limits: only for who has said ``--unsafe-no-sandbox``,
    and for decks of one's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    limits: Limits = Limits()
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    contained: bool = True

    def wire(self) -> dict[str, Any]:
        """For a fork server's child, which sets it with plain system calls: numbers, and bytes as hexadecimal text.

        Raises SandboxUnavailable where a contained job is asked for and the machine has no means for it.
        """
        limits = self.limits
        found: dict[str, Any] = {
            "rlimits": {
                "CPU": limits.cpu_s,
                "AS": limits.memory_bytes,
                "FSIZE": limits.file_bytes,
                "NOFILE": limits.descriptors,
                "CORE": 0,
            },
            "wall_s": limits.wall_s,
            "folder_bytes": limits.folder_bytes,
        }
        if not self.contained:
            return found
        support().require()
        architecture = ARCHITECTURES[platform.machine()]
        program = build_filter(architecture)
        found["seccomp"] = {
            "prctl": architecture.prctl,
            "call": architecture.seccomp,
            "length": program.length,
            "code": program.code.hex(),
            "pid_at": program.pid_at,
        }
        if support().landlock:
            ruleset = build_ruleset(support().landlock, self.readable, self.writable)
            found["landlock"] = {
                "create": architecture.landlock_create_ruleset,
                "add": architecture.landlock_add_rule,
                "restrict": architecture.landlock_restrict_self,
                "attributes": ruleset.attributes.hex(),
                "rules": ruleset.rules,
            }
        if self.user is not None:
            found["user"] = self.user
        elif os.geteuid() == 0:
            found["capset"] = architecture.capset
        return found

    @property
    def user(self) -> int | None:
        """The user and group that the job changes to, to whom its writable folders must belong; None for no change.

        Root's jobs become nobody, unless what they must read is closed to others: an interpreter below /root, say.
        They stay root then, without its powers.
        """
        if not self.contained or os.geteuid() != 0 or not all(_open_to_others(path) for path in self.readable):
            return None
        return _NOBODY

    def job_folder(self, path: Path) -> Policy:
        """This policy with a new folder for the job to write in. Raises OSError."""
        path.mkdir(mode=0o700)
        if self.user is not None:
            os.chown(path, self.user, self.user)
        return self.model_copy(update={"writable": (*self.writable, path)})


class Support(BaseModel):
    """What this machine has to contain a job: ``landlock`` is the kernel's version of it, 0 for none."""

    model_config = ConfigDict(frozen=True)

    machine: str
    landlock: int
    bubblewrap: str | None

    def require(self) -> None:
        """Raises SandboxUnavailable when a job could not be contained here."""
        if self.machine not in ARCHITECTURES:
            raise SandboxUnavailable(
                f"no system call filter for {self.machine}, only for {', '.join(ARCHITECTURES)}; "
                "--unsafe-no-sandbox runs without one"
            )
        if not self.landlock and self.bubblewrap is None:
            raise SandboxUnavailable(
                "the kernel has no Landlock (Linux 5.13 and later have it) and bubblewrap is not installed "
                "(apt-get install bubblewrap); one of them is needed, or --unsafe-no-sandbox"
            )


@cache
def support() -> Support:
    """Found out once a process."""
    machine = platform.machine()
    architecture = ARCHITECTURES.get(machine)
    version = landlock_version(architecture.landlock_create_ruleset) if architecture is not None else 0
    return Support(machine=machine, landlock=version, bubblewrap=find_bubblewrap())


@lru_cache(maxsize=4096)
def _open_to_others(path: Path) -> bool:
    """Whether any user may read a file or folder: it, and the way to it.

    Remembered, as thousands of jobs read the same libraries.  Who closes one of them makes jobs fail, not escape.
    """
    try:
        mode = path.stat().st_mode
        if not mode & stat.S_IROTH or (stat.S_ISDIR(mode) and not mode & stat.S_IXOTH):
            return False
        return all(above.stat().st_mode & stat.S_IXOTH for above in path.resolve().parents)
    except OSError:
        return True  # what is not there is nobody's
