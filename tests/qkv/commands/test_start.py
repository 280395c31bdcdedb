"""`qkv start`: both addresses answer, the token guards JupyterLab, and nothing is left behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from qkv import course as the_course
from qkv.commands import start, welcome
from qkv.commands.book_server import BookBuild, BookServer, book_is_stale
from qkv.commands.lab import Lab
from qkv.commands.ports import HOST
from qkv.notebook import workspace

PATIENCE = 180.0  # seconds; generous, since other tests run beside these
EMPTY = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'


@pytest.fixture
def course(tmp_path: Path, root: Path) -> Path:
    """A copy of the course with one notebook and one page."""
    shutil.copytree(root / "src" / "qkv", tmp_path / "src" / "qkv", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "01_lookup.ipynb").write_text(EMPTY)
    shutil.copyfile(root / "_toc.yml", tmp_path / "_toc.yml")
    shutil.copytree(root / "book" / "chapters", tmp_path / "book" / "chapters")
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").write_text("<h1>the page</h1>")
    (tmp_path / "_build" / "html" / ".built").touch()
    return tmp_path


class Started:
    """A running `qkv start --no-browser`, and what it has printed."""

    def __init__(self, course: Path, port: int) -> None:
        environment = os.environ | {"PYTHONPATH": str(course / "src")}
        environment.pop("DISPLAY", None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "qkv", "start", "--no-browser", "--port", str(port)],
            cwd=course,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.output = ""

    def until(self, text: str) -> str:
        assert self.process.stdout is not None
        while text not in self.output:
            line = self.process.stdout.readline()
            assert line, f"ended before it said {text!r}:\n{self.output}"
            self.output += line
        return self.output

    @property
    def book(self) -> str:
        return re.search(r"^Book +(\S+)$", self.output, re.M)[1]  # type: ignore[index]

    @property
    def lab(self) -> str:
        return re.search(r"^JupyterLab +(\S+)$", self.output, re.M)[1]  # type: ignore[index]

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self, with_signal: signal.Signals) -> int:
        self.process.send_signal(with_signal)
        return self.process.wait(30)


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def started(course: Path, port: int) -> Iterator[Started]:
    running = Started(course, port)
    yield running
    if running.process.poll() is None:
        running.process.kill()
        running.process.wait()


def get(address: str) -> tuple[int, str]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(address, timeout=60) as reply:
            return reply.status, reply.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, ""


def words_of(process: psutil.Process) -> list[str]:
    """Its command line; none if it has ended since it was listed."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def gone(family: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(family, timeout=120)
    return not alive


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_both_answer_and_both_end(started: Started, by: signal.Signals) -> None:
    started.until("Ctrl-C ends both.")
    assert get(started.book) == (200, "<h1>the page</h1>")
    status, page = get(started.lab)
    assert status == 200
    assert "JupyterLab" in page
    base, token = started.lab.split(f"/lab/tree/{welcome.NAME}?token=")
    assert get(f"{base}/api/contents")[0] == 403, "without the token nothing is shown"
    assert "01_lookup.ipynb" in get(f"{base}/api/contents?token={token}")[1]
    assert f"]({started.book})" in get(f"{base}/files/{welcome.NAME}?token={token}")[1]

    family = started.family()
    assert family
    assert token not in " ".join(word for process in family for word in words_of(process))
    assert started.end(by) == 0
    assert gone(family)
    assert "Traceback" not in started.output + (started.process.stdout.read() if started.process.stdout else "")


def test_a_kernel_ends_with_the_rest(started: Started) -> None:
    started.until("Ctrl-C ends both.")
    base, token = started.lab.split(f"/lab/tree/{welcome.NAME}?token=")
    request = urllib.request.Request(
        f"{base}/api/kernels", data=b"{}", headers={"Authorization": f"token {token}"}, method="POST"
    )
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60).close()
    family = started.family()
    assert any("ipykernel" in " ".join(words_of(process)) for process in family)
    assert started.end(signal.SIGINT) == 0
    assert gone(family)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux alone ends a child with its parent")
def test_nothing_is_left_when_it_is_killed(started: Started) -> None:
    started.until("Ctrl-C ends both.")
    family = started.family()
    started.end(signal.SIGKILL)
    assert gone(family)


def test_a_taken_port_is_skipped_and_told(course: Path, port: int) -> None:
    with socket.socket() as holder:
        holder.bind((HOST, port))
        holder.listen()
        running = Started(course, port)
        said = running.until("Ctrl-C ends both.")
        running.end(signal.SIGTERM)
    assert f"Port {port} is taken; the book is on {running.book.split(':')[-1].strip('/')}." in said


def test_ctrl_c_while_it_starts(started: Started) -> None:
    deadline = time.monotonic() + PATIENCE
    while not started.family():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    family = started.family()
    assert started.end(signal.SIGINT) == 0
    assert gone(family)


def test_a_dead_jupyterlab_is_told_with_its_last_words(started: Started) -> None:
    started.until("Ctrl-C ends both.")
    started.family()[0].kill()
    said = started.until("JupyterLab ended by itself (exit code -9). Its log says:")
    assert started.process.wait(30) == 1
    assert "qkv start: " in said


# ---- parts


def test_a_port_that_needs_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: socket.socket, address: object) -> None:
        raise PermissionError

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(start.NotServing, match="port 80 needs rights that you don't have; choose one above 1023"):
        start.first_free_port(80, "the book")


