"""The course's exercises: one file per chapter, in the order in which a student meets them."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from proctor import Exercise
from qkv import course

CHAPTERS = tuple(entry.stem for entry in course.entries())  # stems, in course order


class UnknownExercise(LookupError):
    """No exercise of that name."""


@cache
def chapters() -> dict[str, list[Exercise]]:
    """Chapter stem -> its exercises, both in course order."""
    return {stem: of_chapter(stem) for stem in CHAPTERS}


def of_chapter(stem: str) -> list[Exercise]:
    """The exercises of a chapter, in order; none if it has no file of its own here."""
    if find_spec(f"qkv.exercises.{stem}") is None:
        return []
    module = import_module(f"qkv.exercises.{stem}")
    return [value for value in vars(module).values() if isinstance(value, Exercise)]


@cache
def _by_name() -> dict[str, tuple[str, Exercise]]:
    return {exercise.name: (stem, exercise) for stem, found in chapters().items() for exercise in found}


def names() -> list[str]:
    return list(_by_name())


def find(name: str) -> Exercise:
    """The exercise of that name; a near miss is told what it may have meant."""
    return _entry(name)[1]


def chapter_of(name: str) -> str:
    return _entry(name)[0]


def earlier(name: str) -> list[Exercise]:
    """The exercises that come before this one in its chapter: a later one may build on them."""
    found = chapters()[chapter_of(name)]
    return found[: [e.name for e in found].index(name)]


def _entry(name: str) -> tuple[str, Exercise]:
    if name in _by_name():
        return _by_name()[name]
    near = difflib.get_close_matches(name, names(), n=3, cutoff=0.5)
    advice = f"Did you mean {' or '.join(near)}?" if near else f"The exercises are: {', '.join(names())}."
    raise UnknownExercise(f"there is no exercise {name!r}. {advice}")
