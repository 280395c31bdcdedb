"""The course's exercises: one file per chapter, in the order in which a student meets them."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from proctor import Exercise, WeightsExercise
from proctor.examining.exercise import Question
from qkv import course

CHAPTERS = tuple(entry.stem for entry in course.entries())  # stems, in course order


class UnknownExercise(LookupError):
    """No exercise of that name."""


@cache
def chapters() -> dict[str, list[Question]]:
    """Chapter stem -> its exercises, both in course order."""
    return {stem: of_chapter(stem) for stem in CHAPTERS}


def of_chapter(stem: str) -> list[Question]:
    """The exercises of a chapter, in order; none if it has no file of its own here.

    Weights come last, wherever the file imports them: they are what the chapter's code is for.
    """
    if find_spec(f"qkv.exercises.{stem}") is None:
        return []
    module = import_module(f"qkv.exercises.{stem}")
    found = [value for value in vars(module).values() if isinstance(value, Question)]
    return sorted(found, key=lambda exercise: isinstance(exercise, WeightsExercise))


@cache
def _by_name() -> dict[str, tuple[str, Question]]:
    return {exercise.name: (stem, exercise) for stem, found in chapters().items() for exercise in found}


def names() -> list[str]:
    """All exercises, however they are answered."""
    return list(_by_name())


def of_code() -> list[str]:
    """Those that a function or a class answers."""
    return [name for name, (_, exercise) in _by_name().items() if isinstance(exercise, Exercise)]


def of_weights() -> dict[str, WeightsExercise]:
    """Those that a file of weights answers."""
    return {name: found for name, (_, found) in _by_name().items() if isinstance(found, WeightsExercise)}


def asked(name: str) -> Question:
    """The exercise of that name; a near miss is told what it may have meant."""
    return _entry(name)[1]


def find(name: str) -> Exercise:
    """The exercise of that name, which a function or a class answers."""
    exercise = asked(name)
    if not isinstance(exercise, Exercise):
        raise UnknownExercise(f"{name} is answered by weights, not by code: train a model and hand them in.")
    return exercise


def chapter_of(name: str) -> str:
    return _entry(name)[0]


def earlier(name: str) -> list[Question]:
    """The exercises that come before this one in its chapter: a later one may build on them."""
    found = chapters()[chapter_of(name)]
    return found[: [e.name for e in found].index(name)]


def _entry(name: str) -> tuple[str, Question]:
    if name in _by_name():
        return _by_name()[name]
    near = difflib.get_close_matches(name, names(), n=3, cutoff=0.5)
    advice = f"Did you mean {' or '.join(near)}?" if near else f"The exercises are: {', '.join(names())}."
    raise UnknownExercise(f"there is no exercise {name!r}. {advice}")