def test_without_notebooks_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(the_course, "root", lambda: None)  # as where pip installed the package alone
    assert start.serve_course(browser=False) == 1
    assert "run `pip install -e .` there" in capsys.readouterr().err


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "book" / "chapters").mkdir(parents=True)
    (tmp_path / "book" / "chapters" / "01_lookup.md").write_text("# Lookup")
    return tmp_path


def test_a_reader_who_leaves_early_is_no_error(sources: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (sources / "_build" / "html" / "large.bin").write_bytes(bytes(8 << 20))
    with BookServer(sources / "_build" / "html", start.DEFAULT_PORT) as server:
        with socket.create_connection(server.server_address[:2]) as reader:
            reader.sendall(b"GET /large.bin HTTP/1.0\r\n\r\n")
            reader.recv(100)
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # leave with a reset
        assert get(f"{server.address}large.bin")[0] == 200
    assert capfd.readouterr().err == ""


def test_links_to_cells_lead_to_the_jupyterlab_beside_the_book(sources: Path) -> None:
    link = '<a class="open-cell" hidden data-cell="01_lookup.ipynb#cell-id=softmax">Open it</a>'
    (sources / "_build" / "html" / "index.html").write_text(link)
    with BookServer(sources / "_build" / "html", start.DEFAULT_PORT) as server:
        for page in ("", "index.html", "index.html?highlight=mask"):
            assert get(f"{server.address}{page}") == (200, link), "alone, the book has nowhere to lead to"
        server.cells = Lab(workspace.of_clone(sources), 8101).cells
        for page in ("", "index.html", "index.html?highlight=mask"):
            status, body = get(f"{server.address}{page}")
            assert status == 200
            assert 'href="http://127.0.0.1:8101/lab/tree/01_lookup.ipynb#cell-id=softmax"' in body
            assert "hidden" not in body
            assert "token" not in body, "whoever can read a page may not be let into JupyterLab"
        assert get(f"{server.address}nowhere.html")[0] == 404


def test_the_first_screen_is_the_welcome_until_there_are_tabs_to_come_back_to(sources: Path) -> None:
    lab = Lab(workspace.of_clone(sources), 8101)
    assert lab.first_screen == f"http://127.0.0.1:8101/lab/tree/welcome.md?token={lab.token}"
    lab.place.tabs.mkdir(parents=True)
    (lab.place.tabs / "default.jupyterlab-workspace").touch()
    assert lab.first_screen == lab.address


def test_the_welcome_leads_to_every_chapter_and_to_the_book(root: Path) -> None:
    text = welcome.welcome_text("http://127.0.0.1:8100/")
    assert "](http://127.0.0.1:8100/)" in text
    before, table = text.split("## The chapters")
    first = re.findall(r"\]\((\w+\.ipynb)\)", before)[0]
    linked = [first, *re.findall(r"\]\((\w+\.ipynb)\)", table)]
    assert [path.name for path in sorted((root / "notebooks").glob("[0-9]*.ipynb"))] == linked[1:]
    assert linked[0] == linked[1], "where to begin"
    for entry in the_course.entries():
        assert f"[{entry.title}]" in text
    assert (root / "book" / "guides" / "students.md").is_file()


def test_the_book_is_stale_when_a_source_is_newer(sources: Path) -> None:
    assert book_is_stale(sources), "nothing is built"
    (sources / "_build" / "html" / ".built").touch()
    assert not book_is_stale(sources)
    later = time.time() + 5
    os.utime(sources / "book" / "chapters" / "01_lookup.md", (later, later))
    assert book_is_stale(sources)


def test_while_the_book_is_built_its_pages_say_so(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sources / "_build" / "html" / "index.html").write_text("half a book")
    with BookServer(sources / "_build" / "html", start.DEFAULT_PORT) as server:
        with BookBuild(
            sources, (sys.executable, "-c", "print('… pages read, 40 %'); import time; time.sleep(1e6)")
        ) as b:
            server.build = b
            while b.how_far == "it begins":
                time.sleep(0.01)
            for page in ("", "book/chapters/01_lookup.html"):
                status, body = get(f"{server.address}{page}")
                assert status == 200
                assert "being built" in body
                assert "pages read, 40 %" in body
                assert 'http-equiv="refresh" content="2"' in body
        assert b.process is not None
        assert b.process.poll() is not None, "it ends with us"
        assert "did not build" in get(server.address)[1]
        (sources / "_build" / "html" / ".built").touch()
        assert get(server.address)[1] == "half a book"


def test_a_build_that_fails_says_why(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with BookBuild(sources, (sys.executable, "-c", "print('a word is wrong'); raise SystemExit(1)")) as build:
        build.process.wait()
        while build.running:
            time.sleep(0.01)
    said = capsys.readouterr().out
    assert "a word is wrong" in said
    assert "The book did not build" in said


def test_a_book_that_builds_is_fresh(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from qkv.authoring.publish import publishing

    past = time.time() - 5
    os.utime(sources / "book" / "chapters" / "01_lookup.md", (past, past))
    monkeypatch.setattr(publishing, "publish_book", lambda: 0)
    assert start.build_book(sources) == 0
    assert not book_is_stale(sources)


@pytest.mark.parametrize(("display", "wayland", "screen"), [("", "", False), (":0", "", True), ("", "wayland-0", True)])
def test_a_browser_opens_only_where_there_is_a_screen(
    display: str, wayland: str, screen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setenv("WAYLAND_DISPLAY", wayland)
    assert start.has_screen() is screen
