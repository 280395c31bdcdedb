"""What the page asks for, and what it may change: answers in their groups, and corrections in their file.

Every correction is written at once, into the file as it is at that moment: who edits it beside the page loses nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from proctor.grading.folder_lock import locked
from proctor.marking.submissions import Submission
from proctor.points import corrections
from proctor.points.corrections import Correction, Corrections
from proctor.points.scheme import Mark, Scheme, points_text
from proctor.report.notebook import card
from proctor.review.code import code_of
from proctor.review.groups import GradedClass, Group
from proctor.sandbox import Fault

Json = dict[str, Any]


class Refused(ValueError):
    """Something that cannot be done; the message says why."""


class Desk:
    """A class on somebody's desk.

    Args:
        results: the folder that grading wrote.
        graded: what is in it.
        worth: exercise -> the points that it is worth.
        submissions: student -> the files themselves, where they are known.
    """

    def __init__(
        self,
        results: Path,
        graded: GradedClass,
        worth: Mapping[str, float],
        submissions: Mapping[str, Submission] | None = None,
    ) -> None:
        self.results = results
        self.graded = graded
        self.worth = {name: worth.get(name, 1.0) for name in graded.exercises()}
        self.all_worth = {**worth, **self.worth}
        self.submissions = submissions or {}
        self._one_at_a_time = threading.Lock()

    def overview(self) -> Json:
        """All exercises with their groups, and how many answers of each were corrected."""
        written = self._read()
        return {
            "students": len(self.graded.students),
            "corrections": len(written),
            "exercises": [
                {
                    "name": name,
                    "worth": self.worth[name],
                    "groups": [self._about(name, group, written) for group in self.graded.groups(name)],
                }
                for name in self.graded.exercises()
            ],
        }

    def _about(self, exercise: str, group: Group, written: Corrections) -> Json:
        return {
            "key": group.key,
            "words": group.words,
            "state": group.state,
            "count": len(group.students),
            "corrected": sum(written.find(self.graded.students[s], exercise) is not None for s in group.students)
            if len(written)
            else 0,
        }

    def answer(self, exercise: str, key: str, at: int) -> Json:
        """One answer of a group: card, code, points."""
        group = self._group(exercise, key)
        if not 0 <= at < len(group.students):
            raise Refused(f"this group has {len(group.students)} answers")
        marked = self.graded.submission(group.students[at])
        result = next(result for result in marked.results if result.exercise == exercise)
        code = code_of(marked, exercise, self.submissions)
        return {
            "student": marked.student,
            "card": card(result, style=False),
            "code": code.text,
            "line": result.line,
            "note": code.note,
            "notes": list(marked.notes[:5]),
            "score": result.score,
            "mark": self._mark(marked.student, exercise, result.score, self._read()),
        }

    def correct(self, exercise: str, key: str, at: int, points: str, comment: str) -> Json:
        """Correct one answer, in the place of an earlier correction; without points and comment, take it back."""
        group = self._group(exercise, key)
        if not 0 <= at < len(group.students):
            raise Refused(f"this group has {len(group.students)} answers")
        student = self.graded.students[group.students[at]]
        found = self.graded.submission(group.students[at])  # before anything is written: it may be another one by now
        written = self._change([student], exercise, points, comment)
        score = next(result.score for result in found.results if result.exercise == exercise)
        return {"mark": self._mark(student, exercise, score, written), **self._counted(exercise, group, written)}

    def correct_group(self, exercise: str, key: str, points: str, comment: str) -> Json:
        """Correct all answers of a group that nobody has corrected yet."""
        if not points and not comment:
            raise Refused("there are neither points nor a comment to give")
        group = self._group(exercise, key)
        self.graded.check_unchanged()
        before = self._read()
        students = [self.graded.students[s] for s in group.students]
        untouched = [student for student in students if before.find(student, exercise) is None]
        written = self._change(untouched, exercise, points, comment)
        return {"changed": len(untouched), **self._counted(exercise, group, written)}

    def _counted(self, exercise: str, group: Group, written: Corrections) -> Json:
        return {"corrections": len(written), "corrected": self._about(exercise, group, written)["corrected"]}

    def _group(self, exercise: str, key: str) -> Group:
        try:
            return self.graded.group(exercise, key)
        except KeyError:
            raise Refused("there is no such group of answers") from None

    def _mark(self, student: str, exercise: str, score: float, written: Corrections) -> Json:
        mark: Mark = Scheme(self.all_worth, written).mark(student, exercise, score)
        correction = mark.correction
        return {
            "worth": mark.worth,
            "verdict": points_text(mark.verdict),
            "points": points_text(mark.points),
            "given": correction.points if correction else "",
            "comment": correction.comment if correction else "",
            "corrected": correction is not None,
        }

    def _read(self) -> Corrections:
        try:
            return corrections.read(self.results / corrections.NAME, self.all_worth)
        except corrections.BadCorrections as error:
            raise Refused(str(error)) from None

    def _change(self, students: list[str], exercise: str, points: str, comment: str) -> Corrections:
        """Write a correction of these students' answers into the file as it is now."""
        points, comment = points.strip(), comment.strip()
        if len(comment) > corrections.LONGEST:
            raise Refused(
                f"a comment has at most {corrections.LONGEST:,} characters, and this one has {len(comment):,}"
            )
        with self._one_at_a_time:
            try:
                with locked(self.results):
                    written = self._read()
                    for student in students:
                        self._put(written, student, exercise, points, comment)
                    corrections.write(self.results / corrections.NAME, written)
            except (Fault, OSError) as error:
                raise Refused(f"nothing was written: {error}") from None
        return written

    def _put(self, written: Corrections, student: str, exercise: str, points: str, comment: str) -> None:
        if not points and not comment:
            written.remove(student, exercise)
            return
        before = written.find(student, exercise)
        try:
            new = Correction(student, exercise, points, comment)
            corrections.check(new, self.all_worth, {})
        except ValueError as error:
            raise Refused(str(error)) from None
        written.put(replace(before, points=points, comment=comment) if before else new)
