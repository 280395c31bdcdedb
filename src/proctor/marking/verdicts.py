"""The results of answers of which an examiner sees too little: they are absent, cannot be called, or were stopped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from proctor.examining.diagnose import Examiner
from proctor.examining.result import Explanation, Result, State
from proctor.inside.observe import Observation, Raised
from proctor.marking.answers import Slice
from proctor.marking.extraction import Problem
from proctor.sandbox import Run, Stopped

MARGIN = (
    "Of a file, definitions at the left margin are taken, and the rest is not run: no loop, no `exec`, nothing below "
    "`if __name__ == …`. Define it there."
)
UNREAD = "Nobody knows what you answered there. Make the archive again, open it once yourself, and hand it in again."


def absent(examiner: Examiner, problems: Sequence[Problem], inside: str = "") -> Result:
    """The result of an exercise that no readable file defines.

    Args:
        problems: what could not be read of the submission.
        inside: where code that is not taken would define it.
    """
    spoiled = [problem.sentence for problem in problems if problem.mentions(examiner.exercise.name)]
    if spoiled:
        return unseen(examiner, "stopped", Explanation(" ".join(spoiled)))
    if inside:
        why = f"`{examiner.exercise.name}` is defined inside of other code, in {inside}."
        return unseen(examiner, "stopped", Explanation(why, MARGIN))
    if archives := [problem.sentence for problem in problems if problem.archive]:
        return unread(unseen(examiner, "not_started"), archives[0])
    return unseen(examiner, "not_started")  # another unreadable file is reported once, beside the results


def unread(result: Result, sentence: str) -> Result:
    """The result of an exercise whose answer may be in an archive that could not be read."""
    return replace(result, unread=True, explanations=(Explanation(sentence, UNREAD),))


def undefined(examiner: Examiner, slice_: Slice, run: Run, seconds: float) -> Result:
    """The result of an exercise whose definition ran and left nothing callable."""
    name = examiner.exercise.name
    failed = errors_while_loading(slice_, run)
    if not failed:
        why = Explanation(f"`{name}` is not something that can be called.")
        return unseen(examiner, "stopped", why, seconds, evidence=run.notes[:3])
    label, error = failed[-1]
    why = Explanation(f"Your code raised {error.kind} while {name} was being defined.")
    result = unseen(examiner, "stopped", why, seconds, evidence=(f"{error} ({error.where or label})",))
    return with_what_failed_before(result, failed[:-1])


def errors_while_loading(slice_: Slice, run: Run) -> list[tuple[str, Raised]]:
    """What the answer, and what it uses, raised while it was loaded: the label of each cell and its exception."""
    labels = [cell.label for cell in slice_.cells()]
    return [(label, run.cell_errors[label]) for label in labels if label in run.cell_errors]


def with_what_failed_before(result: Result, errors: Sequence[tuple[str, Raised]]) -> Result:
    """A result of code that raised which says what had failed before, while its file was loaded: a name that is not
    there is usually one whose definition raised."""
    if not errors or result.state != "stopped":
        return result
    label, error = errors[0]
    said = Explanation(f"Before that, while your file was loaded, it raised {error.kind}.")
    evidence = (*result.evidence, f"{error} ({error.where or label})")
    return replace(result, explanations=(*result.explanations, said), evidence=evidence)


def stopped(examiner: Examiner, result: Result, stop: Stopped, seen: Mapping[str, Observation]) -> Result:
    """The result of an answer that was ended before all probes had run.

    Args:
        result: what comes of those that had.
    """
    probe = examiner.exercise.probes.get(stop.probe)
    where = f"It was looked at on {probe.situation}." if probe else "" if seen else "It had not been called yet."
    why = Explanation(stop.detail.replace("The code", "Your code", 1), f"{where} {stop.advice}".strip())
    return replace(
        result,
        state="stopped",
        misconceptions=(),
        explanations=(why,),
        situation="",
        evidence=(),
        help="located" if stop.line else None,
        line=stop.line,
    )


def fault(examiner: Examiner, error: Exception, seconds: float) -> Result:
    """The result of an answer where the grader failed, not the student."""
    why = Explanation(f"The check itself failed ({type(error).__name__}: {error}). This is our fault, not yours.")
    exercise = examiner.exercise
    return Result(exercise.name, "fault", 0.0, 0, len(exercise.counted()), explanations=(why,), seconds=seconds)


def unseen(
    examiner: Examiner,
    state: State,
    why: Explanation | None = None,
    seconds: float = 0.0,
    evidence: tuple[str, ...] = (),
) -> Result:
    """The result of an answer of which nothing was seen."""
    result = examiner.verdict({}, seconds)
    return replace(result, state=state, explanations=(why,) if why else (), situation="", evidence=evidence)


def in_steps(seconds: float, limit: float) -> float:
    """The processor time of an answer, rounded down to quarters of the limit.

    Finer would be noise: two runs of one class are to give the same files, on a busy machine too.
    """
    return limit / 4 * min(math.floor(4 * seconds / limit), 4)
