"""One class, three graders: throughput, memory and verdicts side by side; and how ours grows with the class."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import classroom
import ours
import theirs
from measuring import Run, Scores, say

SHOWN = 6  # verdicts that are named
INTRODUCTION = """\
A class of notebooks with {exercises} exercises each (chapters 01–03). The answers are {programs} programs,
{right} right ones and {wrong} with a classic mistake, which one student in seven makes; a comment and a variable of the
student's own tell them apart, so that nothing can be graded once for two. No answer hangs, crashes or prints.

`qkv grade` runs all probes in a sandbox, names mistakes and writes a feedback page each. `nbgrader autograde`
and `otter run`, one notebook after the other, run one test cell per exercise in a kernel, without a sandbox.
Otter's documented way for a class is `otter grade`, several containers at once; it needs Docker and was not
measured. Neither was its Python API, which keeps one process for all notebooks and should be faster than
`otter run`. Start and reports are counted for all; a large class pays for `qkv grade`'s start once.
"""
WHOSE_TESTS = """\
  (All wrong answers are mistakes that `qkv grade` knows. The tests for the other two are ours, not theirs: they
  fail a right answer that calls an earlier one which is wrong. `qkv grade` lets it sit again, with a right one
  in its place.)
"""


def section(home: Path, students: int, their_students: int) -> list[str]:
    """The lines of the results about grading a class.

    Args:
        home: where environments and classes go.
        students: graded by qkv.
        their_students: graded by nbgrader and otter, which take their time.
    """
    room = classroom.make(fresh(home / "class"), students)
    alone, *pairs = (graded(room, home, jobs, students) for jobs in (1, 2))
    their_tools = []
    for tool in ("nbgrader", "otter-grader"):
        their_tools.append(with_their_tool(tool, home, their_students))
        pairs.append(graded(room, home, 2, students))  # again: a machine has faster and slower minutes
    pair = mean(pairs)
    small = graded(classroom.make(fresh(home / "small"), their_students), home, 2, their_students)
    rows = [alone, pair, *their_tools]
    floor = ours.floor()
    return [
        "## Grading a class",
        "",
        *INTRODUCTION.format(
            exercises=len(classroom.EXERCISES),
            programs=len(classroom.RIGHT) + len(classroom.WRONG),
            right=len(classroom.RIGHT),
            wrong=len(classroom.WRONG),
        ).splitlines(),
        "",
        "| grader | submissions | seconds each | per minute | peak memory (MB) |",
        "|---|---|---|---|---|",
        *(row.line() for row in rows),
        "",
        "| throughput | " + " | ".join(f"of {tool.name}" for tool in their_tools) + " |",
        "|---|---|---|",
        *(
            f"| {words} | {' | '.join(f'{t.each / own.each:,.0f} ×' for t in their_tools)} |"
            for words, own in (
                (f"one process each: {alone.name}, {students} submissions", alone),
                (f"{pair.name}, {students} submissions, against one process", pair),
                (f"{small.name}, {their_students} submissions as they have, against one process", small),
            )
        ),
        "",
        "- Two workers were measured three times, before, between and after the others; the mean is shown. They took "
        f"{', '.join(f'{row.each:.4f}' for row in pairs)} s each.",
        f"- Two workers have {alone.each / pair.each:.2f} × the throughput of one.",
        f"- The floor, all probes on the reference in one process without isolation, comparison or reports, is "
        f"{floor:.4f} s. One worker takes {alone.each / floor:.1f} × that.",
        "- Verdicts that are true to the answer as it is written: " + "; ".join(row.truth() for row in rows[1:]) + ".",
        *WHOSE_TESTS.splitlines(),
    ]


def growth(home: Path, sizes: list[int]) -> list[str]:
    """The same with classes of different sizes: time should grow with the class, memory should not."""
    lines = ["## Growth", "", "| submissions | seconds | seconds each | peak memory (MB) |", "|---|---|---|---|"]
    for size in sizes:
        row = graded(classroom.make(fresh(home / "growing"), size), home, 2, size)
        lines.append(f"| {size:,} | {row.run.seconds:.1f} | {row.each:.4f} | {row.run.peak_mb:.0f} |")
    return [*lines, "", "Two workers; the start (torch in the grader and in each sandbox) is included."]


class Row:
    """One grader on one class."""

    def __init__(self, name: str, students: int, run: Run, scores: Scores) -> None:
        self.name, self.students, self.run, self.scores = name, students, run, scores

    @property
    def each(self) -> float:
        """Seconds for one submission."""
        return self.run.seconds / self.students

    def line(self) -> str:
        return f"| {self.name} | {self.students} | {self.each:.3f} | {60 / self.each:,.0f} | {self.run.peak_mb:.0f} |"

    def truth(self) -> str:
        """How many answers were judged as what they are, and which were not."""
        false = [
            f"{student}'s {exercise} is {'right' if right else 'wrong'}, scored {self.scores[student][exercise]:g}"
            for number in range(self.students)
            for student in [classroom.student_name(number)]
            for exercise, right in classroom.is_right(number).items()
            if (self.scores[student][exercise] == 1) != right
        ]
        total = self.students * len(classroom.EXERCISES)
        named = f" ({', '.join(false[:SHOWN])}{', …' if len(false) > SHOWN else ''})" if false else ""
        return f"{self.name} {total - len(false):,} of {total:,}{named}"


def mean(rows: list[Row]) -> Row:
    """Several runs of the same as one: the mean time, the largest memory."""
    seconds = sum(row.run.seconds for row in rows) / len(rows)
    peak = max(row.run.peak_mb for row in rows)
    return Row(rows[0].name, rows[0].students, replace(rows[0].run, seconds=seconds, peak_mb=peak), rows[0].scores)


def graded(room: Path, home: Path, jobs: int, students: int) -> Row:
    name = f"qkv grade, {jobs} {'worker' if jobs == 1 else 'workers'}"
    say(f"{name}, {students} submissions")
    return Row(name, students, *ours.grade(room, home / "graded", jobs))


def with_their_tool(tool: str, home: Path, students: int) -> Row:
    say(f"{tool}, {students} submissions")
    return Row(theirs.VERSIONS[tool].replace("==", " "), students, *theirs.warm(tool, home, students))


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder
