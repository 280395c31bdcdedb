"""Weights among the files of a submission: found by the name of their file, judged where no code of a student runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from proctor.examining.result import Explanation, Result
from proctor.examining.weights import Weigher, WeightsExercise
from proctor.marking.submissions import WEIGHTS, File


def weigh(weigher: Weigher, files: Sequence[File]) -> Result:
    """The verdict on the file that answers an exercise: of several with its name the last."""
    found = [file for file in files if answers_exercise(file.name, weigher.exercise)]
    if not found:
        return weigher.absent()
    file = found[-1]
    if file.problem:
        return weigher.refused(file.problem)
    try:
        return weigher.judge(file.content)
    except Exception as error:  # ours: what may be in a file is known before anything is computed
        why = Explanation(f"The check itself failed ({type(error).__name__}: {error}). This is our fault, not yours.")
        return Result(weigher.exercise.name, "fault", 0.0, 0, len(weigher.exercise.counted()), explanations=(why,))


def answers_exercise(name: str, exercise: WeightsExercise) -> bool:
    """Is a file of this name what an exercise asks for?"""
    return PurePosixPath(name).name.lower() == exercise.file.lower()


def unasked(files: Sequence[File], weighers: Sequence[Weigher]) -> list[str]:
    """A sentence for each file of weights that answers nothing."""
    asked = [weigher.exercise for weigher in weighers]
    names = " or ".join(exercise.file for exercise in asked)
    why = f"weights are handed in as {names}" if asked else "no weights are asked for"
    left = [f.name for f in files if f.suffix == WEIGHTS and not any(answers_exercise(f.name, e) for e in asked)]
    return [f"{name} was not looked at: {why}." for name in left]
