"""The cells that this notebook's kernel has run, and newer versions of an answer that failed.

A kernel keeps the old function when the cell with its new version fails. A verdict on that would be about code that is
no longer on the screen.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NoReturn

from proctor.inside.observe import source_file_of
from proctor.marking.extraction import definitions_in
from proctor.source.statements import Statement

MOST_CELLS = 2000  # that are stored


@dataclass(frozen=True)
class CellRun:
    """One cell that was run: its text as Python, and the exception, if it failed."""

    text: str
    error: BaseException | None = None
    cell: str | None = None  # the cell's id in the notebook, if the kernel was told

    @property
    def why(self) -> str:
        """`SyntaxError in line 2: '(' was never closed`."""
        if isinstance(self.error, SyntaxError):
            line = f" in line {self.error.lineno}" if self.error.lineno else ""
            return f"SyntaxError{line}: {self.error.msg}"
        return f"{type(self.error).__name__}: {self.error}".rstrip(": ")


_cells: list[CellRun] = []
callbacks: list[Callable[[CellRun], None]] = []
BANNER = "qkv-missing"


def on_cell_run(result: Any) -> None:
    """Record a cell, and call the callbacks; IPython calls this after each cell."""
    info = getattr(result, "info", None)
    text = getattr(info, "raw_cell", None)
    if isinstance(text, str) and text.strip():
        error = result.error_before_exec or result.error_in_exec
        _cells.append(CellRun(as_python(text), error, getattr(info, "cell_id", None)))
        del _cells[:-MOST_CELLS]
        for callback in callbacks:
            callback(_cells[-1])


def as_python(text: str) -> str:
    """A cell as it is compiled, without IPython's magics."""
    shell = interactive()
    try:
        return str(shell.transform_cell(text)) if shell is not None else text
    except SyntaxError:
        return text


def interactive() -> Any | None:
    """IPython's shell, if we are in one. It is not imported for this."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


@contextmanager
def kept_alive() -> Iterator[None]:
    """Make `exit()` and `quit()` end the code that calls them inside the block, and not the kernel afterwards."""
    shell = interactive()
    if shell is None:
        yield
        return

    def leave() -> NoReturn:
        raise SystemExit("`exit()` would end the kernel: return instead")

    before = vars(shell).get("ask_exit")
    shell.ask_exit = leave
    try:
        yield
    finally:
        if before is None:
            del shell.ask_exit
        else:
            shell.ask_exit = before


def install_hook() -> None:
    """Register `on_cell_run` with IPython, once."""
    shell = interactive()
    if shell is not None and on_cell_run not in shell.events.callbacks["post_run_cell"]:
        shell.events.register("post_run_cell", on_cell_run)


def show_missing(missing: dict[str, str]) -> None:
    """Show a banner, below the cell that imported us, with the exercises that cells needed and are not written yet."""
    from IPython.display import HTML, display

    listed = ", ".join(f'<a href="{escape(link)}"><code>{escape(name)}</code></a>' for name, link in missing.items())
    first = escape(next(iter(missing), ""))
    text = (
        f'<div role="status" style="border-left:5px solid #7d4e00;padding:.4rem .8rem"><b>Not written yet:</b>'
        f" {listed}. Cells that need one of them stop with <code>NotImplementedError</code>; all others run. "
        f'<code>skip("{first}")</code> goes on with ours.</div>'
    )
    display(HTML(text if missing else ""), display_id=BANNER, update=True)


def newer_version_that_failed(name: str, answer: Any) -> CellRun | None:
    """The newest cell that was to define `name`, if it failed and the answer is not what it defined."""
    newest = next((cell for cell in reversed(_cells) if mentions(cell.text, name)), None)
    if newest is None or newest.error is None:
        return None
    came_from = "".join(linecache.getlines(source_file_of(answer)))
    return None if came_from.strip() == newest.text.strip() else newest


def newer_version_without(name: str, answer: Any) -> CellRun | None:
    """The newest run of the cell that the answer came from, if that cell no longer defines `name`: it was given another
    name, and the kernel still has the old one."""
    came_from = "".join(linecache.getlines(source_file_of(answer))).strip()
    origin = next((cell for cell in reversed(_cells) if came_from and cell.text.strip() == came_from), None)
    if origin is None or origin.cell is None:
        return None
    newest = next(cell for cell in reversed(_cells) if cell.cell == origin.cell)
    return None if mentions(newest.text, name) else newest


def definitions_before(answer: Any) -> tuple[Statement, ...]:
    """The definitions of the notebook's other cells in order, which an answer may use. Of a function defined several
    times, and of a cell run several times, the newest version."""
    own = "".join(linecache.getlines(source_file_of(answer))).strip()
    texts = dict.fromkeys(reversed([cell.text for cell in _cells if cell.text.strip() != own] if own else []))
    found: list[Statement] = []
    bound: set[str] = set()
    for text in texts:
        try:
            here = [d for d in definitions_in("", text) if not is_function(d) or not d.binds <= bound]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        found[:0] = [replace(d, place=f"`{min(d.binds, default='')}`") for d in here]
        bound.update(*(d.binds for d in here if is_function(d)))
    return tuple(found)


def is_function(definition: Statement) -> bool:
    """A function or a class, which takes the place of an earlier one of its name, whatever that was."""
    return re.match(r"(async\s+)?def\b|class\b|@", definition.text) is not None


def mentions(text: str, name: str) -> bool:
    """Does this cell bind the name at its top level?"""
    try:
        return any(name in definition.binds for definition in definitions_in("", text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return re.search(rf"^(?:(?:async\s+)?def|class)\s+{name}\b|^{name}\s*=", text, re.M) is not None
