"""Landlock: a process gives up the file system but for the trees it names. No program, no namespace, no root needed.

What it guarantees, together with `seccomp`: only the named trees can be read (the interpreter, its libraries, torch);
nothing can be written anywhere; where the kernel knows it (ABI 6), signals and abstract sockets stay inside as well.
Known gap of the kernel's: `stat()` still tells that a hidden file exists, and how large it is. Its content and the
listing of its directory stay hidden.

Started by root, the process also becomes a user that owns nothing (an unused number) and gives up all capabilities.
If that user could not read the interpreter (it lives in root's home, say), it keeps the one that reads past file
permissions, and Landlock still confines it to the named trees.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterator, Sequence
from functools import cache

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every machine
_PATH_BENEATH = 1
_VERSION_ONLY = 1
_PR_SET_KEEPCAPS, _PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 8, 1, 38, 47
_O_PATH = 0o10000000

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_SCOPE_SOCKETS_AND_SIGNALS = 0b11
_NET_BIND_AND_CONNECT = 0b11
_CAP_DAC_READ_SEARCH = 2
NOBODY = 65534
UNUSED_USERS = 2_000_000_000  # far above what systems hand out; one per sandbox, so that two cannot signal each other


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    result: int = _libc().syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"landlock: {os.strerror(code)}")
    return result


def abi() -> int:
    """The version of Landlock that the kernel offers; 0 for none."""
    if platform.system() != "Linux":
        return 0
    try:
        return _call(_CREATE, None, 0, _VERSION_ONLY)
    except OSError:
        return 0


def available() -> tuple[bool, str]:
    """(available on this machine?, the reason in words)."""
    if platform.system() != "Linux":
        return False, f"Landlock is a part of Linux; this is {platform.system()}"
    version = abi()
    if version == 0:
        return False, "the kernel offers no Landlock (it needs Linux 5.13, with landlock among its security modules)"
    return True, f"the kernel offers Landlock (ABI {version})"


def _handled(version: int) -> int:
    """All file-system rights that this version knows, so that everything not granted is refused."""
    bits = 13 if version < 2 else 14 if version < 3 else 15 if version < 5 else 16
    return (1 << bits) - 1


def grants(roots: Sequence[str], hidden: Sequence[str]) -> Iterator[tuple[str, int]]:
    """(path, rights) that open `roots` for reading but leave out every path in `hidden`.

    Landlock knows no exceptions below a granted tree. So a directory above a hidden path can be listed, and its other
    entries are granted one by one.
    """
    for root in roots:
        inside = [path for path in hidden if path == root or path.startswith(root.rstrip("/") + "/")]
        if not inside:
            yield root, READ_FILE | READ_DIR | EXECUTE
        elif root not in inside and os.path.isdir(root):
            yield root, READ_DIR
            yield from grants([os.path.join(root, name) for name in sorted(os.listdir(root))], inside)


def restrict_paths(rules: Sequence[tuple[str, int]]) -> None:
    """Confine the calling thread and all it starts to `rules`, for good."""
    version = abi()
    attributes = [_handled(version)]
    if version >= 4:
        attributes.append(_NET_BIND_AND_CONNECT)
    if version >= 6:
        attributes.append(_SCOPE_SOCKETS_AND_SIGNALS)
    packed = struct.pack(f"={len(attributes)}Q", *attributes)
    ruleset = _call(_CREATE, packed, ctypes.c_size_t(len(packed)), 0)
    try:
        for path, rights in rules:
            try:
                descriptor = os.open(path, _O_PATH | os.O_CLOEXEC)
            except OSError:
                continue  # not there, or out of reach: then it need not be granted
            try:
                if not os.path.isdir(path):
                    rights &= READ_FILE | WRITE_FILE | EXECUTE
                _call(_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
            finally:
                os.close(descriptor)
        _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _set_capabilities(permitted: int, effective: int) -> None:
    header = struct.pack("=Ii", 0x20080522, 0)
    data = struct.pack("=6I", effective, permitted, 0, 0, 0, 0)
    if _libc().capset(header, data) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"capset: {os.strerror(code)}")


def _readable(paths: Sequence[str]) -> bool:
    try:
        for path in paths:
            if os.path.isdir(path):
                os.listdir(path)
            else:
                with open(path, "rb"):
                    pass
    except OSError:
        return False
    return True


def become_nobody(needed: Sequence[str]) -> int | None:
    """Give up root: a user that owns nothing, no groups, no capabilities. Returns its number; None if we are not root.

    Args:
        needed: paths that must stay readable.
    """
    if os.geteuid() != 0:
        return None
    reading = 1 << _CAP_DAC_READ_SEARCH
    _libc().prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    user: int | None = None
    for candidate in (UNUSED_USERS + os.getpid(), NOBODY):
        try:
            os.setgroups([])
            os.setresgid(candidate, candidate, candidate)
            os.setresuid(candidate, candidate, candidate)
        except OSError:
            continue  # a container may know few users
        user = candidate
        break
    try:
        _set_capabilities(permitted=reading, effective=0)
    except OSError:  # root without even that right, as in some containers
        _set_capabilities(permitted=0, effective=0)
        return user
    if _readable(needed):
        _set_capabilities(permitted=0, effective=0)
    else:
        _set_capabilities(permitted=reading, effective=reading)
    return user


def die_with_parent() -> None:
    """Ask the kernel to end this process when the thread that started it ends."""
    _libc().prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)
