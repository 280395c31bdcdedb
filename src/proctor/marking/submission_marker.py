"""The marking of one submission: which answers run together, which run again, and their results.

All answers of a file run together. Five things lead to another run: answers that import parts of the course (each
sheet may import other ones), code that was stopped (the answers after it still get their turn), an answer that met a
limit after others of its run had used a part of it (it runs again alone: limits are per answer), an answer that is
not right while a part that it builds on is not either (it runs again with the reference's part, so that an earlier
mistake costs nothing later), and a mistake that was recognised (it is named only if it shows on other inputs, too).
Answers whose mistake has no name are edited and run again to find its line (`proctor.locate`), if that is asked for.

Who runs the answers is the runner's business: a sandbox, or this process. An answer may be text in a file, or an object
of this process (`proctor.marking.live`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Protocol

from proctor.examining.diagnose import Examiner
from proctor.examining.exercise import Question
from proctor.examining.result import Result
from proctor.forbid import Family
from proctor.forbid.scan import hidden_calls
from proctor.inside.observe import Observation
from proctor.inside.rlimits import WAITS
from proctor.inside.running import Cell, Draws, Job
from proctor.marking import verdicts
from proctor.marking.answers import Answers, Slice
from proctor.marking.assignment import Assignment, ExerciseSheet
from proctor.marking.live import LiveAnswers
from proctor.marking.verdicts import in_steps
from proctor.sandbox import Limits, Run, Stopped

# What one submission may use in all its runs together, in time limits of one answer: by answers that were stopped for
# their time, and by the clock, however it is spent. What is left then is not tried.
MOST_STOPPED = 4
MOST_BY_CLOCK = 5 * WAITS
SHARED = ("time", "output", "memory")  # what others of a run may have used up
NOT_TRIED = "This was not tried: other answers of this submission used up its time."
MOST_CODE = 30_000  # characters that are kept for the comparison with others

Modules = Mapping[str, str]


class Session(Protocol):
    """The runs of one submission, one after the other."""

    def run(self, job: Job, draws: Draws | None = None) -> Run:
        """Run answers and observe them.

        Args:
            draws: other inputs than usual. What is seen on them earns no points.
        """
        ...


class Runner(Protocol):
    """A runner of answers: `proctor.sandbox.Sandbox`, or `proctor.marking.in_process.InProcess`."""

    limits: Limits

    def session(self) -> AbstractContextManager[Session]: ...


@dataclass(frozen=True)
class RunContext:
    """The context an answer ran in: its file, the modules it could import, the parts that were the reference's."""

    file: int  # index of the file that the answer is from
    modules: Modules = field(default_factory=dict)  # full name -> text of modules that it could import
    parts: Modules = field(default_factory=dict)  # names that were the reference's -> their module


@dataclass
class Spent:
    """Seconds used by a submission.

    Args:
        stopped: processor time of answers that were stopped for it.
        by_clock: of all runs.
    """

    stopped: float = 0.0
    by_clock: float = 0.0

    def all(self, limit: float) -> bool:
        """Is there nothing left, where one answer may take so many seconds?"""
        return self.stopped >= MOST_STOPPED * limit or self.by_clock >= MOST_BY_CLOCK * limit


