"""A worker: marks one submission after another, in a process with its own examiners and sandbox.

Every engine (`proctor.grading.engines`) calls `mark` in as many processes, or on as many machines, as it has.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from proctor.examining.caching import CachingExaminer
from proctor.examining.diagnose import Examiner
from proctor.examining.result import Explanation, Result
from proctor.examining.weights import WeightsJudge
from proctor.grading.deadline import deadline
from proctor.grading.journal import GradedSubmission
from proctor.inside import warmup
from proctor.inside.warmup import meta_kernels, stub_compiler
from proctor.marking import probe_pickle
from proctor.marking.assignment import Assignment
from proctor.marking.line_search import PER_SUBMISSION_BY_CLOCK, LineSearch
from proctor.marking.mark import mark_submission
from proctor.marking.submission_marker import MOST_BY_CLOCK
from proctor.marking.submissions import File, digest
from proctor.sandbox import Limits, Sandbox

OWN = 60.0  # seconds for what is ours: reading, comparing, starting a sandbox


@dataclass(frozen=True)
class Plan:
    """The description of a marking run that a worker receives, wherever it runs.

    Args:
        make: gives the assignment when it is called with `arguments`; other processes find it by its import path.
        salt: enters every input. It is secret: with it answers can be prepared.
        limits: of one run in the sandbox.
        tier: of the sandbox.
        trust: allow running without a sandbox.
        locate: look for the line of mistakes that have no name.
    """

    make: Callable[..., Assignment]
    arguments: tuple[Any, ...]
    salt: str
    limits: Limits
    tier: str = "auto"
    trust: bool = False
    locate: bool = False

    def assignment(self) -> Assignment:
        return self.make(*self.arguments)


@lru_cache(maxsize=1)
def prepared(plan: Plan) -> tuple[Assignment, dict[str, Examiner]]:
    """The assignment and its examiners, once per process. Workers that are forked from this one inherit them."""
    import torch

    torch.set_num_threads(1)  # a pool of threads would not survive a fork, and the tensors are small
    warm = warmup.chosen()
    if "stub_compiler" in warm:  # both as in the sandbox: errors are to have the same words here and there
        stub_compiler.leave_out()
    if "meta_kernels" in warm:
        meta_kernels.prefer_kernels()
    assignment = plan.assignment()
    examiners = examiners_of(assignment, plan.salt)
    for examiner in examiners.values():
        examiner.draws  # noqa: B018 - runs the reference
    for weights_judge in weights_judges_of(plan).values():
        weights_judge.data  # noqa: B018 - draws it
    if "freeze" in warm:
        gc.freeze()  # a collection that looked at all this would make a copy of it in every worker
    return assignment, examiners


def examiners_of(assignment: Assignment, salt: str) -> dict[str, Examiner]:
    """One examiner per exercise that is answered by code."""
    return {exercise.name: CachingExaminer(exercise, salt) for exercise in assignment.of_code}


@lru_cache(maxsize=1)
def weights_judges_of(plan: Plan) -> dict[str, WeightsJudge]:
    """One judge per exercise that is answered by weights."""
    return {exercise.name: WeightsJudge(exercise, plan.salt) for exercise in plan.assignment().of_weights}


def assignment_sandbox(
    assignment: Assignment, examiners: Mapping[str, Examiner], limits: Limits, tier: str = "auto", trust: bool = False
) -> Sandbox:
    """A sandbox that knows the probes and the inputs of an assignment, and nothing else of it."""
    draws = {name: examiner.draws for name, examiner in examiners.items()}
    return Sandbox(
        probe_pickle.dumps(assignment.of_code),
        draws,
        limits,
        tier,
        trust,
        assignment.public_modules,
        packages=assignment.packages,
        forbid={exercise.name: exercise.forbid for exercise in assignment.of_code},
        rehearsal=assignment.rehearsal,
    )


_sandboxes: dict[Plan, Sandbox] = {}  # one at most: a process has one sandbox


def sandbox_of(plan: Plan) -> Sandbox:
    """The sandbox of this process, running."""
    if plan not in _sandboxes:
        close_sandbox()
        sandbox = assignment_sandbox(*prepared(plan), plan.limits, plan.tier, plan.trust)
        sandbox.start()
        _sandboxes[plan] = sandbox
    return _sandboxes[plan]


@lru_cache(maxsize=1)
def line_search_of(plan: Plan) -> LineSearch | None:
    """The line search of this process, with its cache of reference values; None if the plan asks for none."""
    return LineSearch(reveal=True) if plan.locate else None


def close_sandbox() -> None:
    """Close the sandbox of this process, if it has one."""
    while _sandboxes:
        _sandboxes.popitem()[1].close()


def longest(plan: Plan) -> float:
    """Seconds by the clock that the marking of one submission may take: all its runs, the search for lines, and room
    for what is ours."""
    return MOST_BY_CLOCK * plan.limits.seconds + PER_SUBMISSION_BY_CLOCK + OWN


def mark(plan: Plan, student: str, files: list[File]) -> GradedSubmission:
    """Mark one student's submission in this process. A failure of ours becomes a fault result and affects no other
    student; marking that takes too long ends this process."""
    try:
        with deadline(longest(plan)):
            results, notes, code = mark_submission(
                *prepared(plan), sandbox_of(plan), files, line_search_of(plan), weights_judges_of(plan)
            )
    except Exception as error:
        return failed_submission(plan, student, files, f"The grader itself failed ({type(error).__name__}: {error}).")
    return GradedSubmission(student, digest(files), tuple(results), tuple(notes), code)


def failed_submission(plan: Plan, student: str, files: list[File], sentence: str) -> GradedSubmission:
    """A submission that could not be marked."""
    why = Explanation(f"{sentence} This is our fault, not yours.")
    found = plan.assignment().exercises
    results = (Result(e.name, "fault", 0.0, 0, len(e.counted()), explanations=(why,)) for e in found)
    return GradedSubmission(student, digest(files), tuple(results))


def unread_submission(plan: Plan, student: str, error: Exception) -> GradedSubmission:
    """A submission whose files could not be read."""
    return failed_submission(plan, student, [], f"Its files could not be read ({type(error).__name__}: {error}).")
