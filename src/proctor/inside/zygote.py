"""The zygote: torch imported, probes and inputs loaded, no student code yet. It forks one child per run.

It runs inside the walls, as the child does, and guarantees: what one submission did is gone before the next begins (a
fresh fork each time; the job itself is read by the child, so no submission's text is ever in the zygote's memory);
a child is ended when the trusted process says so or goes away; whatever a child left behind is ended with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import io
import json
import logging
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proctor.inside import frames, landlock, rlimits, seccomp

# the child's only descriptors besides the standard ones: one for each time that it may be asked
CHANNELS = tuple(range(3, 3 + frames.TIMES))
# After so many children the class is a large one. What takes half a second and makes each child some 20 ms faster is
# done then: a small class need not wait for it, and no class loses more than about that.
LARGE_CLASS = 25


def run_zygote(control: socket.socket, boot: Mapping[str, Any]) -> None:
    """Confine this process, load torch, receive the payload, report, and serve until the other side closes."""
    os.set_inheritable(control.fileno(), False)
    try:
        sweep = _confine(boot)
        _load(boot)
        payload = json.loads(_receive(control))
        child, later = _prepare(boot, payload, _receive(control), _receive(control))
        _protect_pages(boot)
        gc.enable()
    except BaseException:
        message = traceback.format_exc()[-4000:].encode("utf-8", "replace")
        control.sendall(frames.FAILED + len(message).to_bytes(8, "big") + message)
        os._exit(1)
    memory = b"%d" % rlimits.peak_kb()
    control.sendall(frames.BOOTED + len(memory).to_bytes(8, "big") + memory)
    serve(control, child, sweep, later)
    os._exit(0)


def _receive(control: socket.socket) -> bytes:
    def exactly(count: int) -> bytes:
        stream = io.BytesIO()
        while stream.tell() < count:
            part = control.recv(min(count - stream.tell(), 1 << 20))
            if not part:
                os._exit(0)
            stream.write(part)
        return stream.getvalue()

    return exactly(int.from_bytes(exactly(8), "big"))


def _confine(boot: Mapping[str, Any]) -> Callable[[], None]:
    """Confine this process as the tier demands. Returns a function that ends processes left behind by a child."""

    def nothing() -> None: ...

    def everyone() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)

    if sys.platform == "linux":
        landlock.die_with_parent()
    if boot["tier"] == "bubblewrap":
        return everyone  # alone in a process namespace
    if boot["tier"] == "landlock":
        user = landlock.become_nobody(boot["roots"])
        landlock.restrict_paths([(path, rights) for path, rights in boot["rules"]])
        if user is not None:
            landlock.die_with_parent()  # changing the user cancels it
            if user >= landlock.UNUSED_USERS:
                return everyone  # alone under this user
        return nothing  # the filter allows no new process
    return _orphans


def _orphans() -> None:
    """End adopted children: without walls a submission can start processes, and as their subreaper we inherit them."""
    while True:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                pids = [int(pid) for pid in file.read().split()]
        except OSError:
            return
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _load(boot: Mapping[str, Any]) -> None:
    """Import and warm up all that does not depend on the payload."""
    import torch

    torch.set_num_threads(1)  # thread pools do not survive a fork: there must never be one
    from proctor.inside.warmup import meta_kernels, stub_compiler

    if "stub_compiler" in boot["warm"]:
        stub_compiler.leave_out()
    if "preload" in boot["warm"]:
        for name in boot["preload"]:
            __import__(name)
    _disable_threads(torch)
    _reset_signals_and_logs()
    if "meta_kernels" in boot["warm"]:
        meta_kernels.prefer_kernels()


def _prepare(
    boot: Mapping[str, Any], payload: Mapping[str, Any], probes: bytes, draws: bytes
) -> tuple[Callable[[Sequence[int]], None], Mapping[int, Callable[[], None]]]:
    """Prepare the payload for children to share. Returns the child's main function, and the tasks to run after so many
    children."""
    import cloudpickle

    from proctor.forbid import Family, replace
    from proctor.inside import harness, protocol, stub_modules
    from proctor.inside.warmup import rehearsal

    functions = cloudpickle.loads(probes)
    table = protocol.nested(*protocol.decode(draws, max_header=1 << 30, max_tensors=1 << 30))
    bounds = boot["limits"]
    forbid = {name: [Family.from_json(parts) for parts in families] for name, families in payload["forbid"].items()}
    blocker = replace.Blocker(keep_blocked=True)
    families = tuple(dict.fromkeys(family for families in forbid.values() for family in families))
    replace.prepare_families(families)
    filtered = boot["tier"] != "limits"
    if filtered:
        seccomp.prepare()

    def highest() -> int:
        mapped = rlimits.mapped_bytes()
        return mapped + bounds["memory_mb"] * rlimits.MB if mapped else 0

    roof = highest()
    if not filtered and sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    parent = os.getpid()

    def child(descriptors: Sequence[int]) -> None:
        channel = harness.Channel(descriptors[0])
        try:
            _isolate(descriptors, parent)
            channel = harness.Channel(CHANNELS[0])
            if filtered:
                rlimits.lower_limits(bounds["cpu_seconds"], roof, processes=0)
                seccomp.install(os.getpid())
            else:
                rlimits.lower_limits(bounds["cpu_seconds"], roof, processes=rlimits.own_processes() + 64)
        except BaseException as error:
            channel.send(frames.FAULT, repr(error).encode("utf-8", "replace"))
            return
        channel.send(frames.READY)
        for channel in map(harness.Channel, CHANNELS):
            try:
                harness.run_one_job(channel, blocker, functions, table, bounds)
            except BaseException as error:
                report = {"reason": "harness", "detail": f"{type(error).__name__}: {error}"[:500]}
                channel.send(frames.STOP, frames.to_json(report))
            channel.close()

    def after_the_first() -> None:
        """Load modules that some parts of torch import, half as large as torch itself. The first submission, often the
        only one, does not wait for it."""
        nonlocal roof
        if "preload" in boot["warm"]:
            with contextlib.suppress(ImportError):
                __import__("sympy")
            replace.prepare_families(families)
            roof = highest()
            _protect_pages(boot)

    def after_a_few() -> None:
        """Rehearse: takes half a second, which pays off in a large class only."""
        nonlocal roof
        if "rehearsal" in boot["warm"]:
            blocker.take_away(())
            rehearsal.rehearse(functions, table, bounds, payload["public_modules"], forbid, payload["rehearsal"])
            blocker.take_away(families)  # as it is when a child runs its cells
            stub_modules.drop_loaded()
        roof = highest()
        _protect_pages(boot)

    return child, {1: after_the_first, LARGE_CLASS: after_a_few}


def _protect_pages(boot: Mapping[str, Any]) -> None:
    """Keep children from copying shared pages: by allocating in gaps of the heap, or by a garbage collection, which
    writes to the pages it visits."""
    from proctor.inside.warmup import memory

    if "gaps" in boot["warm"]:
        memory.take_gaps()
    if "freeze" in boot["warm"]:
        gc.freeze()


def _disable_threads(torch: Any) -> None:
    """Replace torch calls that set the number of threads, which honest code may make, by no-ops: a second thread is
    refused here."""
    torch.set_num_threads = torch.set_num_interop_threads = lambda count: None


def _reset_signals_and_logs() -> None:
    """Give children default signal handlers and no log handlers.

    Python looks after the locks of all log handlers at every fork, and torch has dozens.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    for logger in list(logging.Logger.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            logger.handlers.clear()


def _isolate(descriptors: Sequence[int], parent: int) -> None:
    """Move the child to its own session, close all descriptors but the channels, and tie its life to the zygote's."""
    if sys.platform == "linux":
        landlock.die_with_parent()
        if os.getppid() != parent:
            os._exit(0)
    os.setsid()  # else kill(0, …) would reach the zygote's group
    os.dup2(0, 2)  # what the zygote says is kept, what a child says is not
    aside = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, CHANNELS[-1] + 1) for descriptor in descriptors]
    for descriptor, channel in zip(aside, CHANNELS, strict=True):
        os.dup2(descriptor, channel)
    os.closerange(CHANNELS[-1] + 1, 1 << 20)


