"""Exercises that passed, asked for again from the empty stub: after some days, at equal intervals, a few times.

To write a thing again from nothing, days later, is what makes it stay; that the intervals grow has no effect that
studies found (Latimier and others 2021), so they are equal here.
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from qkv import exercises
from qkv.notebook.progress import load_progress

INTERVAL = timedelta(days=7)
MOST = 3  # times that an exercise is asked for again, and exercises that are asked for on one day
FILE = "review_{day}.py"


def due(today: date | None = None) -> list[str]:
    """The exercises to write again today: those that have waited longest first, a few at a time."""
    today = today or date.today()
    stored = load_progress()
    waiting = []
    for position, name in enumerate(exercises.of_code()):
        days = [stored["passed_on"].get(name), *stored["reviews"].get(name, [])]
        dates = [found for day in days if (found := as_date(day)) is not None]
        if stored["states"].get(name) == "passed" and dates and len(dates) <= MOST and today - max(dates) >= INTERVAL:
            waiting.append((max(dates), position, name))
    return [name for *_, name in sorted(waiting)][:MOST]


def as_date(text: object) -> date | None:
    """A day as it is stored; None for anything else."""
    try:
        return date.fromisoformat(str(text))
    except ValueError:
        return None


def is_review(path: Path) -> bool:
    """Is this a file that `qkv review` has written?"""
    return path.match(FILE.format(day="*"))
