"""A student's progress, in one small file: `.qkv/progress.json` at the top of the course.

`QKV_PROGRESS` names another file, or `off` keeps nothing (used when editions are executed and tested).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from proctor.examining.result import Result
from qkv import exercises
from qkv.notebook import workspace

A_MINUTE = 60.0  # seconds that a hint is given to be thought about
PARTS = ("states", "hints", "mistakes", "steps", "last_hints", "passed_on", "reviews")
SKIPPED = "skipped"  # the student goes on with ours, and may come back


now: Callable[[], float] = time.time


def location() -> Path | None:
    """The progress file; None if progress is not stored."""
    chosen = os.environ.get("QKV_PROGRESS")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen)
    return (course_here() or Path.cwd()) / ".qkv" / "progress.json"


def course_here() -> Path | None:
    """The top of the course that the current folder is in, if it is in one."""
    return workspace.top(Path.cwd())


def load_progress() -> dict[str, Any]:
    """The stored progress. An unreadable file counts as empty, since the work itself is in the notebooks."""
    empty: dict[str, Any] = {part: {} for part in PARTS}
    path = location()
    if path is None or not path.exists():
        return empty
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {part: dict(stored.get(part, {})) for part in empty}
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return empty


@contextmanager
def _changing() -> Iterator[dict[str, Any]]:
    stored = load_progress()
    yield stored
    path = location()
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(json.dumps(stored, indent=1), encoding="utf-8")
        draft.replace(path)  # two kernels may check at once: a reader never sees half a file
    except OSError:
        pass  # a read-only course can still be worked through


def record(result: Result) -> None:
    """Store the state and the last mistakes of a result; an exercise that has passed stays passed."""
    if result.state == "fault":
        return
    with _changing() as stored:
        stored["last_hints"].pop(result.exercise, None)  # another attempt was made
        stored["mistakes"][result.exercise] = list(result.misconceptions)
        before = stored["states"].get(result.exercise)
        if result.state == "passed":
            stored["passed_on"].setdefault(result.exercise, date.today().isoformat())
        if before != "passed" and not (before == SKIPPED and result.state == "not_started"):
            stored["states"][result.exercise] = result.state
        steps = list(result.steps)
        if stored["steps"].get(result.exercise, {}).get("all") != steps:
            stored["steps"][result.exercise] = {"all": steps, "given": 0}


def next_step(name: str) -> str | None:
    """The next hint about the last mistake, each a step further; None if none is left."""
    with _changing() as stored:
        known = stored["steps"].get(name, {"all": [], "given": 0})
        if known["given"] >= len(known["all"]):
            return None
        known["given"] += 1
        return str(known["all"][known["given"] - 1])


def note_hint(name: str, text: str) -> None:
    """Store the hint that was given last, and when."""
    with _changing() as stored:
        stored["last_hints"][name] = {"text": text, "at": now()}


def hint_to_think_about(name: str) -> str:
    """The last hint, if it is less than a minute old and no attempt was made since; empty otherwise."""
    last = load_progress()["last_hints"].get(name, {})
    return str(last["text"]) if last and 0 <= now() - last["at"] < A_MINUTE else ""


def record_review(name: str) -> None:
    """Store that an exercise was written again today, from the empty stub, and passed."""
    with _changing() as stored:
        days = stored["reviews"].setdefault(name, [])
        if (today := date.today().isoformat()) not in days:
            days.append(today)


def mark_skipped(name: str) -> None:
    """Store that an exercise is skipped; one that has passed stays passed."""
    with _changing() as stored:
        if stored["states"].get(name) != "passed":
            stored["states"][name] = SKIPPED


def next_hint(name: str, order: Sequence[int]) -> int | None:
    """The index of the next hint, of those that are not used up, in this order; None if all are."""
    with _changing() as stored:
        used = stored["hints"].get(name, [])
        used = list(range(used)) if isinstance(used, int) else list(used)
        left = [index for index in order if index not in used]
        if left:
            stored["hints"][name] = [*used, left[0]]
    return left[0] if left else None


def exercise_after(name: str) -> str | None:
    """The exercise to go on with after this one: the next that is not done, or the first that was left out."""
    states, names = load_progress()["states"], exercises.names()
    later = names[names.index(name) + 1 :] + names[: names.index(name)]
    done = ("passed", SKIPPED)
    return next((n for n in later if states.get(n) not in done), None) or next(
        (n for n in later if states.get(n) == SKIPPED), None
    )
