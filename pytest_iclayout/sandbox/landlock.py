"""Landlock rules as bytes: which files a child may read, and where it may write.

From ``linux/landlock.h``.  What a kernel's version of Landlock does not know is left out, so that the rules hold as
far as it can hold them.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (1 << bit for bit in range(6))
_MAKE_DIR, _MAKE_REG = 1 << 7, 1 << 8
_TRUNCATE = 1 << 14
_RIGHTS_BY_VERSION = ((1, 13), (2, 14), (3, 15), (5, 16))
"""How many rights on files each version knows: the lowest bits."""
_NET, _SCOPES = 0b11, 0b11
"""All: TCP bind and connect (version 4); abstract sockets and signals (version 6)."""

_READ = _READ_FILE | _READ_DIR
_CHANGE = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _TRUNCATE
_OF_FILES = _READ_FILE | _WRITE_FILE | _TRUNCATE


@dataclass(frozen=True)
class Ruleset:
    """``attributes``: the bytes of landlock_ruleset_attr; ``rules``: paths with the rights below them."""

    attributes: bytes
    rules: tuple[tuple[str, int], ...]


def landlock_version(create_ruleset: int) -> int:
    """What the running kernel knows; 0 for no Landlock. ``create_ruleset``: the system call's number."""
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.syscall(ctypes.c_long(create_ruleset), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(0, int(found))


def build_ruleset(version: int, readable: Iterable[Path], writable: Iterable[Path]) -> Ruleset:
    """Rules for a kernel's ``version``: reading below ``readable``, all below ``writable``, no TCP, no signals out.

    No rule lets a child execute a file or make links, devices, pipes and sockets.  Paths that do not exist are
    left out.
    """
    count = max((bits for known, bits in _RIGHTS_BY_VERSION if known <= version), default=13)
    known = (1 << count) - 1
    attributes = struct.pack("<Q", known)
    if version >= 4:
        attributes += struct.pack("<Q", _NET)
    if version >= 6:
        attributes += struct.pack("<Q", _SCOPES)
    rights = [(path, _READ) for path in readable] + [(path, _CHANGE & known) for path in writable]
    return Ruleset(
        attributes,
        tuple(
            (str(path), allowed if path.is_dir() else allowed & _OF_FILES) for path, allowed in rights if path.exists()
        ),
    )
