"""An allow-list of system calls for one run, as a hand-assembled BPF program.

What the filter guarantees, whatever the file system and the user's rights allow:

- no new process, thread or program; signals reach the process itself only;
- no socket of any kind, no shared memory, message queue, semaphore, keyring, io_uring, memfd;
- files are opened for reading only; nothing is created, removed, renamed, truncated, or given other rights or times
  (honest code that opens /dev/null to silence its prints gets a copy of a descriptor that is open already: a filter
  sees a path's address, not the path);
- limits can be changed for the process itself only (the kernel lets them go down, not up).

Everything that is not named here fails with EPERM, or with ENOSYS where the C library then tries an older call.
Numbers are given for x86_64 and aarch64; on another machine `SUPPORTED` is false and the tiers say so. The program is
plain data: no library is needed to make it.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import io
import os
import platform
import struct
from collections.abc import Callable, Iterator
from functools import cache, wraps
from typing import Any

# name: (x86_64, aarch64); None where the machine lacks the call
ALLOWED: dict[str, tuple[int | None, int | None]] = {
    # reading what is visible
    "read": (0, 63),
    "readv": (19, 65),
    "pread64": (17, 67),
    "preadv": (295, 69),
    "preadv2": (327, 286),
    "lseek": (8, 62),
    "stat": (4, None),
    "lstat": (6, None),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getdents": (78, None),
    "getdents64": (217, 61),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "fadvise64": (221, 223),
    # descriptors that are already open
    "write": (1, 64),
    "writev": (20, 66),
    "close": (3, 57),
    "close_range": (436, 436),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    # memory
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    # the thread itself
    "futex": (202, 98),
    "futex_waitv": (449, 449),
    "set_robust_list": (273, 99),
    "get_robust_list": (274, 100),
    "set_tid_address": (218, 96),
    "rseq": (334, 293),
    "membarrier": (324, 283),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "getcpu": (309, 168),
    "restart_syscall": (219, 128),
    "arch_prctl": (158, None),
    "exit": (60, 93),
    "exit_group": (231, 94),
    # its own signals and timers
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137),
    "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132),
    "pause": (34, None),
    "alarm": (37, None),
    "setitimer": (38, 103),
    "getitimer": (36, 102),
    # time and identity
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getgroups": (115, 158),
    "getpgid": (121, 155),
    "getpgrp": (111, None),
    "getsid": (124, 156),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "getrusage": (98, 165),
    "getrlimit": (97, 163),
    "getrandom": (318, 278),
    "umask": (95, 166),
}
# allowed for some arguments only; see `_conditions`
CONDITIONAL: dict[str, tuple[int | None, int | None]] = {
    "open": (2, None),
    "openat": (257, 56),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
}
NOT_THERE: dict[str, tuple[int | None, int | None]] = {"clone3": (435, 435), "openat2": (437, 437)}

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of the tables, audit architecture
_X32 = 0x40000000  # x86_64's second numbering of the same calls
_NEWER = 463  # calls that did not exist when this list was made

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data

_O_WRONLY, _O_RDWR, _O_CREAT, _O_TRUNC, _O_APPEND, _O_TMPFILE = 0o1, 0o2, 0o100, 0o1000, 0o2000, 0o20000000
_WRITING = _O_WRONLY | _O_RDWR | _O_CREAT | _O_TRUNC | _O_APPEND | _O_TMPFILE
_PLACE_OF_OPENER = 7  # among the arguments of open() after the file
_F_HARMLESS = (0, 1, 2, 3, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC
_IOCTL_HARMLESS = (0x5401, 0x5413, 0x541B, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONREAD, FIONCLEX, FIOCLEX

SUPPORTED = platform.system() == "Linux" and platform.machine() in _MACHINES


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _argument(index: int) -> bytes:
    """Load the low half of an argument: all arguments that are looked at are 32 bits wide for the kernel too."""
    return _instruction(_LOAD, 16 + 8 * index)


def _refuse(number: int) -> bytes:
    return _instruction(_RETURN, _ERROR | number)


def _allow_if_one_of(index: int, values: tuple[int, ...]) -> bytes:
    body = _argument(index)
    for value in values:
        body += _instruction(_JUMP_EQUAL, value, 0, 1) + _instruction(_RETURN, _ALLOW)
    return body + _refuse(errno.EPERM)


def _allow_if_reading(index: int) -> bytes:
    return (
        _argument(index)
        + _instruction(_AND, _WRITING)
        + _instruction(_JUMP_EQUAL, 0, 0, 1)
        + _instruction(_RETURN, _ALLOW)
        + _refuse(errno.EROFS)
    )


def _conditions(pid: int) -> dict[str, bytes]:
    """Filter code for each conditional system call. Each body ends in a return on every path."""
    return {
        "open": _allow_if_reading(1),
        "openat": _allow_if_reading(2),
        "kill": _allow_if_one_of(0, (pid,)),
        "tkill": _allow_if_one_of(0, (pid,)),
        "tgkill": _allow_if_one_of(0, (pid,)),
        "prlimit64": _allow_if_one_of(0, (0, pid)),
        "fcntl": _allow_if_one_of(1, _F_HARMLESS),
        "ioctl": _allow_if_one_of(1, _IOCTL_HARMLESS),
    }


_SOMEBODY = 0x7EA1B0D5  # stands for the process in a program that is made before the process is


@cache
def _for_somebody(machine: str) -> bytes:
    return b"".join([*_unconditional(machine), *_conditional(machine, _SOMEBODY)])


def _unconditional(machine: str) -> Iterator[bytes]:
    """Filter code for the calls that are allowed, or reported as missing, for every process."""
    column, architecture = _MACHINES[machine]
    yield _instruction(_LOAD, _ARCHITECTURE)
    yield _instruction(_JUMP_EQUAL, architecture, 1, 0) + _instruction(_RETURN, _KILL)
    yield _instruction(_LOAD, _NUMBER)
    yield _instruction(_JUMP_AT_LEAST, _X32, 0, 1) + _instruction(_RETURN, _KILL)
    yield _instruction(_JUMP_AT_LEAST, _NEWER, 0, 1) + _refuse(errno.ENOSYS)
    for numbers in ALLOWED.values():
        if (number := numbers[column]) is not None:
            yield _instruction(_JUMP_EQUAL, number, 0, 1) + _instruction(_RETURN, _ALLOW)
    for numbers in NOT_THERE.values():
        if (number := numbers[column]) is not None:
            yield _instruction(_JUMP_EQUAL, number, 0, 1) + _refuse(errno.ENOSYS)


def _conditional(machine: str, pid: int) -> Iterator[bytes]:
    column, _ = _MACHINES[machine]
    conditions = _conditions(pid)
    for name, numbers in CONDITIONAL.items():
        if (number := numbers[column]) is not None:
            body = conditions[name]
            yield _instruction(_JUMP_EQUAL, number, 0, len(body) // 8) + body
    yield _refuse(errno.EPERM)


def prepare() -> None:
    """Do what is the same for every process, so that those that are forked from this one need not."""
    program(os.getpid())
    _prctl()
    offer_devnull(0)


def offer_devnull(descriptor: int) -> None:
    """Make Python's own functions open /dev/null for writing by copying a descriptor that is open on it.

    This is a courtesy to code beside us, and no wall: it allows no more than the descriptor itself does.
    """
    by_number, by_name = os.open, io.open

    def is_devnull(path: Any) -> bool:
        return isinstance(path, str | bytes | os.PathLike) and os.fsencode(path) == os.fsencode(os.devnull)

    @wraps(by_number)
    def os_open(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if flags & _WRITING and is_devnull(path):
            return os.dup(descriptor)
        return by_number(path, flags, *args, **options)

    @wraps(by_name)
    def io_open(file: Any, *args: Any, **options: Any) -> Any:
        if is_devnull(file) and len(args) < _PLACE_OF_OPENER and options.get("opener") is None:
            options["opener"] = os_open
        return by_name(file, *args, **options)

    os.open, io.open, builtins.open = os_open, io_open, io_open


def program(pid: int, machine: str | None = None) -> bytes:
    """The filter for process `pid` as an array of struct sock_filter."""
    code = _for_somebody(machine or platform.machine())
    return code.replace(struct.pack("=I", _SOMEBODY), struct.pack("=I", pid))


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _MODE_FILTER = 22, 38, 2


@cache
def _prctl() -> Callable[..., int]:
    return ctypes.CDLL(None, use_errno=True).prctl


def install(pid: int) -> None:
    """Put the calling thread under the filter, for good. Raises OSError if the kernel refuses."""
    code = program(pid)
    buffer = ctypes.create_string_buffer(code, len(code))
    description = _Program(len(code) // 8, ctypes.addressof(buffer))
    for arguments in (
        (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(description), 0, 0),
    ):
        if _prctl()(*arguments) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"seccomp: {os.strerror(number)}")


def available() -> tuple[bool, str]:
    """(available on this machine?, the reason in words)."""
    if not SUPPORTED:
        return False, f"no system-call filter for {platform.system()} on {platform.machine()}"
    # a null program is refused with EFAULT by a kernel that knows filters, with EINVAL by one that does not
    if _prctl()(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0) != 0 and ctypes.get_errno() == errno.EFAULT:
        return True, "the kernel filters system calls (seccomp)"
    return False, "the kernel was built without seccomp filters"
