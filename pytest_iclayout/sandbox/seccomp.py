"""A seccomp filter as bytes: no other process, no network, nothing but the own process signalled.

The filter is classic BPF (``linux/filter.h``) over ``struct seccomp_data`` (``linux/seccomp.h``): the call's number
at offset 0, the architecture at 4, the arguments of eight bytes each from 16 on.  It is worked out here as data, so
that a child in any language sets the same one with one system call.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_LOAD, _EQUAL, _GREATER_EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_NUMBER, _ARCHITECTURE = 0, 4
_CLONE_THREAD = 0x00010000
_PR_SET_PDEATHSIG = 1
_X32 = 0x40000000
"""x86-64 takes numbers with this bit for another table of calls."""


def _argument(index: int) -> int:
    """Offset of the low half of an argument on a little-endian machine."""
    return 16 + 8 * index


# Denied altogether (EPERM), by what they would allow; from the kernel's tables (asm/unistd.h).
_DENIED_X86_64 = {
    "fork": 57, "vfork": 58, "execve": 59, "execveat": 322,
    "socket": 41, "socketpair": 53, "connect": 42, "bind": 49, "listen": 50, "accept": 43, "accept4": 288,
    "kill": 62, "tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297,
    "pidfd_send_signal": 424, "pidfd_open": 434, "pidfd_getfd": 438, "process_madvise": 440,
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "setns": 308, "unshare": 272, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "mount_setattr": 442,
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "keyctl": 250, "add_key": 248, "request_key": 249,
    "open_by_handle_at": 304, "mknod": 133, "mknodat": 259,
    "init_module": 175, "finit_module": 313, "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320,
    "reboot": 169, "swapon": 167, "swapoff": 168, "acct": 163, "quotactl": 179,
    "setpriority": 141, "ioprio_set": 251, "sched_setaffinity": 203, "sched_setscheduler": 144,
    "sched_setparam": 142, "sched_setattr": 314, "migrate_pages": 256, "move_pages": 279,
    "memfd_create": 319, "memfd_secret": 447, "shmget": 29, "msgget": 68, "semget": 64, "mq_open": 240,
    # Landlock does not govern these: they would change the modes, owners and times of any file of the same user.
    "chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452,
    "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260,
    "utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280,
    "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199,
}  # fmt: skip
_DENIED_AARCH64 = {
    "execve": 221, "execveat": 281,
    "socket": 198, "socketpair": 199, "connect": 203, "bind": 200, "listen": 201, "accept": 202, "accept4": 242,
    "kill": 129, "tkill": 130, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240,
    "pidfd_send_signal": 424, "pidfd_open": 434, "pidfd_getfd": 438, "process_madvise": 440,
    "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
    "setns": 268, "unshare": 97, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "mount_setattr": 442,
    "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "keyctl": 219, "add_key": 217, "request_key": 218,
    "open_by_handle_at": 265, "mknodat": 33,
    "init_module": 105, "finit_module": 273, "delete_module": 106, "kexec_load": 104, "kexec_file_load": 294,
    "reboot": 142, "swapon": 224, "swapoff": 225, "acct": 89, "quotactl": 60,
    "setpriority": 140, "ioprio_set": 30, "sched_setaffinity": 122, "sched_setscheduler": 119,
    "sched_setparam": 118, "sched_setattr": 274, "migrate_pages": 238, "move_pages": 239,
    "memfd_create": 279, "memfd_secret": 447, "shmget": 194, "msgget": 186, "semget": 190, "mq_open": 180,
    "fchmod": 52, "fchmodat": 53, "fchmodat2": 452, "fchown": 55, "fchownat": 54, "utimensat": 88,
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
}  # fmt: skip


@dataclass(frozen=True)
class Architecture:
    """``audit`` is the machine's AUDIT_ARCH number; the named calls are those that need a closer look or are used."""

    audit: int
    denied: dict[str, int]
    clone: int
    tgkill: int
    prctl: int
    prlimit64: int
    seccomp: int
    capset: int
    clone3: int = 435
    landlock_create_ruleset: int = 444
    landlock_add_rule: int = 445
    landlock_restrict_self: int = 446


ARCHITECTURES = {
    "x86_64": Architecture(
        0xC000003E, _DENIED_X86_64, clone=56, tgkill=234, prctl=157, prlimit64=302, seccomp=317, capset=126
    ),
    "aarch64": Architecture(
        0xC00000B7, _DENIED_AARCH64, clone=220, tgkill=131, prctl=167, prlimit64=261, seccomp=277, capset=91
    ),
}
"""By ``platform.machine()``."""


@dataclass(frozen=True)
class Filter:
    """``code`` holds 8 bytes an instruction; at ``pid_at`` four bytes are to become the child's process id."""

    code: bytes
    pid_at: int

    @property
    def length(self) -> int:
        return len(self.code) // 8

    def for_process(self, pid: int) -> bytes:
        return self.code[: self.pid_at] + struct.pack("<I", pid) + self.code[self.pid_at + 4 :]


def build_filter(architecture: Architecture) -> Filter:
    """The filter of an architecture; see the module's first line."""
    program: list[bytes] = []

    def put(code: int, k: int, if_true: int = 0, if_false: int = 0) -> None:
        program.append(struct.pack("<HBBI", code, if_true, if_false, k))

    def unless_argument(call: int, index: int, *accepted: int) -> None:
        """A call is allowed when an argument's low half is one of ``accepted``."""
        put(_EQUAL, call, 0, len(accepted) + 3)
        put(_LOAD, _argument(index))
        for number, value in enumerate(accepted):
            put(_EQUAL, value, len(accepted) - number, 0)
        put(_RETURN, _ERRNO | _EPERM)
        put(_RETURN, _ALLOW)

    put(_LOAD, _ARCHITECTURE)
    put(_EQUAL, architecture.audit, 1, 0)
    put(_RETURN, _KILL)
    put(_LOAD, _NUMBER)
    if architecture.audit == ARCHITECTURES["x86_64"].audit:
        put(_GREATER_EQUAL, _X32, 0, 1)
        put(_RETURN, _KILL)
    for number in architecture.denied.values():
        put(_EQUAL, number, 0, 1)
        put(_RETURN, _ERRNO | _EPERM)
    # glibc asks for clone3 first and falls back to clone, whose flags a filter can read.
    put(_EQUAL, architecture.clone3, 0, 1)
    put(_RETURN, _ERRNO | _ENOSYS)
    put(_EQUAL, architecture.clone, 0, 4)
    put(_LOAD, _argument(0))
    put(_ANY_BIT, _CLONE_THREAD, 1, 0)
    put(_RETURN, _ERRNO | _EPERM)
    put(_RETURN, _ALLOW)
    # The signal that a child dies with its server must stay set.
    put(_EQUAL, architecture.prctl, 0, 4)
    put(_LOAD, _argument(0))
    put(_EQUAL, _PR_SET_PDEATHSIG, 0, 1)
    put(_RETURN, _ERRNO | _EPERM)
    put(_RETURN, _ALLOW)
    unless_argument(architecture.prlimit64, 0, 0)
    pid_at = (len(program) + 2) * 8 + 4
    unless_argument(architecture.tgkill, 0, 0)  # 0 stands where the process id comes
    put(_RETURN, _ALLOW)
    return Filter(b"".join(program), pid_at)
