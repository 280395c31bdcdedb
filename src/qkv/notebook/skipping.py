"""`skip` an exercise, `reset` one to its stub, and the list of those that a notebook still misses."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qkv import exercises, model
from qkv.notebook import kernel, places, progress


class Note(str):
    """A sentence that a notebook shows as text, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def skip(name: str | Callable[..., Any]) -> Note:
    """Go on with our version of an exercise. It counts as skipped until you have written your own."""
    name = exercises.name_of(name)
    if name in exercises.of_weights():
        progress.mark_skipped(name)
        return Note(f"Exercise {places.exercise_number(name)} is skipped: it is there when you come back with weights.")
    exercise = exercises.get_code(name)
    notebook = vars(sys.modules["__main__"])
    notebook[exercise.name] = exercise.reference
    progress.mark_skipped(exercise.name)
    if missing.pop(exercise.name, None) is not None:
        kernel.show_missing(missing)
    number = places.exercise_number(exercise.name)
    return Note(
        f"Exercise {number} is skipped: from here on `{exercise.name}` is ours. To come back, write yours in its cell, "
        "run it, and check it."
    )


def reset(name: str | Callable[..., Any]) -> Note:
    """Give the stub of an exercise again: in a notebook this very cell turns into it, so that nothing of yours is
    overwritten."""
    exercise = exercises.get(exercises.name_of(name))
    stub = stub_of(exercise.name)
    shell = kernel.interactive()
    if shell is None:
        return Note(stub)
    shell.set_next_input(stub, replace=True)
    return Note(
        f"This cell is the stub of `{exercise.name}` now. What you wrote is still in the cell where you wrote it."
    )


SKIP_CALL = re.compile(r"skip\('(\w+)'\)")
missing: dict[str, str] = {}


def track_missing(cell: kernel.CellRun) -> None:
    """Update the list of missing exercises after each cell: it may have stopped at one, or have written one."""
    before = dict(missing)
    if isinstance(cell.error, NotImplementedError) and (found := SKIP_CALL.search(str(cell.error))):
        missing[found[1]] = places.cell_link(found[1])
    for name in [n for n in missing if kernel.mentions(cell.text, n) and not has_stub_body(cell.text)]:
        del missing[name]
    if missing != before:
        kernel.show_missing(missing)


def one_line(shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: Any = None) -> None:
    """Show one line, and no frames of ours, for a cell that needs an exercise which is not written."""
    if found := SKIP_CALL.search(str(error)):
        lines = [f"NotImplementedError: {found[1]} is not written yet. Write it, or skip('{found[1]}')."]
    else:
        lines = shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=tb_offset)
    shell._showtraceback(kind, str(error), lines)  # IPython leaves showing to whoever handles an exception


def has_stub_body(text: str) -> bool:
    return "raise NotImplementedError" in text


def stub_of(name: str) -> str:
    """The stub of an exercise, as handed out."""
    from qkv.authoring.build.definitions import definition

    if name in exercises.of_weights():
        return exercises.get_weights(name).stub
    return definition(Path(model.__path__[0], f"{exercises.chapter_of(name)}.py"), name).stub