@dataclass
class SubmissionMarker:
    """One submission and its results so far."""

    assignment: Assignment
    examiners: Mapping[str, Examiner]
    runner: Runner
    answers: Answers
    results: dict[str, Result] = field(default_factory=dict)  # exercise -> its result so far
    file_of: dict[str, int] = field(default_factory=dict)  # exercise -> the file that answers it
    slices: dict[tuple[int, tuple[str, ...]], Slice] = field(default_factory=dict)  # cache of `slice`
    locator: Locator | None = None  # searches for the lines of mistakes without a name, if given
    # exercise -> how it ran, and its observations
    seen: dict[str, tuple[RunContext, Mapping[str, Observation]]] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)
    prefer: Mapping[str, int] = field(default_factory=dict)  # exercise -> the file to take, of several that answer it
    session: Session = field(init=False)

    def mark(self) -> None:
        """Fill in the results of all exercises."""
        with self.runner.session() as self.session:
            self._mark()

    def _mark(self) -> None:
        for exercise in self.assignment.of_code:
            file = self.prefer.get(exercise.name, self.answers.file_index(exercise.name))
            if file is None:
                self.results[exercise.name] = verdicts.absent(
                    self.examiners[exercise.name], self.answers.problems, self.answers.bound_inside(exercise.name)
                )
            else:
                self.file_of[exercise.name] = file
        course = self.assignment.packages
        for file in sorted(set(self.file_of.values())):
            alone = [
                n for n in self._answered_in(file) if not any(self.slice(file, n).imports(name) for name in course)
            ]
            self._run_together(RunContext(file), alone)
            for sheet in self.assignment.sheets:
                names = [n for n in self._answered_in(file, sheet) if n not in alone]
                self._run_together(RunContext(file, sheet.modules), names)
        for sheet in self.assignment.sheets:
            for file in sorted(set(self.file_of.values())):
                self._run_with_reference_parts(sheet, file)
        self._confirm()
        if self.locator is not None:
            self.locator.locate(self)

    def code(self) -> str:
        """The code behind all answers of the student, each piece once."""
        pieces = dict.fromkeys(d for name, file in self.file_of.items() for d in self.slice(file, name).definitions)
        return "\n\n".join(d.text for d in pieces if not d.is_import and not d.is_stub)[:MOST_CODE]

    def slice(self, file: int, *names: str) -> Slice:
        if (file, names) not in self.slices:
            self.slices[file, names] = self.answers.slice(file, names)
        return self.slices[file, names]

    def _answered_in(self, file: int, sheet: ExerciseSheet | None = None) -> list[str]:
        """The exercises that a file answers, in order; those of one sheet or of all."""
        exercises: Sequence[Question] = self.assignment.exercises if sheet is None else sheet.exercises
        return [exercise.name for exercise in exercises if self.file_of.get(exercise.name) == file]

    # ---- what runs together

    def _run_together(self, context: RunContext, names: Sequence[str]) -> None:
        """Mark answers of one file together, but for those that build on one that was stopped."""
        left = self._by_what_they_forbid(names)
        while left := [name for name in left if not self._builds_on_a_stop(context, name)]:
            run = self._run(context, left)
            stopped = run.stopped
            # while loading: only one of them may be to blame, or may not call what another may
            if len(left) > 1 and (run.called or (stopped is not None and not stopped.exercise)):
                for name in left:
                    self._run_together(context, [name])
                return
            if stopped is None:
                for name in left:
                    self._judge(name, context, run, run.seconds / len(left))
                return
            to_blame = stopped.exercise if stopped.exercise in left else left[0]
            finished = left[: left.index(to_blame)]
            for name in finished:
                self._judge(name, context, run, 0.0)
            if finished and stopped.reason in SHARED:
                self._run_together(context, [to_blame])
            else:
                self.spent.stopped += run.seconds if stopped.reason == "time" else 0.0
                self._judge(to_blame, context, run, run.seconds, stopped)
            left = left[len(finished) + 1 :]

    def _by_what_they_forbid(self, names: Sequence[str]) -> list[str]:
        """The names sorted so that those with the same forbidden families are neighbours: blocking a family takes as
        long as a few probes."""
        groups: dict[tuple[Family, ...], list[str]] = {}
        for name in names:
            groups.setdefault(self.examiners[name].exercise.forbid, []).append(name)
        return [name for group in groups.values() for name in group]

    def _run_with_reference_parts(self, sheet: ExerciseSheet, file: int) -> None:
        """Mark answers that are not right once more, with the reference's version of what they build on.

        No answer runs with a reference that comes after it or with its own: what is handed out ends before the first.
        """
        again = [name for name in self._answered_in(file, sheet) if self._doubtful(sheet, name)]
        while again:
            before = sheet.before(again[0])
            parts = {
                p: m
                for name in again
                for p, m in self._doubtful(sheet, name).items()
                if p in before or p in sheet.earlier
            }
            first = {name: self.results.pop(name) for name in again if name in self.results}
            seen = dict(self.seen)
            modules = {**sheet.modules, sheet.module: sheet.reference_before(again[0])}
            self._run_together(RunContext(file, modules, parts), again)
            for name, result in first.items():
                if name not in self.results or is_better(result, self.results[name]):
                    self.results[name] = result
                    self.seen.pop(name, None)
                    if name in seen:
                        self.seen[name] = seen[name]
            again = [name for name in again[1:] if self._doubtful(sheet, name).keys() - parts.keys()]

    def _doubtful(self, sheet: ExerciseSheet, name: str) -> Modules:
        """Parts of an answer that is not right which are not known to be right either -> the module that has them."""
        if name in self.results and self.results[name].state in ("passed", "fault"):
            return {}
        known = dict.fromkeys(sheet.before(name), sheet.module) | dict(sheet.earlier)
        file = self.file_of[name]
        slice_ = self.slice(file, name)
        taken = imported_within(slice_, self.assignment.packages)  # whatever the file makes itself of that name
        used = sorted((slice_.needs | taken) & known.keys())
        return {part: known[part] for part in used if part in taken or not self._is_right(file, part, sheet)}

    def _is_right(self, file: int, part: str, sheet: ExerciseSheet) -> bool:
        """Is this part, as the file has it, right: imported from where it can be, or made there and passed?"""
        if not self.answers.makes(file, part):
            # what this sheet asks for cannot be imported from the course
            withheld = part in sheet.names and any(map(self.slice(file, part).imports, self.assignment.packages))
            return self.answers.binds(file, part) and not withheld
        return self.file_of.get(part) == file and part in self.results and self.results[part].state == "passed"

    def _builds_on_a_stop(self, context: RunContext, name: str) -> bool:
        """Does an answer use an earlier one of its file that never comes back?"""
        used = self.slice(context.file, name).needs - context.parts.keys()
        order = list(self.examiners)
        stopped = [part for part in used if part in self.results and self.results[part].state == "stopped"]
        return any(self.answers.makes(context.file, p) and order.index(p) < order.index(name) for p in stopped)

    def _run(
        self,
        context: RunContext,
        names: Sequence[str],
        draws: Draws | None = None,
        probes: Mapping[str, Sequence[str]] | None = None,
    ) -> Run:
        if self.spent.all(self.runner.limits.seconds):
            return Run(stopped=Stopped("time", NOT_TRIED))
        began = monotonic()
        run = self.session.run(self.job(context, names, probes), draws)
        self.spent.by_clock += monotonic() - began
        return run

    def job(self, context: RunContext, names: Sequence[str], probes: Mapping[str, Sequence[str]] | None = None) -> Job:
        """The job that runs these answers.

        Args:
            probes: exercise -> those that are asked for, if not all.
        """
        if not isinstance(self.answers, LiveAnswers):
            return self.job_of_text(context, names, probes)
        return Job(
            exercises=probes or self._all_probes(names),
            forbid={name: self.examiners[name].exercise.forbid for name in names},
            stand_ins=context.parts,
            objects=self.answers.objects,
            namespace=self.answers.namespace,
            withheld=self.answers.withheld,
        )

    def job_of_text(
        self, context: RunContext, names: Sequence[str], probes: Mapping[str, Sequence[str]] | None = None
    ) -> Job:
        """The job for answers as text, which answers that are objects have as well."""
        slice_ = self.slice(context.file, *names)
        return Job(
            cells=[Cell("setup", self.assignment.setup), *slice_.cells()],
            exercises=probes or self._all_probes(names),
            forbid={name: self.examiners[name].exercise.forbid for name in names},
            modules={**self.assignment.modules, **self._their_modules(slice_), **context.modules},
            inert=self.assignment.inert,
            stand_ins=context.parts,
            holds_reference=bool(context.modules),
        )

    def _all_probes(self, names: Sequence[str]) -> dict[str, list[str]]:
        return {name: list(self.examiners[name].exercise.probes) for name in names}

    def _their_modules(self, slice_: Slice) -> Modules:
        """Files of the student that can be imported: none that is called like a package of the course."""
        course = self.assignment.packages
        return {name: text for name, text in slice_.modules.items() if name.partition(".")[0] not in course}

    def _confirm(self) -> None:
        """Run answers whose mistake was recognised on other inputs: it is named only if it is the same there."""
        groups: dict[int, list[str]] = {}
        for name, (context, _) in self.seen.items():
            if self.results[name].misconceptions or self.results[name].resembles:
                groups.setdefault(id(context), []).append(name)
        for names in groups.values():
            context = self.seen[names[0]][0]
            draws = {name: self.examiners[name].other_inputs.draws for name in names}
            probes = {name: self.examiners[name].probes_to_confirm(self.results[name]) for name in names}
            run = self._run(context, names, draws, probes=probes)
            for name in names:
                seen, again = self.seen[name][1], run.outcomes.get(name, {})
                self.results[name] = self.examiners[name].verdict(seen, self.results[name].seconds, again)

    # ---- what comes of it

    def _judge(self, name: str, context: RunContext, run: Run, seconds: float, stopped: Stopped | None = None) -> None:
        """Turn what was seen of one exercise into its result."""
        seconds = in_steps(seconds, self.runner.limits.seconds)
        self.seen.pop(name, None)
        try:
            self.results[name] = self._verdict(name, context, run, seconds, stopped)
        except Exception as error:  # ours, not theirs: theirs is in the observations
            self.results[name] = verdicts.fault(self.examiners[name], error, seconds)

    def _verdict(self, name: str, context: RunContext, run: Run, seconds: float, stopped: Stopped | None) -> Result:
        examiner = self.examiners[name]
        seen: Mapping[str, Observation] = run.outcomes.get(name, {})
        slice_ = self.slice(context.file, name)
        called = (*run.called, *hidden_calls(slice_.definitions, examiner.exercise.forbid))
        if stopped is None and name not in run.defined and not called:
            return verdicts.undefined(examiner, slice_, run, seconds)
        if called:
            seen = {probe: replace(o, called=(*o.called, *called)) for probe, o in seen.items()}
            seen = seen or {"while loading": Observation(None, called=called)}
        result = examiner.verdict(seen, seconds, begun=self._begun(name, context.file))
        if stopped is None or result.state == "passed":
            self.seen[name] = context, seen
            return verdicts.with_what_failed_before(result, verdicts.errors_while_loading(slice_, run))
        return verdicts.stopped(examiner, result, stopped, seen)

    def _begun(self, name: str, file: int) -> bool:
        """Is there more than the stub?"""
        return any(name in d.binds and not d.is_stub and not d.is_import for d in self.slice(file, name).definitions)


def is_better(alone: Result, with_our_parts: Result) -> bool:
    """Is the result that an answer has with its author's own parts the one to show?

    With the reference's parts a mistake is judged by itself. But a part of another shape cannot be called so, and an
    error that its author would not see helps nobody.
    """
    stopped_by_us = with_our_parts.state == "stopped" and alone.state != "stopped"
    return alone.score > with_our_parts.score or (alone.score == with_our_parts.score and stopped_by_us)


class Locator(Protocol):
    """The search for lines of mistakes that have no name: `proctor.marking.line_search.LineSearch`."""

    def locate(self, marker: SubmissionMarker) -> None: ...


def imported_within(slice_: Slice, packages: Iterable[str]) -> set[str]:
    """The names that functions import from these packages when they are called, or take from a package of them:
    `mine.rotate`."""
    inside = [found for d in slice_.definitions if not d.is_import for found in d.imports]
    names = {name for module, names in inside if module.partition(".")[0] in packages for name in names or ()}
    everything = [found for d in slice_.definitions for found in d.imports]
    if any(names is None and module.partition(".")[0] in packages for module, names in everything):
        nodes = (node for d in slice_.definitions for node in ast.walk(d.node))
        names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return names