def serve(
    control: socket.socket,
    child: Callable[[Sequence[int]], None],
    sweep: Callable[[], None],
    later: Mapping[int, Callable[[], None]],
) -> None:
    """Fork one child at a time until the other side closes; run `later[n]` after the n-th."""
    count = 0
    while True:
        try:
            command, descriptors, _, _ = socket.recv_fds(control, 1, len(CHANNELS))
        except OSError:
            return
        if not command:
            return
        if command != frames.RUN or len(descriptors) != len(CHANNELS):
            continue  # a late "end it" for a child that had ended by itself
        pid = os.fork()
        if pid == 0:
            try:
                control.close()
                child(descriptors)
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)
        ending = _watch(pid, control)
        sweep()
        try:
            control.sendall(frames.STATUS.pack(*ending))
        except OSError:
            return
        count += 1
        if count in later:
            later[count]()


def _watch(pid: int, control: socket.socket) -> tuple[int, int, float]:
    """Wait for the child to end; kill it on command, or when the other side closes. Returns the fields of
    `frames.STATUS`."""
    try:
        exit_of = os.pidfd_open(pid)
    except (AttributeError, OSError):  # an old kernel, or not Linux: look again and again
        exit_of = None
    watched: list[Any] = [control] if exit_of is None else [control, exit_of]
    while True:
        ready, _, _ = select.select(watched, [], [], None if exit_of is not None else 0.005)
        if control in ready:
            control.recv(1)  # an order, or the end of the other side: the same to the child
            os.kill(pid, signal.SIGKILL)
            watched.remove(control)
        if exit_of is None or exit_of in ready:
            done, status, usage = os.wait4(pid, 0 if exit_of is not None else os.WNOHANG)
            if done:
                if exit_of is not None:
                    os.close(exit_of)
                return status, int(usage.ru_maxrss), usage.ru_utime + usage.ru_stime
