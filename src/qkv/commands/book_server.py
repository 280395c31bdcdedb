"""The built book as a local web server, and its build beside it.

While the book is built for the first time, every page says so and how far it is, and loads itself again.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

from qkv.authoring.publish.how_far import MARK
from qkv.commands.ports import HOST, first_free_port

STAMP = ".built"  # in the folder of pages: when what they were made from was read

# What a page of the book is made from. Newer than the built book: build again.
BOOK_SOURCES = ("_config.yml", "_toc.yml", "book", "solutions", "src/qkv", "src/proctor/report")

CELL = b'hidden data-cell="'  # of a link that a page has for JupyterLab: useless until somebody knows the address

WAIT = """\
<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><meta http-equiv="refresh" content="{again}"><title>QKV</title>
<body style="font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:20vh auto;padding:0 1rem">
<link rel="icon" href="data:,"><p role="status">{text}</p></body></html>
"""
BUILDING = "The book is being built, once: {how_far}. This page turns into it as soon as it is there."
FAILED = "The book did not build. The terminal that serves it says why, and <code>qkv book</code> tries again."


def book_is_stale(root: Path) -> bool:
    """Is a source of the pages newer than the built book of a clone, or is nothing built yet?"""
    stamp = root / "_build" / "html" / STAMP
    if not stamp.exists():
        return True
    built = stamp.stat().st_mtime
    return any(path.stat().st_mtime > built for path in _book_sources(root))


def _book_sources(root: Path) -> Iterator[Path]:
    for name in BOOK_SOURCES:
        top = root / name
        for path in [top, *top.rglob("*")] if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts and ".ipynb_checkpoints" not in path.parts:
                yield path


class BookBuild:
    """`qkv book` in a process of its own, with what it says; leaving the `with` block ends it."""

    def __init__(self, root: Path, command: tuple[str, ...] = (sys.executable, "-m", "qkv", "book")) -> None:
        self.root, self.command = root, command
        self.how_far = "it begins"
        self.returncode: int | None = None
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> BookBuild:
        self.process = subprocess.Popen(
            self.command,
            cwd=self.root,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=os.name != "nt",  # with all processes that the build starts, it can be ended at once
        )
        self._reader = threading.Thread(target=self._follow, args=(self.process,), name="book build", daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process is not None and self.process.poll() is None:
            if os.name == "nt":
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
            self._reader.join()

    @property
    def running(self) -> bool:
        return self.process is not None and self.returncode is None

    def _follow(self, process: subprocess.Popen[str]) -> None:
        terminal = sys.stdout.isatty()
        for line in process.stdout or ():
            if line.startswith(MARK):
                self.how_far = line.removeprefix(MARK).strip()
                if terminal:
                    print(f"\rBuilding the book: {self.how_far:<30}", end="", flush=True)
            else:
                print("\r" * terminal + line.rstrip(), flush=True)
        self.returncode = process.wait()
        if self.returncode > 0:
            print(
                "The book did not build (see above); `qkv book` tries again. What was built before stays.", flush=True
            )


class _Page(SimpleHTTPRequestHandler):
    """Static files without a line in the terminal for each, and without a stale copy in the browser after a rebuild.

    On pages, links to cells lead to the JupyterLab that is served beside them.
    """

    server: BookServer

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.suffix == "" else path
        if path.suffix == ".html" and (build := self.server.build) is not None and not self.server.has_pages:
            text = BUILDING.format(how_far=build.how_far) if build.running else FAILED
            return self._send(WAIT.format(again=2 if build.running else 3600, text=text).encode())
        if path.suffix != ".html" or not path.is_file() or not self.server.cells:
            return super().send_head()
        return self._send(path.read_bytes().replace(CELL, f'target="_blank" href="{self.server.cells}'.encode()))

    def _send(self, page: bytes) -> io.BytesIO:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        return io.BytesIO(page)

    def log_message(self, format: str, *args: object) -> None:
        pass

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


class BookServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # on Windows it would let two servers share a port
    cells = ""  # where JupyterLab shows notebooks, if it runs
    build: BookBuild | None = None  # that makes the pages now

    def __init__(self, pages: Path, wanted: int) -> None:
        """A server of these pages on `wanted`, or on the next free port."""
        self.pages = pages
        super().__init__((HOST, first_free_port(wanted, "the book")), partial(_Page, directory=str(pages)))

    @property
    def has_pages(self) -> bool:
        """Was a whole book built here? One that is being written has pages without a style."""
        return (self.pages / STAMP).exists()

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a reader who closes the page early is no error
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def __enter__(self) -> BookServer:
        threading.Thread(target=self.serve_forever, name="book", daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()
        self.server_close()
