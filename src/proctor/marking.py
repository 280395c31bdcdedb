"""Mark one submission: it sits every sheet in the sandbox, and what was seen there is judged here.

A sheet is sat once for all its exercises. Two things lead to another sitting: code that was stopped (the exercises
behind it still get their turn), and an answer that is not right while a part that it builds on is not either (it sits
again with the reference's part, so that an earlier mistake costs nothing later).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from proctor import portable
from proctor.answers import Answers, Cut
from proctor.assignment import Assignment, Sheet
from proctor.diagnose import Examiner
from proctor.evasion import hidden_calls
from proctor.extraction import extract, is_stub
from proctor.observe import Observation, Raised
from proctor.result import Explanation, Result
from proctor.sandbox import Cell, Limits, Sandbox, Sitting, Stopped
from proctor.screening import Screening
from proctor.submissions import File

MOST_CODE = 30_000  # characters that are kept for the comparison with others
PATIENCE = 4  # sittings of one submission that may run into the time limit; what is left then is not tried


class Marker:
    """Marks one submission after another. It holds a sandbox: close it, or use it in a `with` block.

    Args:
        assignment: what to mark.
        examiners: name -> examiner, for every exercise of the assignment; they are shared, and computed once.
    """

    def __init__(self, assignment: Assignment, examiners: Mapping[str, Examiner], box: Sandbox) -> None:
        self.assignment = assignment
        self.examiners = examiners
        self.box = box

    def mark(self, files: Sequence[File]) -> tuple[list[Result], list[str], str]:
        """The results in the assignment's order, notes on unread files, the code of the answers."""
        answers = Answers([extract(file) for file in files])
        paper = Paper(self, answers)
        for sheet in self.assignment.sheets:
            paper.sit(sheet)
        results = [paper.results[exercise.name] for exercise in self.assignment.exercises]
        notes = [problem.sentence for problem in answers.problems]
        if not files:
            notes.append("There is no notebook and no .py file in this submission.")
        return results, notes, paper.code()


def examiners_of(assignment: Assignment, salt: str) -> dict[str, Examiner]:
    """One examiner per exercise."""
    return {exercise.name: Screening(exercise, salt) for exercise in assignment.exercises}


def sandbox_for(
    assignment: Assignment, examiners: Mapping[str, Examiner], limits: Limits, tier: str = "auto", trust: bool = False
) -> Sandbox:
    """A sandbox that knows the probes and the inputs of an assignment, and nothing else of it."""
    draws = {name: examiner.draws for name, examiner in examiners.items()}
    return Sandbox(portable.dumps(assignment.exercises), draws, limits, tier, trust)


