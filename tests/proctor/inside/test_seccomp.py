"""The system-call filter: its numbers, and what is left of a process that is under it."""

# ruff: noqa: SIM115 - a process that ends at once closes its files

from __future__ import annotations

import ctypes
import errno
import faulthandler
import io
import mmap
import os
import platform
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.inside import seccomp

linux = pytest.mark.skipif(not seccomp.available()[0], reason=seccomp.available()[1])


def in_child(action: Callable[[], object]) -> str:
    """What came of an action under the filter: its result, or the name of the error."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        faulthandler.disable()  # pytest's; a crash is expected here
        try:
            seccomp.install(os.getpid())
            try:
                answer = repr(action())
            except OSError as error:
                answer = errno.errorcode.get(error.errno or 0, str(error))
            except RuntimeError as error:
                answer = str(error)
            os.write(writer, answer.encode())
        finally:
            os._exit(0)
    os.close(writer)
    answer = os.read(reader, 4096).decode()
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    return answer if os.WIFEXITED(status) else f"signal {os.WTERMSIG(status)}"


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_numbers_are_those_of_libseccomp(machine, column):
    try:
        import pyseccomp as library
    except (ImportError, RuntimeError) as error:  # not installed, or its library is not
        pytest.skip(str(error))
    architecture = {"x86_64": library.Arch.X86_64, "aarch64": library.Arch.AARCH64}[machine]
    for name, numbers in {**seccomp.ALLOWED, **seccomp.CONDITIONAL, **seccomp.NOT_THERE}.items():
        number = library.resolve_syscall(architecture, name)
        assert numbers[column] == (number if number >= 0 else None), name


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_path_of_the_program_ends_in_a_return(machine):
    code = seccomp.program(4711, machine)
    instructions = list(struct.iter_unpack("=HBBI", code))
    assert instructions[-1][0] == 0x06
    for place, (operation, if_true, if_false, _) in enumerate(instructions):
        if operation in (0x15, 0x35):
            assert place + 1 + max(if_true, if_false) < len(instructions)


@linux
def test_reading_and_computing_go_on(tmp_path):
    (tmp_path / "file").write_text("text")
    assert in_child(lambda: (tmp_path / "file").read_text()) == "'text'"
    assert in_child(lambda: sorted(os.listdir(tmp_path))) == "['file']"
    assert in_child(lambda: len(bytearray(50_000_000))) == "50000000"
    assert in_child(lambda: time.sleep(0.001)) == "None"
    assert in_child(lambda: len(os.urandom(7))) == "7"


@linux
@pytest.mark.parametrize(
    ("action", "answer"),
    [
        (lambda: os.open("/dev/null", os.O_WRONLY), "EROFS"),
        (lambda: os.open("/dev/null", os.O_RDWR), "EROFS"),
        (lambda: os.open("/tmp", os.O_TMPFILE | os.O_RDWR), "EROFS"),
        (lambda: os.open("/tmp/new", os.O_CREAT | os.O_RDONLY), "EROFS"),
        (os.fork, "EPERM"),
        (lambda: os.execv("/bin/true", ["true"]), "EPERM"),
        (threading.Thread(target=print).start, "can't start new thread"),
        (socket.socket, "EPERM"),
        (socket.socketpair, "EPERM"),
        (os.pipe, "EPERM"),
        (lambda: os.memfd_create("x"), "EPERM"),
        (lambda: os.kill(os.getppid(), 0), "EPERM"),
        (lambda: os.kill(0, 0), "EPERM"),
        (lambda: os.kill(-1, 0), "EPERM"),
        (lambda: os.kill(os.getpid(), 0), "None"),
        (lambda: os.chmod("/tmp", 0o777), "EPERM"),
        (lambda: os.utime("/tmp"), "EPERM"),
        (lambda: os.mkdir("/tmp/new"), "EPERM"),
        (lambda: os.unlink("/tmp/new"), "EPERM"),
        (lambda: os.nice(1), "EPERM"),
        (lambda: os.sched_setaffinity(0, {0}), "EPERM"),
        (lambda: os.setsid(), "EPERM"),
        (lambda: mincore(), "EPERM"),
    ],
)  # fmt: skip
def test_what_is_refused(action, answer):
    assert in_child(action) == answer


def mincore():
    """Ask which pages are in memory: what others have read lately could be told by it."""
    libc = ctypes.CDLL(None, use_errno=True)
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        if libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), ctypes.create_string_buffer(1)):
            raise OSError(ctypes.get_errno(), "mincore")


SILENT = [
    (lambda: open(os.devnull, "w").write("text"), "4"),
    (lambda: open(os.devnull, "ab", 0).write(b"data"), "4"),
    (lambda: open("/dev/null", mode="r+b").read(), "b''"),
    (lambda: open(file=os.devnull).read(), "''"),
    (lambda: io.open(b"/dev/null", "w", 1, "utf-8").write("text"), "4"),  # noqa: UP020
    (lambda: Path(os.devnull).write_text("text"), "4"),
    (lambda: os.write(os.open(os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), b"data"), "4"),
    (lambda: print("text", file=open(os.devnull, "w", -1, None, None, None, True)), "None"),
]


@linux
@pytest.mark.parametrize(("action", "answer"), SILENT)
def test_the_null_device_can_be_opened_for_writing(action, answer):
    def with_a_descriptor():
        seccomp.offer_devnull(descriptor)
        return action()

    descriptor = os.open(os.devnull, os.O_RDWR)
    try:
        assert in_child(with_a_descriptor) == answer
    finally:
        os.close(descriptor)


@linux
@pytest.mark.parametrize(
    "action",
    [
        lambda: open("/dev/zero", "w"),
        lambda: open("/dev/../dev/full", "wb"),
        lambda: open("/tmp/new", "w"),
        lambda: os.open("/tmp/new", os.O_WRONLY | os.O_CREAT, 0o600),
        lambda: Path("/tmp/new").touch(),
    ],
)
def test_and_nothing_else_can(action):
    def with_a_descriptor():
        seccomp.offer_devnull(0)
        return action()

    assert in_child(with_a_descriptor) == "EROFS"


@linux
def test_abort_still_aborts():
    assert in_child(os.abort) == "signal 6"


@linux
@pytest.mark.skipif(platform.machine() != "x86_64", reason="x86_64 has a second numbering")
def test_the_second_numbering_is_a_death_sentence():
    libc = ctypes.CDLL(None)
    assert in_child(lambda: libc.syscall(0x40000000 + 39)) == "signal 31"
