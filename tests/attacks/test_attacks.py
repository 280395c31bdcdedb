"""Every attack is a submission. None earns what it did not compute, none harms the host or whoever comes next."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ATTACKS = sorted((HERE / "submissions").glob("*.py"))
MARKER = "left by the submission before"
COMMENT = "nothing overflows"  # stands in the reference's source, and nowhere else


OF_OTHERS = ".org.chromium", "sem.mp-"  # what a browser and Python's own pools of processes keep there meanwhile


@dataclass
class Host:
    """What an attack could change or reach outside: a file, a port, sockets by name, processes."""

    playground: Path
    server: socket.socket
    unix: socket.socket
    abstract: socket.socket

    @property
    def canary(self) -> Path:
        return self.playground / "canary.txt"

    def state(self) -> object:
        about = self.canary.stat()
        shared = [Path(f"/proc/sysvipc/{kind}").read_text() for kind in ("shm", "sem", "msg")]
        return (
            self.canary.read_text(),
            (about.st_mode, about.st_uid, about.st_mtime_ns, about.st_nlink),
            sorted(p.name for p in self.playground.iterdir()),
            sorted(name for name in os.listdir("/dev/shm") if not name.startswith(OF_OTHERS)),
            shared,
            self.callers(),
        )

    def callers(self) -> int:
        count = 0
        for server in (self.server, self.unix, self.abstract):
            try:
                server.accept()
                count += 1
            except BlockingIOError:
                pass
        return count


def sandboxed() -> set[int]:
    """Our processes inside sandboxes, known by the words they were started with, and any that have no owner."""
    parents, inside = {}, set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                parents[int(entry.name)] = int(parent)
                if state != "Z" and b"first lines that run in a new sandbox" in (entry / "cmdline").read_bytes():
                    inside.add(int(entry.name))
        except OSError:
            continue
    return {pid for pid in inside if ancestors(pid, parents) & {os.getpid()} or parents[pid] == 1}


def ancestors(pid: int, parents: dict[int, int]) -> set[int]:
    found = set()
    while pid := parents.get(pid, 0):
        found.add(pid)
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    """The last child is reaped while the grader is already at work on what it sent."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    playground = tmp_path_factory.mktemp("playground")
    for place in (playground, *playground.parents):
        if place.stat().st_uid == os.getuid() and place != Path("/"):
            place.chmod(place.stat().st_mode | 0o011)  # an ordinary user finds the way, and could write here
    playground.chmod(0o777)
    (playground / "canary.txt").write_text("sings")
    (playground / "canary.txt").chmod(0o666)
    servers = [socket.socket(), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
    servers[0].bind(("127.0.0.1", 0))
    servers[1].bind(str(playground / "socket"))
    (playground / "socket").chmod(0o777)
    servers[2].bind("\0proctor-attacks")
    for server in servers:
        server.listen()
        server.setblocking(False)
    yield Host(playground, *servers)
    for server in servers:
        server.close()


@pytest.fixture(scope="session", autouse=True)
def secret_environment() -> Iterator[None]:
    os.environ["ATTACKED_SECRET"] = "canary-in-the-environment"
    yield
    del os.environ["ATTACKED_SECRET"]


def prepared(path: Path, host: Host, salt: str, root: Path) -> str:
    places = {
        "@PLAYGROUND@": str(host.playground),
        "@PORT@": str(host.server.getsockname()[1]),
        "@ABSTRACT@": "proctor-attacks",
        "@GRADER@": str(os.getpid()),
        "@REPOSITORY@": str(root),
        "@REFERENCE@": str(root / "src" / "qkv" / "model" / "lookup.py"),
        "@SALT-BACKWARDS@": salt[::-1],
        "@MARKER-BACKWARDS@": MARKER[::-1],
        "@COMMENT-BACKWARDS@": COMMENT[::-1],
        "@CANARY-VALUE@": "canary-in-the-environment",
    }
    source = path.read_text()
    for mark, value in places.items():
        source = source.replace(mark, value)
    return source


def seconds_of(source: str) -> float | None:
    found = re.search(r"^Seconds: ([\d.]+)$", source, re.MULTILINE)
    return float(found[1]) if found else None


def reasons(expected: str) -> tuple[str, ...]:
    found = re.search(r"stopped \(([\w ]+)\)", expected)
    return tuple(found[1].split(" or ")) if found else ()


def test_every_attack_says_what_it_tries_and_what_to_expect():
    for path in ATTACKS:
        expected = re.search(r"^Expected: (.+)\.$", path.read_text(), re.MULTILINE)
        assert expected, path.name
        assert re.fullmatch(
            r"nothing earned|less than full marks|(nothing earned, or )?stopped \([\w ]+\)", expected[1]
        ), path.name


SILENCED = """
import contextlib, os
from pathlib import Path
def similarity_scores(q, k):
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        print("to nobody")
    os.close(os.open(os.devnull, os.O_WRONLY))
    Path(os.devnull).write_bytes(b"to nobody")
    return q @ k.transpose(-2, -1)
"""


def test_honest_code_may_silence_its_prints(exam):
    exam.box.start()
    run = exam.run(SILENCED, only="similarity_scores")
    assert {name: result.state for name, result in exam.results(run).items()} == {"similarity_scores": "passed"}
    assert run.output == ""


@pytest.mark.parametrize("path", ATTACKS, ids=lambda path: path.stem)
def test_attack(path: Path, exam, host: Host, salt: str, right: str, root: Path):
    source = prepared(path, host, salt, root)
    expected = re.search(r"^Expected: (.+)\.$", source, re.MULTILINE)[1]
    exam.box.start()
    before, processes = host.state(), sandboxed()

    run = exam.run(source, seconds_of(source))
    assert "LEAK" not in run.output
    results = exam.results(run)
    if expected == "less than full marks":
        assert all(result.score < 1 for result in results.values())
    else:
        assert {name: result.score for name, result in results.items() if result.score > 0} == {}
    if run.stopped is None:
        assert not expected.startswith("stopped"), run
    else:
        assert run.stopped.reason in reasons(expected), run.stopped
        assert re.fullmatch(r"The code .*\.|What came back .*\.", run.stopped.detail, re.DOTALL)
    for result in results.values():
        assert result.state != "passed"
        assert all(c.isprintable() or c in "\n\t" for c in result.message)

    after = exam.run(f"# {MARKER}\n{right}", only="similarity_scores")  # whoever comes next
    assert {name: result.state for name, result in exam.results(after).items()} == {"similarity_scores": "passed"}
    assert after.stopped is None
    assert host.state() == before
    assert wait_until(lambda: sandboxed() == processes), (sandboxed(), processes)
