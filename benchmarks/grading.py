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
    rows = [alone, pair, *their_tools]
    floor = ours.floor()
    return [
        "## Grading a class",
        "",
        f"A class of notebooks with {len(classroom.EXERCISES)} exercises each (chapters 01–03). No two answers are the",
        "same program; one student in seven makes a given classic mistake. Each grader is run as its users run it,",
        "start and reports included: `qkv grade` (all probes, sandboxed, mistakes named, a feedback page each),",
        "`nbgrader autograde`, and `otter run` for one notebook after the other. Those two run one test cell per",
        "exercise in a kernel, without a sandbox.",
        "",
        "| grader | submissions | seconds each | per minute | peak memory (MB) |",
        "|---|---|---|---|---|",
        *(row.line() for row in rows),
        "",
        "| throughput | " + " | ".join(f"of {tool.name}" for tool in their_tools) + " |",
        "|---|---|---|",
        *(f"| {own.name} | {' | '.join(f'{t.each / own.each:,.0f} ×' for t in their_tools)} |" for own in rows[:2]),
        "",
        "- Two workers were measured three times, before, between and after the others; the mean is shown. They took "
        f"{', '.join(f'{row.each:.4f}' for row in pairs)} s each.",
        f"- Two workers have {alone.each / pair.each:.2f} × the throughput of one.",
        f"- The floor, all probes on the reference in one process without isolation, comparison or reports, is "
        f"{floor:.4f} s. One worker takes {alone.each / floor:.1f} × that.",
        "- Verdicts that are true to the answer as it is written: " + "; ".join(row.truth() for row in rows[1:]) + ".",
        "  (Their tests fail a right answer that calls an earlier one which is wrong. `qkv grade` runs it again,",
        "  with a right one in its place.)",
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
