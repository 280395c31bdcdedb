"""What a student has done so far, in one small file: `.qkv/progress.json` at the top of the course.

`QKV_PROGRESS` names another file, or `off` keeps nothing (used when editions are executed and tested).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from proctor.examining.result import IN_WORDS, Result
from qkv import exercises

BAR = 20


def location() -> Path | None:
    """Where progress is kept, or None if it is not."""
    chosen = os.environ.get("QKV_PROGRESS")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen)
    return (course_here() or Path.cwd()) / ".qkv" / "progress.json"


def course_here() -> Path | None:
    """The top of the course that the current folder is in, if it is in one."""
    here = Path.cwd()
    tops = (folder for folder in (here, *here.parents) if (folder / "_toc.yml").exists())
    return next((folder for folder in tops if (folder / "notebooks").is_dir()), None)


def load() -> dict[str, Any]:
    """What is kept; an unreadable file counts as empty, since the work itself is in the notebooks."""
    path = location()
    if path is None or not path.exists():
        return {"states": {}, "hints": {}, "steps": {}}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return {"states": dict(kept["states"]), "hints": dict(kept["hints"]), "steps": dict(kept.get("steps", {}))}
    except (ValueError, KeyError, TypeError, OSError):
        return {"states": {}, "hints": {}, "steps": {}}


@contextmanager
def _changing() -> Iterator[dict[str, Any]]:
    kept = load()
    yield kept
    path = location()
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        draft.replace(path)  # two kernels may check at once: a reader never sees half a file
    except OSError:
        pass  # a read-only course can still be worked through


def record(result: Result) -> None:
    """Remember the state; what has once passed stays passed."""
    if result.state == "fault":
        return
    with _changing() as kept:
        if kept["states"].get(result.exercise) != "passed":
            kept["states"][result.exercise] = result.state
        steps = list(result.steps)
        if kept["steps"].get(result.exercise, {}).get("all") != steps:
            kept["steps"][result.exercise] = {"all": steps, "given": 0}


def next_step(name: str) -> str | None:
    """The next hint about the mistake that was made last, each a step further; None if there is none left."""
    with _changing() as kept:
        known = kept["steps"].get(name, {"all": [], "given": 0})
        if known["given"] >= len(known["all"]):
            return None
        known["given"] += 1
        return str(known["all"][known["given"] - 1])


def next_hint(name: str, available: int) -> int:
    """The index of the hint to show now; the last one is repeated."""
    with _changing() as kept:
        index = min(int(kept["hints"].get(name, 0)), available - 1)
        kept["hints"][name] = index + 1
    return index


@dataclass(frozen=True)
class Status:
    """Progress by chapter: (stem, [(exercise, state)])."""

    chapters: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]

    @classmethod
    def now(cls) -> Status:
        states = load()["states"]
        return cls(
            tuple(
                (stem, tuple((e.name, states.get(e.name, "not_started")) for e in found))
                for stem, found in exercises.chapters().items()
            )
        )

    @property
    def next_exercise(self) -> str | None:
        return next((name for _, found in self.chapters for name, state in found if state != "passed"), None)

    def __str__(self) -> str:
        lines = []
        for number, (stem, found) in enumerate(self.chapters, 1):
            done = sum(state == "passed" for _, state in found)
            bar = "█" * round(BAR * done / len(found)) + "░" * (BAR - round(BAR * done / len(found)))
            lines.append(f"{number:02} {stem:12} {bar} {done} of {len(found)}")
        return "\n".join([*lines, self._next_line])

    @property
    def _next_line(self) -> str:
        name = self.next_exercise
        return f"Next: {name}, in chapter {exercises.chapter_of(name)}." if name else "All exercises passed."

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        rows = []
        for number, (stem, found) in enumerate(self.chapters, 1):
            done = sum(state == "passed" for _, state in found)
            details = ", ".join(f"{name}: {IN_WORDS.get(state, state)}" for name, state in found)  # type: ignore[call-overload]
            rows.append(
                f'<div title="{escape(details)}" style="display:flex;gap:.8em;align-items:center;margin:.2em 0">'
                f'<span style="width:9em">{number:02} {escape(stem)}</span>'
                f'<progress max="{len(found)}" value="{done}" aria-label="{escape(stem)}"></progress>'
                f"<span>{done} of {len(found)}</span></div>"
            )
        return f'<div class="qkv-status">{"".join(rows)}<p>{escape(self._next_line)}</p></div>'


def status_text() -> str:
    return str(Status.now())
