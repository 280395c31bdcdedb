"""`qkv start`: the book and JupyterLab on the student's notebooks, served together until Ctrl-C.

The book is a folder of static files, served by a thread of this process. JupyterLab is a child process in a session of
its own, so that Ctrl-C reaches us alone and we end it in good order; if we are killed outright, Linux ends it for us.
Both listen on 127.0.0.1 only, and JupyterLab asks for a token that is new each time. Nobody waits for the book: in a
clone it is built beside JupyterLab, and its address says how far it is until it is there.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from qkv.commands.book_server import STAMP, BookBuild, BookServer, book_is_stale
from qkv.commands.lab import Lab
from qkv.commands.ports import NotServing, first_free_port
from qkv.notebook.workspace import NoWorkspace, Workspace, begin, find_workspace, has_newer_edition

DEFAULT_PORT = 8100


def serve_course(port: int | None = None, browser: bool = True, place: Workspace | None = None) -> int:
    """Serve the book and JupyterLab until a signal ends us.

    Args:
        port: where the book is served; JupyterLab takes the next free port. Taken ports are skipped.
        browser: open JupyterLab in the browser, where there is a screen to show one.
        place: the workspace; that of the current folder by default.

    Returns:
        the exit code: 0 after Ctrl-C or SIGTERM, 1 when something did not come up or went down by itself.
    """
    began = time.monotonic()
    try:
        place = place or find_workspace()
        if begin(place):
            print(f"Your notebooks: {place.notebooks}", flush=True)
        elif has_newer_edition(place):
            print(
                "A newer edition of the course is installed: `qkv update` puts it here, with your answers.", flush=True
            )
        stopping = stop_signals()
        book = BookServer(place.book, port or DEFAULT_PORT)
        with ExitStack() as running:
            # JupyterLab first: a process that has threads should not fork
            lab = Lab(place, first_free_port(book.server_port + 1, "JupyterLab"), book.address)
            running.enter_context(lab)
            running.enter_context(book)
            book.cells = lab.cells
            if place.is_clone and book_is_stale(place.root):
                book.build = running.enter_context(BookBuild(place.root))
            lab.wait_until_it_answers(stopping)
            if stopping.is_set():
                return 0
            print(f"\nBook        {book.address}{_being_built(book)}\nJupyterLab  {lab.first_screen}", flush=True)
            print(f"\nReady after {time.monotonic() - began:.0f} s. Ctrl-C ends both.", flush=True)
            if browser and has_screen():
                webbrowser.open(lab.first_screen)
            while not stopping.wait(0.5):
                lab.must_be_running()
            print("\nStopping JupyterLab and its kernels ...", flush=True)
        print("Stopped.", flush=True)
        return 0
    except (NotServing, NoWorkspace) as trouble:
        print(f"qkv start: {trouble}", file=sys.stderr, flush=True)
        return 1


def _being_built(book: BookServer) -> str:
    if book.build is None or not book.build.running:
        return ""
    return "   (an older one, until the new one is built)" if book.has_pages else "   (being built; its pages say when)"


def serve_book(place: Workspace, port: int | None = None) -> int:
    """Serve the built book alone, until a signal ends us."""
    stopping = stop_signals()
    with BookServer(place.book, port or DEFAULT_PORT) as book:
        print(f"Book  {book.address}\nCtrl-C ends it.", flush=True)
        stopping.wait()
    return 0


def build_book(root: Path) -> int:
    """Build the book of a clone, and store the time; returns the exit code."""
    from qkv.authoring.publish.publishing import publish_book

    began = time.time()
    code = publish_book()
    if code == 0:
        stamp = root / "_build" / "html" / STAMP
        stamp.touch()
        os.utime(stamp, (began, began))  # what changed while we were building counts as newer
    return code


# ---- screens, signals


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
