"""The course's exercises: `<stem>/<exercise>.py` has one of them as `exercise`, `<stem>/__init__.py` their order.

An exercise is imported when it is asked for. What there is, and in what order, is known without importing any.
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from proctor import Exercise, WeightsExercise
from proctor.examining.exercise import Question
from qkv import course
from qkv.exercises.one_sentence import OneSentence

CHAPTERS = tuple(entry.stem for entry in course.entries())  # stems, in course order


class UnknownExercise(OneSentence, LookupError):
    """No exercise of that name."""


@cache
def _order() -> dict[str, tuple[str, ...]]:
    """Chapter stem -> the names of its exercises, both in course order."""
    found = {stem: f"{__name__}.{stem}" for stem in CHAPTERS}
    return {stem: import_module(name).EXERCISES if find_spec(name) else () for stem, name in found.items()}


@cache
def _stems() -> dict[str, str]:
    """Exercise -> its chapter's stem."""
    return {name: stem for stem, names in _order().items() for name in names}


@cache
def _weights() -> frozenset[str]:
    """The names of those that a file of weights answers."""
    packages = [import_module(f"{__name__}.{stem}") for stem, names in _order().items() if names]
    return frozenset(name for package in packages for name in getattr(package, "WEIGHTS", ()))


def chapters() -> dict[str, list[Question]]:
    """Chapter stem -> its exercises, both in course order. This imports all of them."""
    return {stem: of_chapter(stem) for stem in CHAPTERS}


def of_chapter(stem: str) -> list[Question]:
    """The exercises of a chapter, in order."""
    return [get(name) for name in names_of(stem)]


def names_of(stem: str) -> tuple[str, ...]:
    """The names of a chapter's exercises, in order; none if it has no package of its own here."""
    return _order()[stem]


def names() -> list[str]:
    """All exercises, however they are answered."""
    return list(_stems())


def of_code() -> list[str]:
    """The names of those that a function or a class answers."""
    return [name for name in _stems() if name not in _weights()]


def of_weights() -> list[str]:
    """The names of those that a file of weights answers."""
    return [name for name in _stems() if name in _weights()]


def get(name: str) -> Question:
    """The exercise of that name, however it is answered.

    Raises:
        UnknownExercise: there is none; it says which names are near.
    """
    question = import_module(f"{__name__}.{chapter_of(name)}.{name}").exercise
    assert isinstance(question, Question)
    return question


def name_of(exercise: object) -> str:
    """The name that somebody means who hands over a name, or a function or a class that has one.

    Raises:
        UnknownExercise: it is neither.
    """
    name = exercise if isinstance(exercise, str) else getattr(exercise, "__name__", None)
    if not isinstance(name, str):
        raise UnknownExercise(f'an exercise goes by its name, as in hint("softmax"), not by {exercise!r}.')
    return name


def get_code(name: str) -> Exercise:
    """The exercise of that name, which a function or a class answers."""
    exercise = get(name)
    if not isinstance(exercise, Exercise):
        raise UnknownExercise(f"{name} is answered by weights, not by code: train a model and hand them in.")
    return exercise


def get_weights(name: str) -> WeightsExercise:
    """The exercise of that name, which a file of weights answers."""
    exercise = get(name)
    if not isinstance(exercise, WeightsExercise):
        raise UnknownExercise(f"{name} is answered by code, not by weights.")
    return exercise


def chapter_of(name: str) -> str:
    """The stem of the chapter that has the exercise."""
    if name in _stems():
        return _stems()[name]
    near = difflib.get_close_matches(name, names(), n=3, cutoff=0.5)
    advice = f"Did you mean {' or '.join(near)}?" if near else f"The exercises are: {', '.join(names())}."
    raise UnknownExercise(f"there is no exercise {name!r}. {advice}")
