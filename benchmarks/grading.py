"""One class, three graders: throughput, memory and verdicts side by side; one upload; how ours grows with a class."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path

import classroom
import ours
import theirs
from measuring import Run, Scores, say

from proctor.inside.warmup import TRICKS, VARIABLE

SHOWN = 6  # verdicts that are named
BOTH = (1, 2)  # processes
SMALL = 20  # submissions of a small class, of which the start takes most
INTRODUCTION = """\
A class of notebooks with {exercises} exercises each (chapters 01–03): {right} right programs and {wrong} with a classic
mistake, which one student in seven makes, each spelled by dice in the words of another student. Of {students} notebooks
{notebooks} differ as programs, the names of variables left aside; their {total:,} answers are {answers} different
programs. No answer hangs, crashes or prints.

`qkv grade` runs all probes in a sandbox, names mistakes and writes a feedback page each. `nbgrader autograde`, otter's
API (`otter.api.grade_submission`, one Python process for all notebooks) and `otter run` (a command each) run one test
cell per exercise in a kernel, without a sandbox. Otter's documented way for a class is `otter grade`, several
containers at once; it needs Docker and was not measured. Two processes of nbgrader or otter have half of the class
each, and share nothing. Start and reports are counted for all. Their time for one submission does not depend on how
many there are, so that {theirs} of them stand for any class; `qkv grade` pays for its start once.
"""
WHOSE_TESTS = """\
  (All wrong answers are mistakes that `qkv grade` knows. The tests for the other two are ours, not theirs: they
  fail a right answer that calls an earlier one which is wrong. `qkv grade` runs it again, with a right one in its
  place.)
