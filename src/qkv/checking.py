"""What a student calls: `check` an answer, ask for a `hint`, see the `status`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

from proctor import Examiner, Result
from proctor.result import Explanation
from qkv import exercises, progress


def device() -> torch.device:
    """The best device here: CUDA, Apple's MPS, or the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def check(answer: Callable[..., Any]) -> Result:
    """Check an answer against its exercise, which is found by the answer's name.

    Parts that earlier exercises of the chapter built are the reference's while the check runs, so an earlier mistake
    does not show here.
    """
    name = answer if isinstance(answer, str) else getattr(answer, "__name__", None)
    if isinstance(answer, str) or not callable(answer) or name is None:
        raise TypeError(f"check takes the function or class itself, not {answer!r}. For example: check(softmax)")
    return check_named(name, answer)


def check_named(name: str, answer: Callable[..., Any]) -> Result:
    """Check an answer that may go by another name, such as a lambda."""
    examiner = _examiner(exercises.find(name).name)
    started = time.perf_counter()
    try:
        with earlier_parts(name, answer):
            observations = examiner.observations(answer, forbid=True)
        result = examiner.verdict(observations, time.perf_counter() - started)
    except Exception as error:  # ours, not theirs: theirs end up in observations
        sentence = f"The check itself failed ({type(error).__name__}: {error}). That is our fault; please report it."
        return Result(name, "fault", 0.0, 0, len(examiner.exercise.probes), explanations=(Explanation(sentence),))
    progress.record(result)
    return result


@cache
def _examiner(name: str) -> Examiner:
    return Examiner(exercises.find(name))


@contextmanager
def earlier_parts(name: str, answer: Callable[..., Any]) -> Iterator[None]:
    """While the block runs, the answer's namespace holds the reference's version of earlier exercises of the
    chapter."""
    namespace = namespace_of(answer)
    replaced = {e.name: e.reference for e in exercises.earlier(name) if e.name in namespace}
    before = {part: namespace[part] for part in replaced}
    namespace.update(replaced)
    try:
        yield
    finally:
        namespace.update(before)


def namespace_of(answer: Any) -> dict[str, Any]:
    """The globals that an answer's code sees; an empty dict if it has none."""
    functions = [answer, *vars(answer).values()] if isinstance(answer, type) else [answer]
    for function in functions:
        found = getattr(function, "__globals__", None)
        if found is not None and not function.__module__.startswith(("torch", "qkv.")):
            return found
    return {}


class Hint(str):
    """A hint that a notebook shows as text, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def hint(name: str | Callable[..., Any]) -> Hint:
    """The next hint for an exercise, gentlest first."""
    exercise = exercises.find(name if isinstance(name, str) else name.__name__)
    index = progress.next_hint(exercise.name, len(exercise.hints))
    return Hint(f"Hint {index + 1} of {len(exercise.hints)}: {exercise.hints[index]}")


def next_hint(name: str) -> str:
    return str(hint(name))


def status() -> progress.Status:
    """Progress over the course: a bar per chapter, and the next exercise."""
    return progress.Status.now()
