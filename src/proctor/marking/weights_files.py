"""Files of weights in a submission: found by their names, judged without running student code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from proctor.examining.result import Explanation, Result
from proctor.examining.weights import WeightsExercise, WeightsJudge
from proctor.marking.copies import MOST_COPIES, with_copies
from proctor.marking.submissions import ARCHIVE, WEIGHTS, File
from proctor.marking.verdicts import unread


def judge_weights(weights_judge: WeightsJudge, files: Sequence[File]) -> Result:
    """The verdict on the file that answers an exercise; of several with its name, on the best."""
    found = [file for file in files if answers_exercise(file.name, weights_judge.exercise)]
    if not found:
        archives = [file.problem for file in files if file.problem and file.suffix == ARCHIVE]
        return unread(weights_judge.absent(), archives[0]) if archives else weights_judge.absent()
    judged = [(judge_file(weights_judge, file), file.name) for file in found[-MOST_COPIES:]]
    best, name = max(reversed(judged), key=lambda pair: pair[0].score)
    others = {other: result for result, other in judged if other != name}
    return with_copies(best, name, others) if others else best


def judge_file(weights_judge: WeightsJudge, file: File) -> Result:
    if file.problem:
        return weights_judge.refused(file.problem)
    try:
        return weights_judge.judge(file.content)
    except Exception as error:  # ours: what may be in a file is known before anything is computed
        why = Explanation(f"The check itself failed ({type(error).__name__}: {error}). This is our fault, not yours.")
        return Result(
            weights_judge.exercise.name, "fault", 0.0, 0, len(weights_judge.exercise.counted()), explanations=(why,)
        )


def answers_exercise(name: str, exercise: WeightsExercise) -> bool:
    """Does a file of this name answer the exercise?"""
    return PurePosixPath(name).name.lower() == exercise.file.lower()


def unasked_weights(files: Sequence[File], weights_judges: Sequence[WeightsJudge]) -> list[str]:
    """A sentence for each file of weights that answers no exercise."""
    asked = [weights_judge.exercise for weights_judge in weights_judges]
    names = " or ".join(exercise.file for exercise in asked)
    why = f"weights are handed in as {names}" if asked else "no weights are asked for"
    left = [f.name for f in files if f.suffix == WEIGHTS and not any(answers_exercise(f.name, e) for e in asked)]
    return [f"{name} was not looked at: {why}." for name in left]
