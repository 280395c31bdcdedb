"""Never stuck: `skip` an exercise and go on with ours, `reset` one to its stub."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import torch

from proctor.forbid.replace import look_up
from proctor.inside.warmup import stub_compiler
from qkv import exercises, model
from qkv.notebook import kernel, machine, places, progress

NOTEBOOK = "JPY_SESSION_NAME"  # where Jupyter tells a kernel which notebook it serves
# Our figures are drawn in dark ink on no ground, and say so. JupyterLab's dark theme then puts a white box behind them;
# as on the book's pages, their lightness is turned round instead, and hues stay what they are.
DARK = (
    "[data-jp-theme-light=false] .jp-needs-light-background"
    "{background:none!important;filter:invert(1) hue-rotate(180deg)}"
)


class Note(str):
    """A sentence that a notebook shows as text, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def skip(name: str | Callable[..., Any]) -> Note:
    """Go on with our version of an exercise. It counts as skipped until you have written your own."""
    if name in exercises.of_weights():
        progress.skip(str(name))
        return Note(f"Exercise {places.number(str(name))} is skipped: it is there when you come back with weights.")
    exercise = exercises.get_code(name if isinstance(name, str) else name.__name__)
    notebook = vars(sys.modules["__main__"])
    notebook[exercise.name] = exercise.reference
    progress.skip(exercise.name)
    if _missing.pop(exercise.name, None) is not None:
        kernel.tell(_missing)
    return Note(
        f"Exercise {places.number(exercise.name)} is skipped: from here on `{exercise.name}` is ours. To come back, "
        "write yours in its cell, run it, and check it."
    )


def reset(name: str | Callable[..., Any]) -> Note:
    """Give the stub of an exercise again: in a notebook this very cell turns into it, so that nothing of yours is
    overwritten."""
    exercise = exercises.get(name if isinstance(name, str) else name.__name__)
    stub = stub_of(exercise.name)
    shell = kernel.interactive()
    if shell is None:
        return Note(stub)
    shell.set_next_input(stub, replace=True)
    return Note(
        f"This cell is the stub of `{exercise.name}` now. What you wrote is still in the cell where you wrote it."
    )


WAITS = re.compile(r"skip\('(\w+)'\)")
_missing: dict[str, str] = {}


def notice(cell: kernel.Ran) -> None:
    """After each cell: has it stopped at an exercise that is not written, or written one?"""
    before = dict(_missing)
    if isinstance(cell.error, NotImplementedError) and (found := WAITS.search(str(cell.error))):
        _missing[found[1]] = places.cell(found[1])
    for name in [n for n in _missing if kernel.mentions(cell.text, n) and not is_stub(cell.text)]:
        del _missing[name]
    if _missing != before:
        kernel.tell(_missing)


def is_stub(text: str) -> bool:
    return "raise NotImplementedError" in text


def welcome() -> None:
    """A notebook computes where it is told; where progress is kept, `skip` and `reset` are there, and so is a place on
    top for what is missing.

    What is shown is shown again when the cell is run again, which clears it.
    """
    shell = kernel.interactive()
    if shell is not None:
        machine.settle()
    if shell is None or progress.location() is None:
        return
    if notice not in kernel.listeners:
        kernel.listeners.append(notice)
        warm_up()
        shell.user_ns.setdefault("skip", skip)
        shell.user_ns.setdefault("reset", reset)
    shell.display_pub.publish({"text/html": "", "text/plain": ""}, transient={"display_id": kernel.BANNER})
    address = places.page_of_notebook(os.environ.get(NOTEBOOK, ""))
    link = f'<a href="{escape(address)}" target="_blank">This chapter in the book</a>' if address else ""
    shell.display_pub.publish({"text/html": f"<style>{DARK}</style>{link}", "text/plain": address})
    if _missing:
        kernel.tell(_missing)


def warm_up() -> None:
    """Do before a check what takes a second: torch loads what the first operation on its `meta` device needs, and all
    of it is looked through for what exercises may forbid. Not in a thread: a cell of the student's that imports parts
    of torch meanwhile would meet a lock."""
    stub_compiler.leave_out()
    torch.empty(1, device="meta").sub(1)
    look_up(())


def stub_of(name: str) -> str:
    """An exercise as it was handed out."""
    from qkv.authoring.build.definitions import definition

    if name in exercises.of_weights():
        return exercises.get_weights(name).stub
    return definition(Path(model.__path__[0], f"{exercises.chapter_of(name)}.py"), name).stub
