"""`qkv start`: the built book and JupyterLab on the student edition, served together until Ctrl-C.

The book is a folder of static files, served by a thread of this process. JupyterLab is a child process in a session of
its own, so that Ctrl-C reaches us alone and we end it in good order; if we are killed outright, Linux ends it for us.
Both listen on 127.0.0.1 only, and JupyterLab asks for a token that is new each time.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from qkv import course
from qkv.commands import welcome

ROOT = course.root() or Path(__file__).resolve().parents[3]
BOOK = ROOT / "_build" / "html"
NOTEBOOKS = ROOT / "notebooks"
EXTENSIONS = Path(__file__).with_name("labextensions")
LAB_LOG = ROOT / "_build" / "jupyterlab.log"

HOST = "127.0.0.1"
DEFAULT_PORT = 8100
LAB_PATIENCE = 180.0  # seconds until we say that JupyterLab does not come up; a loaded laptop needs twenty
GRACE = 10.0  # seconds that JupyterLab gets to shut its kernels down

# What a page of the book is made from. Newer than the built book: build again.
BOOK_SOURCES = ("_config.yml", "_toc.yml", "book", "solutions", "src/qkv", "src/proctor/report")


class NotServing(Exception):
    """An error that keeps the course from being served; the message is for the person at the terminal."""


def serve_course(port: int | None = None, browser: bool = True) -> int:
    """Serve the book and JupyterLab until a signal ends us.

    Args:
        port: where the book is served; JupyterLab takes the next free port. Taken ports are skipped.
        browser: open JupyterLab in the browser, where there is a screen to show one.

    Returns:
        the exit code: 0 after Ctrl-C or SIGTERM, 1 when something did not come up or went down by itself.
    """
    try:
        if not NOTEBOOKS.is_dir():
            raise NotServing(f"no notebooks in {ROOT}: install the course from a clone, with `pip install -e .`.")
        ensure_book()
        stopping = stop_signals()
        book = book_server(port or DEFAULT_PORT)
        # JupyterLab first: a process that has threads should not fork
        with Lab(first_free_port(book.server_port + 1, "JupyterLab"), address(book)) as lab, book:
            book.cells = lab.cells
            lab.wait_until_it_answers(stopping)
            if stopping.is_set():
                return 0
            print(f"\nBook        {address(book)}\nJupyterLab  {lab.first_screen}\n\nCtrl-C ends both.", flush=True)
            if browser and has_screen():
                webbrowser.open(lab.first_screen)
            while not stopping.wait(0.5):
                lab.must_be_running()
            print("\nStopping JupyterLab and its kernels ...", flush=True)
        print("Stopped.", flush=True)
        return 0
    except NotServing as trouble:
        print(f"qkv start: {trouble}", file=sys.stderr, flush=True)
        return 1


def serve_book(port: int | None = None) -> int:
    """Serve the built book alone, until a signal ends us."""
    stopping = stop_signals()
    with book_server(port or DEFAULT_PORT) as book:
        print(f"Book  {address(book)}\nCtrl-C ends it.", flush=True)
        stopping.wait()
    return 0


# ---- the book


def book_is_stale() -> bool:
    """Is a source of the pages newer than the built book, or is nothing built yet?"""
    stamp = BOOK / ".built"
    if not stamp.exists():
        return True
    built = stamp.stat().st_mtime
    return any(path.stat().st_mtime > built for path in _book_sources())


def build_book() -> int:
    """Build the book, and store the time; returns the exit code."""
    from qkv.authoring.publish.publishing import publish_book

    began = time.time()
    code = publish_book()
    if code == 0:
        stamp = BOOK / ".built"
        stamp.touch()
        os.utime(stamp, (began, began))  # what changed while we were building counts as newer
    return code


def ensure_book() -> None:
    """Build the book where it is missing or stale."""
    if not book_is_stale():
        return
    print("Building the book ...", flush=True)
    if build_book() == 0:
        return
    if not (BOOK / "index.html").exists():
        raise NotServing("the book did not build (see above). `qkv book` tries again.")
    print("The book did not build (see above). You get the one that was built before.", file=sys.stderr, flush=True)


def _book_sources() -> Iterator[Path]:
    for name in BOOK_SOURCES:
        top = ROOT / name
        for path in [top, *top.rglob("*")] if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts and ".ipynb_checkpoints" not in path.parts:
                yield path


CELL = b'hidden data-cell="'  # of a link that a page has for JupyterLab: useless until somebody knows the address


class _Page(SimpleHTTPRequestHandler):
    """Static files without a line in the terminal for each, and without a stale copy in the browser after a rebuild.

    On pages, links to cells lead to the JupyterLab that is served beside them.
    """

    server: _BookServer

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() and self.path.endswith("/") else path
        if path.suffix != ".html" or not path.is_file() or not self.server.cells:
            return super().send_head()
        page = path.read_bytes().replace(CELL, f'target="_blank" href="{self.server.cells}'.encode())
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


class _BookServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # on Windows it would let two servers share a port
    cells = ""  # where JupyterLab shows notebooks, if it runs

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a reader who closes the page early is no error
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def __enter__(self) -> _BookServer:
        threading.Thread(target=self.serve_forever, name="book", daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()
        self.server_close()


def book_server(wanted: int) -> _BookServer:
    """A server of the built book on `wanted`, or on the next free port."""
    return _BookServer((HOST, first_free_port(wanted, "the book")), partial(_Page, directory=str(BOOK)))


def address(server: ThreadingHTTPServer) -> str:
    return f"http://{HOST}:{server.server_port}/"


# ---- JupyterLab


class Lab:
    """JupyterLab on the student edition, as a child process; leaving the `with` block ends it and its kernels."""

    def __init__(self, port: int, book: str = "") -> None:
        self.port, self.book = port, book
        self.token = secrets.token_hex(16)
        self.address = f"http://{HOST}:{port}/lab?token={self.token}"
        self.cells = f"http://{HOST}:{port}/lab/tree/"  # without the token: for a browser that has been let in

    @property
    def first_screen(self) -> str:
        """The address to open: the welcome page, if there are no tabs to come back to."""
        tabs = workspaces()
        return (
            self.address if tabs.is_dir() and any(tabs.iterdir()) else f"{self.cells}{welcome.NAME}?token={self.token}"
        )

    def __enter__(self) -> Lab:
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--ServerApp.ip={HOST}"]
        command += [f"--ServerApp.port={self.port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={NOTEBOOKS}"]
        command.append(f"--LabApp.extra_labextensions_path={EXTENSIONS}")
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--allow-root")
        if self.book:
            welcome.write_welcome(NOTEBOOKS, self.book)
        LAB_LOG.parent.mkdir(parents=True, exist_ok=True)
        with LAB_LOG.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=NOTEBOOKS,
                env=os.environ | self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=os.name != "nt",
                preexec_fn=_dies_with_us(),
            )
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.terminate()  # JupyterLab shuts its kernels down on SIGTERM
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            if os.name == "nt":
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _environment(self) -> dict[str, str]:
        """The token (here, since a command line can be read by every user), our settings, and a layout of our own."""
        settings = ROOT / "_build" / "jupyter"
        page = settings / "labconfig" / "page_config.json"
        page.parent.mkdir(parents=True, exist_ok=True)
        # no question about news, and no look-up on the network, at the first start
        page.write_text(json.dumps({"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}))
        # the welcome is to be read, not edited
        viewers = {"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}}}
        page.with_name("default_setting_overrides.json").write_text(json.dumps(viewers))
        path = os.pathsep.join(filter(None, [str(settings), os.environ.get("JUPYTER_CONFIG_PATH")]))
        return {
            "JUPYTER_TOKEN": self.token,
            "JUPYTER_CONFIG_PATH": path,
            "QKV_BOOK": self.book,  # for links from cards to the book
            "JUPYTERLAB_WORKSPACES_DIR": str(workspaces()),  # no tabs of other projects
        }

    def wait_until_it_answers(self, stopping: threading.Event) -> None:
        """Return when JupyterLab answers a request, or `stopping` is set."""
        opener = build_opener(ProxyHandler({}))  # a proxy knows nothing of our 127.0.0.1
        request = Request(f"http://{HOST}:{self.port}/api/status", headers={"Authorization": f"token {self.token}"})
        deadline = time.monotonic() + LAB_PATIENCE
        while not stopping.wait(0.1):
            self.must_be_running()
            try:
                with opener.open(request, timeout=5) as reply:
                    if reply.status == 200:
                        return
            except HTTPError as error:
                raise NotServing(f"port {self.port} answers, but not as our JupyterLab ({error}).") from error
            except (URLError, OSError):
                pass  # not listening yet
            if time.monotonic() > deadline:
                raise NotServing(f"JupyterLab was silent for {LAB_PATIENCE:.0f} s. Its log says:\n{self._last_words()}")

    def must_be_running(self) -> None:
        code = self.process.poll()
        if code is not None:
            raise NotServing(f"JupyterLab ended by itself (exit code {code}). Its log says:\n{self._last_words()}")

    def _last_words(self) -> str:
        lines = LAB_LOG.read_text(errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in lines[-15:])


def workspaces() -> Path:
    """The folder in which JupyterLab stores open tabs."""
    return ROOT / ".qkv" / "workspaces"


def _dies_with_us() -> Callable[[], object] | None:
    """A function for the child to call, on Linux, so that it ends when this process is killed."""
    if not sys.platform.startswith("linux"):
        return None
    return partial(ctypes.CDLL(None).prctl, 1, signal.SIGTERM)  # PR_SET_PDEATHSIG


# ---- ports, screens, signals


def first_free_port(wanted: int, what: str) -> int:
    """`wanted`, or the first free port above it; says so when it is another one. `what` is to be served there."""
    for port in range(wanted, min(wanted + 200, 65536)):
        with socket.socket() as probe:
            if os.name != "nt":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just left counts as free
            try:
                probe.bind((HOST, port))
            except OSError as error:
                if isinstance(error, PermissionError):
                    raise NotServing(f"port {port} needs rights that you don't have; choose one above 1023.") from error
                continue
        if port != wanted:
            print(f"Port {wanted} is taken; {what} is on {port}.", flush=True)
        return port
    raise NotServing(f"no free port from {wanted} on; choose another with --port.")


def has_screen() -> bool:
    """Is there a screen on which a browser could open?"""
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def stop_signals() -> threading.Event:
    """An event that is set by Ctrl-C, SIGTERM, or a closed terminal."""
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.set()

    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    return stopping
