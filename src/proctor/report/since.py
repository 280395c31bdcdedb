"""What changed since the run before: mistakes that went away, that stayed and that are new, and points that changed.

Results of the run before lie in `earlier/N/results.jsonl`, in the order of names as the new ones are. Both are walked
side by side, so that only counts are held.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from proctor.examining.result import IN_WORDS, Result
from proctor.grading.journal import EARLIER, MARKED, GradedSubmission
from proctor.marking.submissions import in_order

BEGINNING = re.compile(rb'\{"student":("(?:[^"\\]|\\.)*"),"digest":"([^"]*)"')  # of a line of MARKED
MOST_CHANGES = 60  # that are listed one by one
Rows = Mapping[str, Mapping[str, Any]]  # exercise -> line of results.jsonl


@dataclass
class Fate:
    """One mistake in both runs: the students who made it before and pass now, make another one, or still make it; and
    those who make it now and did not."""

    passes: int = 0
    other: int = 0
    stayed: int = 0
    new: int = 0

    @property
    def before(self) -> int:
        return self.passes + self.other + self.stayed


@dataclass(frozen=True)
class Change:
    """An answer whose score changed, and why: state and mistake before and now, and whether the files are the same.

    With the same files, it is the exercise that was mended, or fresh inputs that told an answer from a right one.
    """

    student: str
    exercise: str
    before: float
    now: float
    was: str
    is_now: str
    same_files: bool | None = None  # None where that is not known


@dataclass
class Since:
    """Counts over the students of both runs.

    Args:
        path: of the results before.
    """

    path: Path
    students: int = 0  # in both runs
    passed: dict[str, list[int]] = field(default_factory=dict)  # exercise -> who passed it before, and now
    fates: dict[tuple[str, str], Fate] = field(default_factory=dict)  # (exercise, mistake) -> what became of it
    changes: list[Change] = field(default_factory=list)  # the first ones
    changed: int = 0  # all of them
    unhanded: int = 0  # those of them whose files are the same as before

    def __post_init__(self) -> None:
        self._digests = self._walk_digests()
        self._digest = next(self._digests, None)
        self._before = self._walk()
        self._next = next(self._before, None)

    def _walk(self) -> Iterator[tuple[str, Rows]]:
        try:
            with self.path.open(encoding="utf-8") as file:
                for student, lines in groupby(map(json.loads, file), key=lambda row: str(row["student"])):
                    yield student, {str(row["exercise"]): row for row in lines}
        except (OSError, ValueError, KeyError, TypeError):  # what was written before may be damaged, or by hand
            return

    def _walk_digests(self) -> Iterator[tuple[str, str]]:
        """Student and digest of what was handed in, from the beginning of each line; the rest of it may be long."""
        try:
            with self.path.with_name(MARKED).open("rb") as file:
                for line in file:
                    if not (found := BEGINNING.match(line)):
                        return
                    yield json.loads(found[1]), found[2].decode()
        except (OSError, ValueError):
            return

    def _same_files(self, marked: GradedSubmission) -> bool | None:
        while self._digest is not None and in_order(self._digest[0]) < in_order(marked.student):
            self._digest = next(self._digests, None)
        known = self._digest is not None and self._digest[0] == marked.student
        return self._digest[1] == marked.digest if known and self._digest is not None else None

    def add(self, marked: GradedSubmission) -> None:
        """Count a student, in the order of names."""
        while self._next is not None and in_order(self._next[0]) < in_order(marked.student):
            self._next = next(self._before, None)
        if self._next is None or self._next[0] != marked.student:
            return
        rows = self._next[1]
        common = [(result, rows[result.exercise]) for result in marked.results if result.exercise in rows]
        self.students += bool(common)
        same = self._same_files(marked)
        for result, row in common:
            self._compare(marked.student, result, row, same)

    def _compare(self, student: str, result: Result, row: Mapping[str, Any], same: bool | None) -> None:
        name, state, score = result.exercise, row.get("state"), float(row.get("score") or 0.0)
        counts = self.passed.setdefault(name, [0, 0])
        counts[0] += state == "passed"
        counts[1] += result.state == "passed"
        before = {m for m in str(row.get("misconception") or "").split(" + ") if m}
        for mistake in before | set(result.misconceptions):
            fate = self.fates.setdefault((name, mistake), Fate())
            fate.stayed += mistake in before and mistake in result.misconceptions
            fate.new += mistake not in before
            gone = mistake in before and mistake not in result.misconceptions
            fate.passes += gone and result.state == "passed"
            fate.other += gone and result.state != "passed"
        if abs(score - result.score) > 1e-6:
            self.changed += 1
            self.unhanded += same is True
            if len(self.changes) < MOST_CHANGES:
                words: dict[Any, str] = {**IN_WORDS}
                was = words.get(state, str(state))
                is_now = " + ".join([result.in_words, *result.misconceptions])
                change = Change(student, name, score, result.score, " + ".join([was, *sorted(before)]), is_now, same)
                self.changes.append(change)

    def in_order(self) -> list[tuple[str, str, Fate]]:
        """(exercise, mistake, what became of it), what stayed most often first."""
        found = [(exercise, mistake, fate) for (exercise, mistake), fate in self.fates.items()]
        return sorted(found, key=lambda f: (-f[2].stayed - f[2].new, -f[2].before, f[0], f[1]))

    @property
    def gone(self) -> Counter[str]:
        """How many mistakes of the run before are corrected, are another one now, stayed, and are new."""
        total: Counter[str] = Counter()
        for fate in self.fates.values():
            total.update(passes=fate.passes, other=fate.other, stayed=fate.stayed, new=fate.new)
        return total


def since_last(out: Path) -> Since | None:
    """The comparison with the last run whose results were moved to `earlier`; None if there was none."""
    numbers = [int(p.parent.name) for p in (out / EARLIER).glob("*/results.jsonl") if p.parent.name.isdecimal()]
    return Since(out / EARLIER / str(max(numbers)) / "results.jsonl") if numbers else None
