"""The source of `qkv.mine`: the answer in the student's notebook if it passes its check now, and ours if not."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

from proctor.inside.running import Cell, Output, captured, run_cells
from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.live import named_in
from proctor.marking.submissions import read_submitted_file
from qkv import exercises
from qkv.assignments import SETUP
from qkv.notebook import places, progress
from qkv.notebook.checking import LIMITS, _examiner, live_marker


def own_part(name: str) -> Any:
    """The student's part of that name, or ours; a line says which."""
    if name.startswith("_") or name not in exercises.of_code():
        raise AttributeError(f"qkv.mine has the parts that exercises build, and {name} is none of them")
    notebook = places.notebook_name(exercises.chapter_of(name))
    own, ours = _cached(name, notebook), exercises.get_code(name).reference
    if own is None:
        if progress.load_progress()["states"].get(name) == "passed":
            print(
                f"{name} is ours: yours passed, and {notebook} has no such answer. "
                "If it is open, save it (Ctrl+S there), then run this cell again."
            )
        else:
            print(f"{name} is ours: there is none of yours that passes in {notebook}.")
        return ours
    if missing := sorted(init_attributes(ours) - names_in_code(own)):
        print(f"{name} is ours: yours passes, but has no {missing[0]}, which its stub has and other chapters ask for.")
        return ours
    print(f"{name} is yours, from {notebook}.")
    return own


def init_attributes(reference: Any) -> set[str]:
    """The attributes that a class gets in `__init__`, which its stub shows; a function has none."""
    (definition,) = ast.parse(inspect.getsource(reference)).body
    made = [part for part in getattr(definition, "body", ()) if getattr(part, "name", "") == "__init__"]
    attributes = [part for init in made for part in ast.walk(init) if isinstance(part, ast.Attribute)]
    return {part.attr for part in attributes if isinstance(part.ctx, ast.Store)}


def names_in_code(own: Any) -> set[str]:
    """Every name that the code of an answer has, and of the classes that it is made from."""
    return set().union(*map(named_in, own.__mro__ if isinstance(own, type) else [own]))


_found: dict[str, tuple[object, Any | None]] = {}


def _cached(name: str, notebook: str) -> Any | None:
    """The cached result of `passed_in`: the same object until a notebook changes. A part that imports another then
    shares its classes."""
    folder = Path(progress.course_here() or ".") / "notebooks"
    builds_on = [path for path in sorted(folder.glob("*.ipynb")) if path.name <= notebook]
    state = [(str(path), path.stat().st_mtime_ns) for path in builds_on]
    if name not in _found or _found[name][0] != state:
        _found[name] = state, passed_in(name, notebook)
    return _found[name][1]


def passed_in(name: str, notebook: str) -> Any | None:
    """The answer in a notebook of this course, if it passes; else None."""
    course = progress.course_here()
    path = Path(course or ".") / "notebooks" / notebook
    if course is None or not path.is_file():
        return None
    answers = Answers([extract(read_submitted_file(path.name, path))])
    if not answers.makes(0, name):
        return None
    names: dict[str, Any] = {"__name__": "mine"}
    with captured(Output(LIMITS.kept_output, LIMITS.output_bytes)):
        run_cells([Cell("setup", SETUP), *answers.slice(0, (name,)).cells()], names)
    own = names.get(name)
    if not callable(own):
        return None
    marker = live_marker(name, own, _examiner(name))
    marker.mark()
    return own if marker.results[name].state == "passed" else None
