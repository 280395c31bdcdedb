"""What a student calls: `check` an answer, ask for a `hint`, see the `status`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch

from proctor import Examiner, Result
from proctor.answers import Answers, Cut
from proctor.extraction import extract
from proctor.report import terminal
from proctor.result import IN_WORDS, STATES, Explanation
from proctor.submissions import read
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
    parts = {e.name: e.reference for e in exercises.earlier(name)}
    before = {part: namespace[part] for part in parts if part in namespace}
    namespace.update(parts)
    try:
        yield
    finally:
        for part in parts:
            del namespace[part]
        namespace.update(before)


def namespace_of(answer: Any) -> dict[str, Any]:
    """The globals that an answer's code sees; an empty dict if it has none."""
    functions = [answer, *vars(answer).values()] if isinstance(answer, type) else [answer]
    for function in functions:
        found = getattr(function, "__globals__", None)
        if found is not None and not str(function.__module__).startswith(("torch", "qkv.")):
            return found
    return {}


def check_paths(paths: Sequence[Path]) -> int:
    """Check what notebooks and Python files define, as a notebook's own `check` does.

    Returns:
        the exit code: 0 if all that is started passes.
    """
    results = [result for path in paths for result in check_file(path)]
    for result in results:
        print(terminal.text(result, colour=terminal.takes_colour()), end="\n\n")
    counts = Counter(result.state for result in results)
    print(", ".join(f"{counts[state]} {IN_WORDS[state]}" for state in STATES if counts[state]) or "No exercise found.")
    return 0 if results and set(counts) <= {"passed", "not_started"} else 1


def check_file(path: Path) -> Iterator[Result]:
    """The results of one file. A cell that cannot be read is told, and spoils only itself."""
    source = extract(read(path.name, path))
    for problem in source.problems:
        print(problem.sentence)
    answers = Answers([source])
    for name in exercises.names():
        home = answers.home(name)
        if home is not None and answers.makes(home, name):
            yield check_named(name, defined(name, answers.cut(home, [name])))


def defined(name: str, cut: Cut) -> Callable[..., Any]:
    """Run an answer's definitions in a namespace of their own; one that fails is told when the answer needs it."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in cut.cells():
        try:
            exec(compile(cell.source, f"<{cell.label}>", "exec"), namespace)
        except Exception as error:
            print(f"{cell.label}: {type(error).__name__}: {error}")
    return namespace.get(name, missing)


def missing(*args: Any, **kwargs: Any) -> Any:
    raise NameError("the definition itself failed, see above")


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
