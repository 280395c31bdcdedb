"""What marks submissions in one process: examiners, which are computed once, and a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor import portable
from proctor.answers import Answers
from proctor.assignment import Assignment
from proctor.diagnose import Examiner
from proctor.extraction import extract_all
from proctor.paper import Paper, Runner
from proctor.result import Result
from proctor.sandbox import Limits, Sandbox
from proctor.submissions import File


class Marker:
    """Marks one submission after another. It holds a sandbox: close it, or use it in a `with` block.

    Args:
        assignment: what to mark.
        examiners: name -> examiner, for every exercise of the assignment; they are shared, and computed once.
    """

    def __init__(self, assignment: Assignment, examiners: Mapping[str, Examiner], runner: Runner) -> None:
        self.assignment = assignment
        self.examiners = examiners
        self.runner = runner

    def mark(self, files: Sequence[File]) -> tuple[list[Result], list[str], str]:
        """The results in the assignment's order, notes on unread files, the code of the answers."""
        answers = Answers(extract_all(files))
        paper = Paper(self.assignment, self.examiners, self.runner, answers)
        paper.mark()
        self.runner.dismiss()
        results = [paper.results[exercise.name] for exercise in self.assignment.exercises]
        notes = [problem.sentence for problem in answers.problems]
        if not files:
            notes.append("There is no notebook and no .py file in this submission.")
        return results, notes, paper.code()


def examiners_of(assignment: Assignment, salt: str) -> dict[str, Examiner]:
    """One examiner per exercise."""
    return {exercise.name: Examiner(exercise, salt) for exercise in assignment.exercises}


def sandbox_for(
    assignment: Assignment, examiners: Mapping[str, Examiner], limits: Limits, tier: str = "auto", trust: bool = False
) -> Sandbox:
    """A sandbox that knows the probes and the inputs of an assignment, and nothing else of it."""
    draws = {name: examiner.draws for name, examiner in examiners.items()}
    return Sandbox(portable.dumps(assignment.exercises), draws, limits, tier, trust, assignment.helps)
