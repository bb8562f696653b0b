"""The filter is data; what it decides is found by carrying it out, for both architectures."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_iclayout.sandbox.seccomp import ARCHITECTURES, Architecture, build_filter

ALLOW, KILL = 0x7FFF0000, 0x80000000
PID = 4711

each_architecture = pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=list(ARCHITECTURES))


def decide(architecture: Architecture, number: int, *arguments: int, audit: int | None = None) -> int:
    """The filter's answer to one system call, as the kernel's interpreter of classic BPF finds it."""
    made = build_filter(architecture)
    code = made.for_process(PID)
    data = struct.pack("<IIQ6Q", number, architecture.audit if audit is None else audit, 0, *[*arguments, *[0] * 6][:6])
    accumulator, at = 0, 0
    for _ in range(made.length):
        operation, if_true, if_false, k = struct.unpack_from("<HBBI", code, at * 8)
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, k)
        elif operation == 0x06:
            return int(k)
        else:
            holds = {0x15: accumulator == k, 0x35: accumulator >= k, 0x45: bool(accumulator & k)}[operation]
            at += if_true if holds else if_false
    raise AssertionError("the filter ran over its end")


def refused(architecture: Architecture, number: int, *arguments: int) -> bool:
    return decide(architecture, number, *arguments) == 0x00050000 | errno.EPERM


@each_architecture
def test_every_denied_call_is_refused(architecture: Architecture) -> None:
    assert {name for name, number in architecture.denied.items() if not refused(architecture, number)} == set()


@each_architecture
@given(number=st.integers(0, 600))
def test_every_other_call_is_allowed(architecture: Architecture, number: int) -> None:
    looked_at = {
        architecture.clone,
        architecture.clone3,
        architecture.prctl,
        architecture.prlimit64,
        architecture.tgkill,
    }
    if number not in {*architecture.denied.values(), *looked_at}:
        assert decide(architecture, number) == ALLOW


@each_architecture
def test_another_architectures_call_kills(architecture: Architecture) -> None:
    assert decide(architecture, 0, audit=0x40000003) == KILL


def test_the_second_table_of_x86_64_kills() -> None:
    assert decide(ARCHITECTURES["x86_64"], 0x40000000 + 1) == KILL


@each_architecture
def test_threads_may_be_made_and_processes_not(architecture: Architecture) -> None:
    assert decide(architecture, architecture.clone, 0x3D0F00) == ALLOW  # as pthread_create asks
    assert refused(architecture, architecture.clone, 17)  # SIGCHLD: as fork asks
    assert decide(architecture, architecture.clone3) == 0x00050000 | errno.ENOSYS


@each_architecture
def test_only_the_process_itself_is_signalled(architecture: Architecture) -> None:
    assert decide(architecture, architecture.tgkill, PID, 12, 6) == ALLOW
    assert refused(architecture, architecture.tgkill, PID + 1, 12, 9)
    assert refused(architecture, architecture.tgkill, 0, 12, 9)


@each_architecture
def test_limits_of_other_processes_stay(architecture: Architecture) -> None:
    assert decide(architecture, architecture.prlimit64, 0, 7) == ALLOW
    assert refused(architecture, architecture.prlimit64, PID, 7)


@each_architecture
def test_a_child_cannot_outlive_its_server(architecture: Architecture) -> None:
    assert refused(architecture, architecture.prctl, 1, 0)
    assert decide(architecture, architecture.prctl, 15) == ALLOW
