"""Taking on a policy in this very process: what a forked Python child does before it runs a script."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
from collections.abc import Mapping
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_SECCOMP_SET_MODE_FILTER = 1
_CAPABILITY_VERSION_3 = 0x20080522
_LANDLOCK_RULE_PATH_BENEATH = 1


def enter(policy: Mapping[str, Any], parent: int) -> None:
    """Take on ``policy`` (of :meth:`Policy.wire`); there is no way back.

    ``parent`` is the process with which this one is to die.  Raises OSError where the kernel refuses a part.
    """
    for name, value in policy["rlimits"].items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    # Python ignores it; a job that writes too much is to end, and not to go on with what it could not write.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    libc = ctypes.CDLL(None, use_errno=True)
    if (user := policy.get("user")) is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    elif (capset := policy.get("capset")) is not None:
        header = struct.pack("=II", _CAPABILITY_VERSION_3, 0)
        _call(libc, capset, header, bytes(24))
    # A change of user clears this, so it comes after.
    _checked(libc, libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0))
    if os.getppid() != parent:
        raise OSError("the server is gone")
    if "landlock" in policy or "seccomp" in policy:
        _checked(libc, libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if (rules := policy.get("landlock")) is not None:
        _landlock(libc, rules)
    if (filter_ := policy.get("seccomp")) is not None:
        _seccomp(libc, filter_)


def _landlock(libc: ctypes.CDLL, rules: Mapping[str, Any]) -> None:
    attributes = bytes.fromhex(rules["attributes"])
    ruleset = _call(libc, rules["create"], attributes, len(attributes), 0)
    for path, rights in rules["rules"]:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # inside bubblewrap there is less than outside
        rule = struct.pack("=Qi", rights, descriptor)
        _call(libc, rules["add"], ruleset, _LANDLOCK_RULE_PATH_BENEATH, rule, 0)
        os.close(descriptor)
    _call(libc, rules["restrict"], ruleset, 0)
    os.close(ruleset)


def _seccomp(libc: ctypes.CDLL, filter_: Mapping[str, Any]) -> None:
    code = bytearray.fromhex(filter_["code"])
    code[filter_["pid_at"] : filter_["pid_at"] + 4] = struct.pack("<I", os.getpid())
    held = ctypes.create_string_buffer(bytes(code))
    program = struct.pack("HxxxxxxQ", filter_["length"], ctypes.addressof(held))
    _call(libc, filter_["call"], _SECCOMP_SET_MODE_FILTER, 0, program)


def _call(libc: ctypes.CDLL, number: int, *arguments: int | bytes) -> int:
    plain = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(libc, libc.syscall(ctypes.c_long(number), *plain))


def _checked(libc: ctypes.CDLL, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
