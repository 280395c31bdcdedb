"""Run a sandbox as a user without rights, in a process of its own, for tests that root runs.

Started by `conftest.py` as a program; the two talk over a socket whose number is the argument. The interpreter may lie
where an ordinary user cannot go (root's home): then this process first makes itself a view of the file system in which
it can.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
from multiprocessing.connection import Connection
from pathlib import Path

USER = 54321
_NEW_MOUNTS, _BIND, _PRIVATE = 0x20000, 4096, (1 << 18) | 16384


def _blocked(path: Path) -> Path | None:
    """The first directory above `path` that strangers may not enter."""
    for parent in reversed(path.parents):
        if not parent.stat().st_mode & 0o001:
            return parent
    return None


def make_reachable(paths: list[Path]) -> None:
    """Let strangers reach `paths`, in this process alone."""
    blocked = {path: _blocked(path) for path in paths}
    doors = {parent for parent in blocked.values() if parent is not None}
    if not doors:
        return
    libc = ctypes.CDLL(None, use_errno=True)

    def call(result: int) -> None:
        if result != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    call(libc.unshare(_NEW_MOUNTS))
    call(libc.mount(b"none", b"/", None, _PRIVATE, None))
    held = {path: os.open(path, os.O_PATH) for path, parent in blocked.items() if parent is not None}
    for door in doors:
        call(libc.mount(b"tmpfs", bytes(door), b"tmpfs", 0, b"mode=755"))
    for path, descriptor in held.items():
        if path.exists():
            continue  # inside another one
        path.mkdir(parents=True)
        call(libc.mount(f"/proc/self/fd/{descriptor}".encode(), bytes(path), None, _BIND | 16384, None))


def main(descriptor: int) -> None:
    import proctor

    site = [Path(place) for place in sys.path if place.endswith("-packages")]
    make_reachable([Path(sys.base_prefix), *site, Path(proctor.__file__).parents[1]])
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    from proctor.sandbox import Sandbox, launch

    launch.PRELOAD = ("numpy",)

    connection = Connection(descriptor)
    # pickle by hand: multiprocessing's own would share tensors through sockets that belong to root
    box = Sandbox(**pickle.loads(connection.recv_bytes()))
    while True:
        try:
            method, options = pickle.loads(connection.recv_bytes())
        except EOFError:
            box.close()
            return
        answer = getattr(box, method)
        connection.send_bytes(pickle.dumps(answer(**options) if callable(answer) else answer))


if __name__ == "__main__":
    main(int(sys.argv[1]))
