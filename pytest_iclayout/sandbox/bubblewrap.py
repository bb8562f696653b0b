"""A second wall around a whole fork server, where bubblewrap is installed and may be used."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from shutil import which

_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/alternatives", "/etc/ld.so.cache", "/etc/fonts")
"""What programs and their libraries need; of /etc no more than that."""
_THERE = {Path("/"), Path("/dev"), Path("/dev/shm"), Path("/proc"), Path("/tmp"), *map(Path, _SYSTEM)}
_NAMESPACES = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
_ROOTS_POWERS = ("CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_SYS_RESOURCE", "CAP_DAC_OVERRIDE", "CAP_CHOWN")
"""What root's server needs to make its children nobody, to end them, and to clear up after them."""


@cache
def find_bubblewrap() -> str | None:
    """The program, if it works here: some systems forbid user namespaces to ordinary users."""
    program = which("bwrap")
    if program is None:
        return None
    command = [program, *_NAMESPACES, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
    try:
        tried = subprocess.run(command, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return program if tried.returncode == 0 else None


def wrapped(program: str, command: Sequence[str], readable: Iterable[Path], writable: Iterable[Path]) -> list[str]:
    """``command`` inside: no network, no other processes, of the files only the system's and those given."""
    words = [program, *_NAMESPACES]
    if os.geteuid() == 0:
        words += ["--cap-drop", "ALL", *(word for power in _ROOTS_POWERS for word in ("--cap-add", power))]
    words += [word for place in _SYSTEM for word in ("--ro-bind-try", place, place)]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    own = (path for path in readable if not any(path.is_relative_to(place) for place in _SYSTEM))
    binds = [("--ro-bind", path) for path in own] + [("--bind", path) for path in writable]
    # bubblewrap would make the folders above closed to all but root, and the children are others.
    above = dict.fromkeys(place for _, path in binds for place in reversed(path.parents) if place not in _THERE)
    words += [word for place in above for word in ("--perms", "0755", "--dir", str(place))]
    words += [word for how, path in binds for word in (how, str(path), str(path))]
    return [*words, "--chdir", "/", "--", *command]