"""


def section(
    home: Path, students: int, their_students: int, rounds: int, tools: Sequence[str] = tuple(theirs.TOOLS)
) -> list[str]:
    """The lines of the results about grading a class.

    Args:
        home: where environments and classes go.
        students: graded by qkv.
        their_students: graded by nbgrader and otter, which take their time.
        rounds: of everything, since a machine has faster and slower minutes.
        tools: the others; each is installed, into an environment of its own.
    """
    large = classroom.make(fresh(home / "class"), students)
    small = classroom.make(fresh(home / "small"), min(SMALL, students))
    measured: dict[tuple[str, int, int], Row] = {}
    floors, uploads, imports = [], [], []
    for _ in range(rounds):
        for jobs in BOTH:
            add(measured, graded(large, home, jobs, students))
            add(measured, graded(small, home, jobs, min(SMALL, students)))
            for tool in tools:
                add(measured, with_their_tool(tool, home, their_students, jobs))
        floors.append(ours.floor())
        say("one upload")
        for _ in range(3):
            imports.append(ours.importing_torch())
            uploads.append(ours.upload(home))
    rows = list(measured.values())
    notebooks, programs = classroom.differ(students)
    about = {"exercises": len(classroom.EXERCISES), "right": len(classroom.RIGHT), "wrong": len(classroom.WRONG)}
    about |= {"students": students, "theirs": their_students, "notebooks": notebooks, "answers": programs}
    about["total"] = students * len(classroom.EXERCISES)
    alone, pair = (measured[OURS, jobs, students] for jobs in BOTH)
    once = [a / b for a, b in zip(uploads, imports, strict=True)]
    return [
        "## Grading a class",
        "",
        *INTRODUCTION.format(**about).splitlines(),
        "",
        f"Measured {rounds} times, in turns; the median is shown, and the range.",
        "",
        "| grader | processes | submissions | seconds each | range | peak memory (MB) |",
        "|---|---|---|---|---|---|",
        *(row.line() for row in sorted(rows, key=lambda row: (row.processes, row.each))),
        "",
        "Throughput of `qkv grade`, like for like:",
        "",
        "| processes | submissions | " + " | ".join(f"of {name(tool)}" for tool in tools) + " |",
        "|---|---|" + "---|" * len(tools),
        *(
            f"| {jobs} | {size} | "
            + " | ".join(ratio(measured, tool, jobs, size, their_students) for tool in tools)
            + " |"
            for jobs in BOTH
            for size in sorted({students, min(SMALL, students)}, reverse=True)
        ),
        "",
        f"- Two workers have {alone.each / pair.each:.2f} × the throughput of one.",
        f"- The floor, all probes on the reference in one process without isolation, comparison or reports, is "
        f"{statistics.median(floors):.4f} s. One worker takes {alone.each / statistics.median(floors):.1f} × that.",
        f"- One upload as Gradescope has it run, from start to written verdict, takes {statistics.median(once):.2f} × "
        f"the time of `python -c 'import torch'` ({min(once):.2f} to {max(once):.2f}, n = {len(once)}, in turns).",
        "- Verdicts that are true to the answer as it is written: "
        + "; ".join(measured[n, 1, s].truth() for n, s in truths(students, their_students, tools))
        + ".",
        *WHOSE_TESTS.splitlines(),
    ]


def growth(home: Path, sizes: list[int]) -> list[str]:
    """The same with classes of different sizes: time should grow with the class, memory should not."""
    lines = ["## Growth", "", "| submissions | seconds | seconds each | peak memory (MB) |", "|---|---|---|---|"]
    for size in sizes:
        row = graded(classroom.make(fresh(home / "growing"), size), home, 2, size)
        lines.append(f"| {size:,} | {row.runs[0].seconds:.1f} | {row.each:.4f} | {row.peak_mb:.0f} |")
    return [*lines, "", "Two workers; the start (torch in the grader and in each sandbox) is included."]


def tricks(home: Path, students: int, rounds: int, names: Sequence[str] = TRICKS) -> list[str]:
    """What each of the tricks that make a graded class fast is worth: the same class without it."""
    room = classroom.make(fresh(home / "tricks"), students)
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for trick in ("", *names):
            say(f"{OURS}, {students} submissions, {f'without {trick}' if trick else 'all tricks'}")
            run, _ = ours.grade(room, home / "graded", 1, {VARIABLE: f"-{trick}" if trick else "all"})
            times.setdefault(trick, []).append(run.seconds)
    lines = ["## What each trick gains", "", *WITHOUT.format(students=students, rounds=rounds).splitlines(), ""]
    lines += ["| without | time, of that with all | range |", "|---|---|---|"]
    for trick in names:
        ratios = [a / b for a, b in zip(times[trick], times[""], strict=True)]
        lines.append(
            f"| {trick} | {100 * statistics.median(ratios):.0f} % | {100 * min(ratios):.0f}–{100 * max(ratios):.0f} % |"
        )
    return lines


WITHOUT = """\
`proctor.inside.warmup` says what each of them is. A class of {students}, one worker, start included; {rounds}
rounds, in each of them all tricks and then all but one.
"""
OURS = "qkv grade"


class Row:
    """One grader on one class, in so many processes; measured once or several times."""

    def __init__(self, name: str, processes: int, students: int, run: Run, scores: Scores) -> None:
        self.name, self.processes, self.students, self.scores = name, processes, students, scores
        self.runs = [run]

    @property
    def all_each(self) -> list[float]:
        return [run.seconds / self.students for run in self.runs]

    @property
    def each(self) -> float:
        """Seconds for one submission, the median."""
        return statistics.median(self.all_each)

    @property
    def peak_mb(self) -> float:
        return max(run.peak_mb for run in self.runs)

    def line(self) -> str:
        span = f"{min(self.all_each):.3f}–{max(self.all_each):.3f}"
        return f"| {self.name} | {self.processes} | {self.students} | {self.each:.3f} | {span} | {self.peak_mb:.0f} |"

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


Measured = dict[tuple[str, int, int], Row]


def add(measured: Measured, row: Row) -> None:
    """One more measurement of the same."""
    key = row.name, row.processes, row.students
    if key in measured:
        measured[key].runs += row.runs
    else:
        measured[key] = row


def ratio(measured: Measured, tool: str, processes: int, size: int, their_students: int) -> str:
    own, other = measured[OURS, processes, size], measured[name(tool), processes, their_students]
    return f"{other.each / own.each:,.0f} ×"


def truths(students: int, their_students: int, tools: Sequence[str]) -> Sequence[tuple[str, int]]:
    return [(OURS, students), *((name(tool), their_students) for tool in tools)]


def graded(room: Path, home: Path, jobs: int, students: int) -> Row:
    say(f"{OURS}, {jobs} workers, {students} submissions")
    return Row(OURS, jobs, students, *ours.grade(room, home / "graded", jobs))


def with_their_tool(tool: str, home: Path, students: int, processes: int) -> Row:
    say(f"{tool}, {processes} processes, {students} submissions")
    return Row(name(tool), processes, students, *theirs.warm(tool, home, students, processes))


def name(tool: str) -> str:
    """With its version."""
    package = "nbgrader" if tool == "nbgrader" else "otter-grader"
    return f"{tool} ({theirs.VERSIONS[package].split('==')[1]})"


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder
