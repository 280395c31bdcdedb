"""`qkv book`: the strict build of the HTML book, with a summary that a person can read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from qkv.authoring.publish.how_far import HowFar
from qkv.course import AuthoringError, Course

ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
RAN = re.compile(r"Executing notebook|Executed notebook")
JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"  # the program of this very environment
TROUBLE = re.compile(r"\b(WARNING|ERROR|CRITICAL)\b|The book cannot be built|Exception occurred|Extension error")


def publish_book(course: Course | None = None, say: Callable[[str], None] = print, out: Path | None = None) -> int:
    """Build the book into `_build/html`; warnings are errors, and so is any cell that runs.

    Args:
        course: the tree to work in; this one by default.
        say: takes the lines of the report.
        out: the folder that gets `_build`; the course's own by default.

    Returns:
        0, or 1 after printing the reasons.
    """
    try:
        course = course or Course.here()
    except AuthoringError as error:
        say(str(error))
        return 1
    built = (out or course.root) / "_build"
    strict = ["--all", "-W", "-n", "--keep-going"]
    started = time.monotonic()
    how_far = HowFar()
    lines: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-c", JUPYTER_BOOK, "build", str(course.root), "--path-output", str(built.parent), *strict],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        cwd=course.root,
        env=_environment(course.root),
    ) as process:
        for line in process.stdout or ():
            lines.append(ANSI.sub("", line))
            how_far.on(lines[-1])
    how_far.end()
    seconds = time.monotonic() - started
    log = "".join(lines)
    built.mkdir(parents=True, exist_ok=True)
    (built / "book.log").write_text(log, encoding="utf-8")
    troubles = build_faults(log, process.returncode)
    for line in troubles:
        say(f"  {line}")
    if troubles:
        say(f"The book was not built cleanly ({seconds:.0f} s). The whole log: {built / 'book.log'}")
        return 1
    pages = len(list((built / "html").rglob("*.html")))
    say(f"Book: {pages} pages in {seconds:.0f} s, no warnings, no cell run: {built / 'html' / 'index.html'}")
    return 0


def build_faults(log: str, returncode: int) -> list[str]:
    """The faults of a build, one line each; empty for a clean build."""
    lines = re.sub(r":\n(?=\S)", ": ", log).splitlines()  # Sphinx puts an error's text on the next line
    troubles = [line.strip() for line in lines if TROUBLE.search(line)]
    troubles += [f"a page ran code: {line.strip()}" for line in lines if RAN.search(line)]
    if returncode and not troubles:
        troubles = [line for line in lines if line.strip()][-15:]
    return list(dict.fromkeys(troubles))


def _environment(root: Path) -> dict[str, str]:
    paths = [str(root / "src"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path), "PYTHONUNBUFFERED": "1"}
