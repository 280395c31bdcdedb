"""Starting a zygote behind the walls of a tier.

Guarantees: it gets an empty environment, one descriptor, and text over that descriptor; it ends when this process ends
(it follows the thread that started it, so a thread of ours that never ends does the starting).
"""

from __future__ import annotations

import queue
import select
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from proctor.forbid import Family
from proctor.inside import landlock, protocol
from proctor.inside.rlimits import Limits
from proctor.sandbox import visible_files
from proctor.sandbox.tiers import bubblewrap

HOME = Path(__file__).resolve().parents[1]
INSIDE = ("inside", "forbid")  # packages; the rest of proctor, and all of the course, stays outside
PRELOAD = (
    "numpy", "torch.nn.functional", "torch.func", "torch.fft", "torch.linalg", "torch.distributions", "torch.optim",
    "dataclasses", "decimal", "fractions", "heapq", "statistics", "string", "unittest.mock",
)  # fmt: skip
ENVIRONMENT = {
    "HOME": "/",
    "LANG": "C.UTF-8",
    "PATH": "",
    "PYTHONHASHSEED": "0",  # the same submission takes the same way every time
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TORCHINDUCTOR_CACHE_DIR": "/",
    "CUDA_VISIBLE_DEVICES": "",
}


class Fault(RuntimeError):
    """The sandbox itself failed: a fault of ours, never of a submission."""


@dataclass(frozen=True)
class Stock:
    """What a zygote has before any submission comes; `Sandbox` says what each of these is."""

    probes: bytes
    draws: bytes
    public_modules: Mapping[str, str] = field(default_factory=dict)
    forbid: Mapping[str, Sequence[Family]] = field(default_factory=dict)
    rehearsal: str = ""
    warm: frozenset[str] = frozenset()


class Zygote:
    """A running zygote and the socket that commands it."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, log: IO[bytes]) -> None:
        self.process, self.control, self.log = process, control, log
        self.peak_kb = 0  # its own memory, which a child's starts from

    def gone(self) -> bool:
        if self.process.poll() is not None:
            return True
        return self.has_spoken(0)  # it never speaks unasked: this is the end of the stream

    def has_spoken(self, seconds: float) -> bool:
        """Whether there is something to receive from it, or it died, within that time."""
        waiting = select.poll()  # select() knows only the first thousand descriptors
        waiting.register(self.control, select.POLLIN)
        return bool(waiting.poll(max(seconds, 0) * 1000))

    def receive(self, count: int, seconds: float) -> bytes | None:
        """Exactly `count` bytes, or None if it died or did not answer in time."""
        deadline = time.monotonic() + seconds
        data = b""
        while len(data) < count:
            ready = self.has_spoken(deadline - time.monotonic())
            try:
                part = self.control.recv(count - len(data)) if ready else b""
            except OSError:
                part = b""
            if not part:
                return None
            data += part
        return data

    def end(self) -> None:
        """End it now, with everything inside. All of it follows this one process."""
        self.control.close()
        self.process.kill()
        self.process.wait()
        self.log.close()

    def said(self) -> str:
        """The last of what it wrote to its standard error."""
        try:
            self.log.seek(0)
            return self.log.read()[-2000:].decode("utf-8", "replace").strip()
        except (OSError, ValueError):
            return ""


class _Launcher:
    """A thread that never ends, and starts processes for others."""

    def __init__(self) -> None:
        self.orders: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def __call__(self, start: Callable[[], Any]) -> Any:
        with self.lock:
            if self.thread is None or not self.thread.is_alive():  # not alive: this process was itself forked
                self.orders = queue.SimpleQueue()
                self.thread = threading.Thread(target=self._work, name="sandbox launcher", daemon=True)
                self.thread.start()
        future: Future[Any] = Future()
        self.orders.put((start, future))
        return future.result()

    def _work(self) -> None:
        while True:
            start, future = self.orders.get()
            try:
                future.set_result(start())
            except BaseException as error:
                future.set_exception(error)


_launcher = _Launcher()


def sources() -> dict[str, str]:
    """The text of everything of ours that exists inside: full module name -> text."""
    files = [file for package in INSIDE for file in sorted((HOME / package).rglob("*.py"))]
    return {module_name(file): file.read_text("utf-8") for file in files}


def module_name(file: Path) -> str:
    parts = file.relative_to(HOME.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def launch(
    tier: str, stock: Stock, limits: Limits, hide: Sequence[str | Path] = (), packages: Iterable[str] = ()
) -> Zygote:
    """A zygote that is ready for its first run.

    Raises:
        Fault: it did not start, with what it said.
    """
    seen = visible_files.current(hide, packages)
    python = [
        seen.executable,
        "-P",
        "-s",
        "-S",
        "-B",
        "-c",
        (HOME / "inside" / "bootstrap.py").read_text("utf-8"),
    ]
    words = bubblewrap.command(seen, ENVIRONMENT) if tier == "bubblewrap" else []
    boot = {
        "tier": tier,
        "path": seen.path,
        "roots": seen.shown,
        "rules": _rules(seen) if tier == "landlock" else [],
        "limits": {**asdict(limits), "cpu_seconds": limits.cpu_seconds},
        "preload": PRELOAD,
        "public_modules": dict(stock.public_modules),
        "forbid": {name: [family.to_json() for family in families] for name, families in stock.forbid.items()},
        "rehearsal": stock.rehearsal,
        "warm": sorted(stock.warm),
        "sources": sources(),
    }
    ours, theirs = socket.socketpair()
    log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the zygote

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*words, *python, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=[theirs.fileno()],
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,  # Ctrl-C is for the grader, which then ends the sandbox
        )

    with theirs:
        zygote = Zygote(_launcher(start), ours, log)
    try:
        _hand_over(zygote, [protocol.to_json(boot), stock.probes, stock.draws], limits.boot_seconds)
    except BaseException:
        zygote.end()
        raise
    return zygote


def _rules(seen: visible_files.VisibleFiles) -> list[tuple[str, int]]:
    devices = [(device, landlock.READ_FILE | landlock.WRITE_FILE) for device in visible_files.DEVICES]
    return [*landlock.grants(seen.shown, seen.hidden), *devices]


def _hand_over(zygote: Zygote, parts: Sequence[bytes], seconds: float) -> None:
    """Send what it needs and wait until it is ready."""
    zygote.control.settimeout(seconds)
    try:
        for part in parts:
            zygote.control.sendall(len(part).to_bytes(8, "big") + part)
    except OSError:
        pass  # it died; what it said comes below
    finally:
        zygote.control.settimeout(None)
    answer = zygote.receive(9, seconds)
    if answer is None:
        zygote.process.kill()
        zygote.process.wait()
        raise Fault(f"the sandbox did not start: {zygote.said() or 'it gave no reason'}")
    kind, length = answer[:1], int.from_bytes(answer[1:], "big")
    text = (zygote.receive(length, seconds) or b"").decode("utf-8", "replace")
    if kind == protocol.FAILED:
        raise Fault(f"the sandbox did not start: {text}")
    if kind != protocol.BOOTED:
        raise Fault("the sandbox answered with something else than ready")
    zygote.peak_kb = int(text)