@dataclass
class Paper:
    """One submission while it is marked."""

    marker: Marker
    answers: Answers
    results: dict[str, Result] = field(default_factory=dict)
    homes: dict[str, int] = field(default_factory=dict)
    cuts: dict[tuple[int, tuple[str, ...]], Cut] = field(default_factory=dict)
    ran_out_of_time: int = 0

    def cut(self, home: int, *names: str) -> Cut:
        if (home, names) not in self.cuts:
            self.cuts[home, names] = self.answers.cut(home, names)
        return self.cuts[home, names]

    def sit(self, sheet: Sheet) -> None:
        """Mark all exercises of a sheet."""
        together: dict[int, list[str]] = {}
        for exercise in sheet.exercises:
            home = self.answers.home(exercise.name)
            if home is None:
                self.results[exercise.name] = self._absent(exercise.name)
            else:
                self.homes[exercise.name] = home
                together.setdefault(home, []).append(exercise.name)
        for home, names in together.items():
            self._sit_together(sheet, home, names)
            for name in names:
                if parts := self._doubtful_parts(sheet, home, name):
                    self._sit_again(sheet, home, name, parts)

    def code(self) -> str:
        """The code behind all answers of the student, each piece once."""
        pieces = dict.fromkeys(d for name, home in self.homes.items() for d in self.cut(home, name).definitions)
        return "\n\n".join(d.text for d in pieces if not d.is_import and not is_stub(d.node))[:MOST_CODE]

    def _sit_together(self, sheet: Sheet, home: int, names: Sequence[str]) -> None:
        """Mark exercises as their file has them, but for those that build on one that was stopped."""
        left = list(names)
        while left := [name for name in left if not self._builds_on_a_stop(sheet, home, name)]:
            sitting, seconds = self._sitting(sheet, home, left)
            stopped = sitting.stopped
            if stopped is None:
                for name in left:
                    self._judge(home, name, sitting, seconds / len(left))
                return
            if not stopped.exercise and len(left) > 1:  # while loading: only one of them may be to blame
                for name in left:
                    self._sit_together(sheet, home, [name])
                return
            to_blame = stopped.exercise if stopped.exercise in left else left[0]
            finished = left[: left.index(to_blame)]
            for name in finished:
                self._judge(home, name, sitting, 0.0)
            self._judge(home, to_blame, sitting, seconds, stopped)
            left = left[len(finished) + 1 :]

    def _parts(self, sheet: Sheet, home: int, name: str) -> dict[str, str]:
        """Earlier exercises that an answer uses -> the module that has them."""
        known = dict.fromkeys(sheet.before(name), sheet.module) | dict(sheet.earlier)
        return {part: known[part] for part in sorted(self.cut(home, name).needs & known.keys())}

    def _builds_on_a_stop(self, sheet: Sheet, home: int, name: str) -> bool:
        made = [part for part in self._parts(sheet, home, name) if self.answers.makes(home, part)]
        return any(part in self.results and self.results[part].state == "stopped" for part in made)

    def _doubtful_parts(self, sheet: Sheet, home: int, name: str) -> dict[str, str]:
        """Parts of an answer that is not right which are not known to be right either."""
        if name in self.results and self.results[name].state in ("passed", "fault"):
            return {}
        return {part: m for part, m in self._parts(sheet, home, name).items() if not self._is_right(home, part)}

    def _is_right(self, home: int, part: str) -> bool:
        """Is this part, as the file has it, right: imported, or made there and passed?"""
        if not self.answers.makes(home, part):
            return self.answers.binds(home, part)
        return self.homes.get(part) == home and self.results[part].state == "passed"

    def _sit_again(self, sheet: Sheet, home: int, name: str, parts: Mapping[str, str]) -> None:
        """Mark one exercise with the reference's version of the parts that it builds on."""
        first = self.results.get(name)
        sitting, seconds = self._sitting(sheet, home, [name], parts)
        self._judge(home, name, sitting, seconds, sitting.stopped)
        if first is not None and self.results[name].score < first.score:
            self.results[name] = first

    def _sitting(
        self, sheet: Sheet, home: int, names: Sequence[str], parts: Mapping[str, str] | None = None
    ) -> tuple[Sitting, float]:
        marker = self.marker
        if self.ran_out_of_time >= PATIENCE:
            return Sitting(
                stopped=Stopped("time", "This was not tried: other answers of this submission used up its time.")
            ), 0.0
        cut = self.cut(home, *names)
        modules = dict(cut.modules)
        if parts or any(cut.imports(module.split(".")[0]) for module in sheet.modules):
            modules |= sheet.modules
        if parts and sheet.module in parts.values():
            modules[sheet.module] = sheet.reference_before(names[0])
        began = time.perf_counter()
        sitting = marker.box.sit(
            [Cell("setup", marker.assignment.setup), *cut.cells()],
            modules,
            parts,
            {name: list(marker.examiners[name].exercise.probes) for name in names},
            {name: marker.examiners[name].exercise.forbid for name in names},
        )
        if sitting.stopped is not None and sitting.stopped.reason == "time":
            self.ran_out_of_time += 1
        return sitting, time.perf_counter() - began

    def _judge(self, home: int, name: str, sitting: Sitting, seconds: float, stopped: Stopped | None = None) -> None:
        """Turn what was seen of one exercise into its result."""
        seconds = in_steps(seconds, self.marker.box.limits.seconds)
        try:
            self.results[name] = self._verdict(home, name, sitting, seconds, stopped)
        except Exception as error:  # ours, not theirs: theirs is in the observations
            sentence = f"The check itself failed ({type(error).__name__}: {error}). This is our fault, not yours."
            count = len(self.marker.examiners[name].exercise.probes)
            self.results[name] = Result(
                name, "fault", 0.0, 0, count, explanations=(Explanation(sentence),), seconds=seconds
            )

    def _verdict(self, home: int, name: str, sitting: Sitting, seconds: float, stopped: Stopped | None) -> Result:
        examiner = self.marker.examiners[name]
        seen: Mapping[str, Observation] = sitting.outcomes.get(name, {})
        if stopped is None and name not in sitting.defined:
            return self._undefined(name, home, sitting, seconds)
        if examiner.exercise.forbid and (hidden := self._hidden(home, name)):
            seen = {probe: replace(o, called=(*o.called, *hidden)) for probe, o in seen.items()}
        result = examiner.verdict(seen, seconds)
        if stopped is None or result.state == "passed":
            return result
        probe = examiner.exercise.probes.get(stopped.probe)
        where = f"It was looked at on {probe.situation}." if probe else "" if seen else "It had not been called yet."
        why = Explanation(addressed(stopped.detail), where)
        return replace(result, state="stopped", misconception=None, explanations=(why,), situation="", evidence=())

    def _hidden(self, home: int, name: str) -> tuple[str, ...]:
        return hidden_calls(self.cut(home, name).definitions, self.marker.examiners[name].exercise.forbid)

    def _absent(self, name: str) -> Result:
        """No readable file defines it."""
        spoiled = [p.sentence for p in self.answers.problems if p.mentions(name)]
        if spoiled:
            return self._without(name, "stopped", Explanation(" ".join(spoiled)))
        unread = [p.sentence for p in self.answers.problems if not p.text]
        if unread:
            return self._without(name, "not_started", Explanation(f"No {name} was found. {' '.join(unread)}"))
        return self._without(name, "not_started")

    def _undefined(self, name: str, home: int, sitting: Sitting, seconds: float) -> Result:
        """A file has it, but running its definition left nothing that can be called."""
        labels = [cell.label for cell in self.cut(home, name).cells()]
        raised = [(label, sitting.cell_errors[label]) for label in reversed(labels) if label in sitting.cell_errors]
        if not raised:
            why = Explanation(f"`{name}` is not something that can be called.")
            return self._without(name, "stopped", why, seconds, evidence=sitting.notes[:3])
        label, error = raised[0]
        why = Explanation(f"Your code raised {error.kind} while {name} was being defined.")
        return self._without(name, "stopped", why, seconds, evidence=(line(error, label),))

    def _without(
        self,
        name: str,
        state: str,
        why: Explanation | None = None,
        seconds: float = 0.0,
        evidence: tuple[str, ...] = (),
    ) -> Result:
        nothing = self.marker.examiners[name].verdict({}, seconds)
        return replace(nothing, state=state, explanations=(why,) if why else (), situation="", evidence=evidence)  # type: ignore[arg-type]


def in_steps(seconds: float, limit: float) -> float:
    """How long an answer took, rounded down to quarters of the time limit.

    Finer would be noise: two runs of one class are to give the same files, on a busy machine too.
    """
    return limit / 4 * min(math.floor(4 * seconds / limit), 4)


def addressed(detail: str) -> str:
    """A sentence about the code as a sentence to its author."""
    return detail.replace("The code", "Your code", 1)


def line(error: Raised, label: str) -> str:
    return f"{error} ({error.where or label})"
