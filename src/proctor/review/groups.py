"""The answers of a graded class grouped by what is wrong with them, so that like answers are judged alike.

Only names and groups are held; the rest of an answer is read from the results when somebody looks at it, so that a
class of any size can be gone through.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from proctor.examining.result import IN_WORDS, Result
from proctor.grading.journal import MARKED, GradedSubmission

LAST = {"fault": 1, "passed": 2, "not_started": 3}  # groups that need a person less than others
NOT_NAMED = "No mistake of a name"
Read = Iterable[bytes]


@dataclass
class Group:
    """Answers to one exercise of which the check says the same.

    Args:
        key: by which the group is asked for.
        words: what they have in common, in a sentence.
        state: of all of them.
        students: their positions in the class.
    """

    key: str
    words: str
    state: str
    students: list[int] = field(default_factory=list)


class GradedClass:
    """The results of a class, by exercise and mistake.

    Args:
        results: the folder that grading wrote.
        watched: takes the lines of the file and gives them back, for a bar of progress.

    Raises:
        OSError: there are no such results.
        ValueError: they are damaged.
    """

    def __init__(self, results: Path, watched: Callable[[Read], Read] = lambda lines: lines) -> None:
        self.path = results / MARKED
        self.students: list[str] = []
        self._starts: list[int] = []
        self._groups: dict[str, dict[str, Group]] = {}
        with self.path.open("rb") as file:
            self._read_from = identity(file)
            start = 0
            for line in watched(file):
                marked = self._parsed(line)
                for result in marked.results:
                    self._add(result, len(self.students))
                self.students.append(marked.student)
                self._starts.append(start)
                start += len(line)

    def _parsed(self, line: bytes) -> GradedSubmission:
        try:
            return GradedSubmission.from_json(line)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self.path} is damaged ({error}). Grade again to write it anew.") from None

    def _add(self, result: Result, student: int) -> None:
        key, words = common(result)
        groups = self._groups.setdefault(result.exercise, {})
        groups.setdefault(key, Group(key, words, result.state)).students.append(student)

    def exercises(self) -> list[str]:
        """The exercises that at least one student began, in the order of the results."""
        return [name for name, groups in self._groups.items() if any(g.state != "not_started" for g in groups.values())]

    def groups(self, exercise: str) -> list[Group]:
        """The groups of an exercise: mistakes first, the most common before others, and what needs nobody last."""
        found = self._groups[exercise].values()
        return sorted(found, key=lambda group: (LAST.get(group.state, 0), -len(group.students), group.key))

    def group(self, exercise: str, key: str) -> Group:
        """One group.

        Raises:
            KeyError: there is none.
        """
        return self._groups[exercise][key]

    def submission(self, student: int) -> GradedSubmission:
        """All that was written down of one student.

        Raises:
            ValueError: these are no longer the results that were read.
            OSError: they are gone.
        """
        with self.path.open("rb") as file:
            self._still_the_same(file)
            file.seek(self._starts[student])
            return self._parsed(file.readline())

    def check_unchanged(self) -> None:
        """Make sure that these are still the results that were read.

        Raises:
            ValueError: the class was graded again.
            OSError: they are gone.
        """
        with self.path.open("rb") as file:
            self._still_the_same(file)

    def _still_the_same(self, file: BinaryIO) -> None:
        if identity(file) != self._read_from:
            raise ValueError("the class was graded again since this page was opened: start `review-class` again")


def identity(file: BinaryIO) -> tuple[int, int, int]:
    """What tells one writing of a file from another: grading puts a new file into the place of the old one."""
    found = os.fstat(file.fileno())
    return found.st_ino, found.st_size, found.st_mtime_ns


def common(result: Result) -> tuple[str, str]:
    """A key that is equal for answers of which the check says the same, and that in words."""
    said = result.explanations[0].sentence if result.explanations else ""
    if result.misconceptions:
        return "named " + " + ".join(result.misconceptions), " ".join(e.sentence for e in result.explanations)
    if result.state == "stopped":
        said = said.split(" at ")[0].rstrip(".") + "."  # not at which line
    elif result.resembles:
        return f"resembles {result.resembles}", said or NOT_NAMED
    elif result.located is not None:
        return f"located {result.located.by} {result.located.kind}", said or NOT_NAMED
    elif result.state in LAST:
        return result.state, IN_WORDS[result.state].capitalize()
    return f"{result.state} {said}", said or NOT_NAMED
