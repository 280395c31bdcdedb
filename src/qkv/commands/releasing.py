"""`qkv release`: what students get of graded results."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from pathlib import Path

import click

from proctor.collecting import listing
from proctor.report.lms import CannotExport
from proctor.report.lms.results import Choice
from proctor.report.release import MANIFEST, Release, write_release
from proctor.tables import key
from qkv.assignments import assignment
from qkv.commands.collecting import os_error_text
from qkv.commands.grading import known_roster, make_writable, say
from qkv.commands.scheme import read_scheme

USES = {
    "feedback": "a page per student",
    "grades.csv": "a plain table",
    "canvas.csv": "Canvas: Grades, Import",
    "canvas-comments.csv": "what is said to each student, with Canvas's ids",
    "canvas-feedback.zip": "Canvas: the assignment's Re-Upload Submissions; each page becomes a comment",
    "moodle.csv": "Moodle: Grades, Import, CSV file",
    "moodle-feedback.zip": "Moodle: Upload multiple feedback files in a zip",
    MANIFEST: "who got which page",
}


def release_results(
    results: Path,
    out: Path,
    students: Sequence[str],
    exercises: Sequence[str] | None,
    anonymous: bool,
    roster: Path | None,
    policy: Path | None,
    times: Path | None,
) -> int:
    """Write a release; returns the exit code.

    Raises:
        click.UsageError: a file has a mistake, a name is unknown, or it cannot be written there.
    """
    if out.resolve() == results.resolve() or results.resolve() in out.resolve().parents:
        raise click.UsageError(f"{results} is yours, and what is released is your students': name another folder.")
    who, scheme = known_roster(results, roster), read_scheme(results, policy, times)
    graded, folders = graded_exercises(results)
    chosen = tuple(name for name in graded if exercises is None or name in exercises)
    if not chosen:
        raise click.UsageError("None of these exercises was graded.")
    choice = Choice(chosen_students(students, folders), frozenset(chosen))
    make_writable(out)
    listed = listing.read_listing(results / listing.NAME)
    release = Release(results, assignment(chosen), scheme, choice, who, listed, "qkv")
    try:
        said = write_release(release, out, anonymous)
    except OSError as error:
        click.echo(f"Not released: {os_error_text(error)}. Grade again if it is not a full disk.", err=True)
        return 1
    except (ValueError, CannotExport) as error:
        click.echo(f"Not released: {str(error).rstrip('.')}.", err=True)
        return 1
    for sentence in said:
        say(sentence)
    click.echo(f"Wrote {out}")
    for name, use in USES.items():
        if (out / name).exists():
            click.echo(f"  {name:20}  {use}")
    return 0


def graded_exercises(results: Path) -> tuple[list[str], list[str]]:
    """The exercises and the students of the results, in their order."""
    exercises: dict[str, None] = {}
    students: dict[str, None] = {}
    try:
        with (results / "results.jsonl").open(encoding="utf-8") as file:
            for row in map(json.loads, file):
                exercises[row["exercise"]] = students[row["student"]] = None
    except (ValueError, KeyError, TypeError) as error:
        raise click.UsageError(f"{results / 'results.jsonl'} is damaged ({error}). Grade again.") from None
    return list(exercises), list(students)


def chosen_students(names: Sequence[str], known: Sequence[str]) -> frozenset[str] | None:
    """The students of these names; None stands for all.

    Raises:
        click.UsageError: there is no such student.
    """
    by_key = {key(student) for student in known}
    for name in names:
        if key(name) not in by_key:
            near = difflib.get_close_matches(name, known, n=1)
            also = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"There is no student {name!r} in these results.{also}")
    return frozenset(map(key, names)) if names else None
