"""`qkv book`: the strict build of the HTML book, with a summary that a person can read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from qkv.authoring.course import AuthoringError, Course

ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
RAN = re.compile(r"Executing notebook|Executed notebook")
JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"  # the program of this very environment
TROUBLE = re.compile(r"\b(WARNING|ERROR|CRITICAL)\b|The book cannot be built|Exception occurred|Extension error")


def book(
    serve: bool = False,
    course: Course | None = None,
    say: Callable[[str], None] = print,
    port: int = 8100,
) -> int:
    """Build the book into `_build/html`; warnings are errors, and so is any cell that runs.

    Args:
        serve: afterwards serve it on localhost until Ctrl-C.
        course: the tree to work in; this one by default.
        say: takes the lines of the report.
        port: where to serve.
    """
    try:
        course = course or Course.here()
    except AuthoringError as error:
        say(str(error))
        return 1
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", JUPYTER_BOOK, "build", str(course.root), "--all", "-W", "-n", "--keep-going"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        cwd=course.root,
        env=_environment(course.root),
        check=False,
    )
    seconds = time.monotonic() - started
    log = ANSI.sub("", done.stdout + "\n" + done.stderr)
    html = course.root / "_build" / "html"
    (course.root / "_build").mkdir(exist_ok=True)
    (course.root / "_build" / "book.log").write_text(log, encoding="utf-8")
    troubles = report(log, done.returncode)
    for line in troubles:
        say(f"  {line}")
    if troubles:
        say(f"The book was not built cleanly ({seconds:.0f} s). The whole log: _build/book.log")
        return 1
    pages = len(list(html.rglob("*.html")))
    say(f"Book: {pages} pages in {seconds:.0f} s, no warnings, no cell run. {(html / 'index.html').as_uri()}")
    return _serve(html, port, say) if serve else 0


def report(log: str, returncode: int) -> list[str]:
    """What went wrong, one line each; nothing when the build is clean."""
    lines = log.splitlines()
    troubles = [line.strip() for line in lines if TROUBLE.search(line)]
    troubles += [f"a page ran code: {line.strip()}" for line in lines if RAN.search(line)]
    if returncode and not troubles:
        troubles = [line for line in lines if line.strip()][-15:]
    return list(dict.fromkeys(troubles))


def _environment(root: Path) -> dict[str, str]:
    paths = [str(root / "src"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def _serve(html: Path, port: int, say: Callable[[str], None]) -> int:
    with ThreadingHTTPServer(("127.0.0.1", port), partial(_Quiet, directory=str(html))) as server:
        say(f"Serving it at http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("Stopped.")
    return 0
