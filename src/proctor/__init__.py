"""Proctor: a grading engine. It knows what an exercise is and what agreement is; it knows nothing of any subject.

Three layers, each built on the one before:

examining   one answer: what an exercise is, whether an answer agrees with the reference, which mistake it makes
    exercise    a reference, probes, named mistakes
    weights     the other kind of exercise: a file of tensors, measures with bars, mistakes that weights show
    tensor_file such a file, read with distrust
    compare     agreement of two observations
    diagnose    the verdict, and which mistake it is
    caching     an examiner for a class, with a cache of verdicts
    result      the one result; `report` renders it
    mutate      the proof of an exercise: small damages to the reference are noticed
marking     one submission: which answers it has, how they are run, what comes of each
    submissions files that were handed in
    extraction  the definitions of a notebook or a Python file, read with distrust
    answers     an answer with all that it uses, cut out of a student's files
    assignment  what is asked, and what may be imported
    submission_marker   which answers run together, which run again
    verdicts    of answers that are absent, cannot be called, or were stopped
    probe_pickle    probes as bytes that the sandbox can load
    live        an answer that is an object of this process, as a notebook has it
    in_process  run a submission in this process, for a self-check
    line_search the search for the lines of mistakes without a name, in a marked submission
    weights_files   files of weights in a submission
grading     a class
    grade       all submissions of a class, and the reports about them
    worker      one process, which marks one submission after another
    engines     where workers are: processes on this machine, a Dask cluster
    journal     the record on disk from which an interrupted run resumes
    similarity  which submissions are alike

Beside them:

source      Python as data: statements with their names, closures, stubs; it knows nothing of submissions
locate      the line of a mistake that has no name: by repair, by trace
inside      code that runs in one process with student code: in a notebook, in a self-check, in the sandbox
forbid      forbidden calls, and their detection
sandbox     the trusted side of the sandbox; its note says what is promised
report      one result, many renderings

Which process runs what while a class is graded: the command runs `grading.grade` and `report`; each worker, forked from
it, runs `grading.worker`, `marking`, `examining` and `sandbox`; a zygote, started by its worker behind walls, and the
child that it forks for each submission have `inside` and `forbid`, and nothing else of ours.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proctor.examining.diagnose import Examiner
    from proctor.examining.exercise import Exercise
    from proctor.examining.result import Result
    from proctor.examining.weights import WeightsExercise, WeightsJudge

__all__ = ["Examiner", "Exercise", "Result", "WeightsExercise", "WeightsJudge"]
HOMES = {
    "Examiner": "diagnose",
    "Exercise": "exercise",
    "Result": "result",
    "WeightsJudge": "weights",
    "WeightsExercise": "weights",
}


def __getattr__(name: str) -> Any:  # what needs no torch does not wait for it
    if name in HOMES:
        return getattr(import_module(f"proctor.examining.{HOMES[name]}"), name)
    raise AttributeError(f"module 'proctor' has no attribute {name!r}")
