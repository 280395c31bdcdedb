"""One submission while it is marked: which answers sit together, who sits again, and what comes of it.

All answers of a file sit together. Three things lead to another sitting: answers that import parts of the course (each
sheet may import other ones), code that was stopped (the answers behind it still get their turn), and an answer that is
not right while a part that it builds on is not either (it sits again with the reference's part, so that an earlier
mistake costs nothing later).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from proctor.answers import Answers, Cut
from proctor.assignment import Assignment, Sheet
from proctor.diagnose import Examiner
from proctor.evasion import hidden_calls
from proctor.forbid import Family
from proctor.observe import Observation
from proctor.result import Explanation, Result, State
from proctor.sandbox import Cell, Sandbox, Sitting, Stopped

PATIENCE = 4  # sittings of one submission that may run into the time limit; what is left then is not tried
OUT_OF_PATIENCE = "This was not tried: other answers of this submission used up its time."
MOST_CODE = 30_000  # characters that are kept for the comparison with others

Modules = Mapping[str, str]


@dataclass
class Paper:
    """One submission and its results so far."""

    assignment: Assignment
    examiners: Mapping[str, Examiner]
    box: Sandbox
    answers: Answers
    results: dict[str, Result] = field(default_factory=dict)
    homes: dict[str, int] = field(default_factory=dict)  # exercise -> the file that answers it
    cuts: dict[tuple[int, tuple[str, ...]], Cut] = field(default_factory=dict)
    ran_out_of_time: int = 0

    def mark(self) -> None:
        """Fill in the results of all exercises."""
        for exercise in self.assignment.exercises:
            home = self.answers.home(exercise.name)
            if home is None:
                self.results[exercise.name] = self._absent(exercise.name)
            else:
                self.homes[exercise.name] = home
        course = {sheet.module.partition(".")[0] for sheet in self.assignment.sheets}
        for home in sorted(set(self.homes.values())):
            alone = [n for n in self._living_in(home) if not any(self.cut(home, n).imports(name) for name in course)]
            self._sit(home, alone)
            for sheet in self.assignment.sheets:
                self._sit(home, [n for n in self._living_in(home, sheet) if n not in alone], sheet.modules)
        for sheet in self.assignment.sheets:
            for home in sorted(set(self.homes.values())):
                self._sit_again(sheet, home)

    def code(self) -> str:
        """The code behind all answers of the student, each piece once."""
        pieces = dict.fromkeys(d for name, home in self.homes.items() for d in self.cut(home, name).definitions)
        return "\n\n".join(d.text for d in pieces if not d.is_import and not d.is_stub)[:MOST_CODE]

    def cut(self, home: int, *names: str) -> Cut:
        if (home, names) not in self.cuts:
            self.cuts[home, names] = self.answers.cut(home, names)
        return self.cuts[home, names]

    def _living_in(self, home: int, sheet: Sheet | None = None) -> list[str]:
        """The exercises that a file answers, in order; those of one sheet or of all."""
        exercises = self.assignment.exercises if sheet is None else sheet.exercises
        return [exercise.name for exercise in exercises if self.homes.get(exercise.name) == home]

    # ---- who sits with whom

    def _sit(self, home: int, names: Sequence[str], modules: Modules = {}, parts: Modules = {}) -> None:  # noqa: B006
        """Mark answers of one file together, but for those that build on one that was stopped."""
        left = self._by_what_they_forbid(names)
        while left := [name for name in left if not self._builds_on_a_stop(home, name, parts)]:
            sitting = self._sitting(home, left, modules, parts)
            stopped = sitting.stopped
            if stopped is None:
                for name in left:
                    self._judge(name, sitting, sitting.seconds / len(left))
                return
            if not stopped.exercise and len(left) > 1:  # while loading: only one of them may be to blame
                for name in left:
                    self._sit(home, [name], modules, parts)
                return
            to_blame = stopped.exercise if stopped.exercise in left else left[0]
            finished = left[: left.index(to_blame)]
            for name in finished:
                self._judge(name, sitting, 0.0)
            self._judge(to_blame, sitting, sitting.seconds, stopped)
            left = left[len(finished) + 1 :]

    def _by_what_they_forbid(self, names: Sequence[str]) -> list[str]:
        """Those that forbid the same beside each other: taking something away costs as much as a few probes."""
        groups: dict[tuple[Family, ...], list[str]] = {}
        for name in names:
            groups.setdefault(self.examiners[name].exercise.forbid, []).append(name)
        return [name for group in groups.values() for name in group]

    def _sit_again(self, sheet: Sheet, home: int) -> None:
        """Mark answers that are not right once more, with the reference's version of what they build on.

        No answer sits with a reference that comes after it or with its own: what is handed out ends before the first.
        """
        again = [name for name in self._living_in(home, sheet) if self._doubtful(sheet, name)]
        while again:
            before = sheet.before(again[0])
            parts = {
                p: m
                for name in again
                for p, m in self._doubtful(sheet, name).items()
                if p in before or p in sheet.earlier
            }
            first = {name: self.results.pop(name) for name in again if name in self.results}
            self._sit(home, again, {**sheet.modules, sheet.module: sheet.reference_before(again[0])}, parts)
            for name, result in first.items():
                if name not in self.results or self.results[name].score < result.score:
                    self.results[name] = result
            again = [name for name in again[1:] if self._doubtful(sheet, name).keys() - parts.keys()]

    def _doubtful(self, sheet: Sheet, name: str) -> Modules:
        """Parts of an answer that is not right which are not known to be right either -> the module that has them."""
        if name in self.results and self.results[name].state in ("passed", "fault"):
            return {}
        known = dict.fromkeys(sheet.before(name), sheet.module) | dict(sheet.earlier)
        home = self.homes[name]
        used = sorted(self.cut(home, name).needs & known.keys())
        return {part: known[part] for part in used if not self._is_right(home, part)}

    def _is_right(self, home: int, part: str) -> bool:
        """Is this part, as the file has it, right: imported, or made there and passed?"""
        if not self.answers.makes(home, part):
            return self.answers.binds(home, part)
        return self.homes.get(part) == home and part in self.results and self.results[part].state == "passed"

    def _builds_on_a_stop(self, home: int, name: str, parts: Modules) -> bool:
        """Does an answer use an earlier one of its file that never comes back?"""
        used = self.cut(home, name).needs - parts.keys()
        order = list(self.examiners)
        stopped = [part for part in used if part in self.results and self.results[part].state == "stopped"]
        return any(self.answers.makes(home, p) and order.index(p) < order.index(name) for p in stopped)

    def _sitting(self, home: int, names: Sequence[str], modules: Modules, parts: Modules) -> Sitting:
        if self.ran_out_of_time >= PATIENCE:
            return Sitting(stopped=Stopped("time", OUT_OF_PATIENCE))
        cut = self.cut(home, *names)
        sitting = self.box.sit(
            [Cell("setup", self.assignment.setup), *cut.cells()],
            {**cut.modules, **modules},
            parts,
            {name: list(self.examiners[name].exercise.probes) for name in names},
            {name: self.examiners[name].exercise.forbid for name in names},
            visitor=self,
            keep=not modules,  # a process that has seen parts of the reference is not asked again
        )
        if sitting.stopped is not None and sitting.stopped.reason == "time":
            self.ran_out_of_time += 1
        return sitting

    # ---- what comes of it

    def _judge(self, name: str, sitting: Sitting, seconds: float, stopped: Stopped | None = None) -> None:
        """Turn what was seen of one exercise into its result."""
        seconds = in_steps(seconds, self.box.limits.seconds)
        try:
            self.results[name] = self._verdict(name, sitting, seconds, stopped)
        except Exception as error:  # ours, not theirs: theirs is in the observations
            why = Explanation(
                f"The check itself failed ({type(error).__name__}: {error}). This is our fault, not yours."
            )
            count = len(self.examiners[name].exercise.probes)
            self.results[name] = Result(name, "fault", 0.0, 0, count, explanations=(why,), seconds=seconds)

    def _verdict(self, name: str, sitting: Sitting, seconds: float, stopped: Stopped | None) -> Result:
        examiner = self.examiners[name]
        seen: Mapping[str, Observation] = sitting.outcomes.get(name, {})
        if stopped is None and name not in sitting.defined:
            return self._undefined(name, sitting, seconds)
        hidden = hidden_calls(self.cut(self.homes[name], name).definitions, examiner.exercise.forbid)
        if hidden:
            seen = {probe: replace(o, called=(*o.called, *hidden)) for probe, o in seen.items()}
        result = examiner.verdict(seen, seconds)
        if stopped is None or result.state == "passed":
            return result
        probe = examiner.exercise.probes.get(stopped.probe)
        where = f"It was looked at on {probe.situation}." if probe else "" if seen else "It had not been called yet."
        why = Explanation(stopped.detail.replace("The code", "Your code", 1), where)
        return replace(result, state="stopped", misconception=None, explanations=(why,), situation="", evidence=())

    def _absent(self, name: str) -> Result:
        """No readable file defines it."""
        spoiled = [problem.sentence for problem in self.answers.problems if problem.mentions(name)]
        if spoiled:
            return self._nothing(name, "stopped", Explanation(" ".join(spoiled)))
        unread = [problem.sentence for problem in self.answers.problems if not problem.text]
        if unread:
            return self._nothing(name, "not_started", Explanation(f"No {name} was found. {' '.join(unread)}"))
        return self._nothing(name, "not_started")

    def _undefined(self, name: str, sitting: Sitting, seconds: float) -> Result:
        """A file has it, but running its definition left nothing that can be called."""
        labels = [cell.label for cell in self.cut(self.homes[name], name).cells()]
        failed = [label for label in labels if label in sitting.cell_errors]
        if not failed:
            why = Explanation(f"`{name}` is not something that can be called.")
            return self._nothing(name, "stopped", why, seconds, evidence=sitting.notes[:3])
        error = sitting.cell_errors[failed[-1]]
        why = Explanation(f"Your code raised {error.kind} while {name} was being defined.")
        return self._nothing(name, "stopped", why, seconds, evidence=(f"{error} ({error.where or failed[-1]})",))

    def _nothing(
        self,
        name: str,
        state: State,
        why: Explanation | None = None,
        seconds: float = 0.0,
        evidence: tuple[str, ...] = (),
    ) -> Result:
        """The result of an answer of which nothing was seen."""
        unseen = self.examiners[name].verdict({}, seconds)
        return replace(unseen, state=state, explanations=(why,) if why else (), situation="", evidence=evidence)


def in_steps(seconds: float, limit: float) -> float:
    """The processor time of an answer, rounded down to quarters of the limit.

    Finer would be noise: two runs of one class are to give the same files, on a busy machine too.
    """
    return limit / 4 * min(math.floor(4 * seconds / limit), 4)
