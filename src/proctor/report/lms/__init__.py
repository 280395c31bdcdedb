"""Results in the forms that learning management systems import. A new form is a new file here and a line in FORMATS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from proctor.marking.submissions import joined_names
from proctor.points.scheme import Scheme
from proctor.report.lms import canvas, gradescope, moodle, plain
from proctor.report.lms.results import CannotExport, Choice, Gradebook
from proctor.report.lms.roster import BadRoster, Roster, read_roster
from proctor.tables import key

__all__ = ["FORMATS", "BadRoster", "CannotExport", "Roster", "differences", "export", "read_roster"]

ONE_FOLDER = "put their files into one folder"
MOST = 20  # names in a sentence

FORMATS: dict[str, Callable[[Gradebook, Path], None]] = {
    "gradescope": gradescope.write_gradescope,
    "canvas": canvas.write_canvas,
    "moodle": moodle.write_moodle,
    "csv": plain.write_plain,
}


def export_results(
    directory: Path,
    kind: str,
    out: Path,
    points: Mapping[str, float],
    program: str,
    roster: Roster | None = None,
    scheme: Scheme | None = None,
    choice: Choice | None = None,
) -> list[str]:
    """Turn the results in `directory` into a file for an LMS, which appears whole or not at all.

    Args:
        directory: what grading wrote.
        kind: one of FORMATS.
        out: the file to write.
        points: exercise -> what it is worth, where the scheme does not say it.
        program: the package whose command line graded the class; Gradescope runs it over there.
        roster: who is who, if somebody said it.
        scheme: from scores to points.
        choice: of students and exercises.

    Returns:
        what an instructor should know about it, in sentences.

    Raises:
        CannotExport: the results are not what this form can hold.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    book = Gradebook(directory / "results.jsonl", scheme or Scheme(points), program, roster, choice)
    if roster is not None and (twice := spelled_twice(book.students)):
        raise CannotExport(f"{twice[0]} The roster has one id for them: {ONE_FOLDER}, and grade again.")
    if out.exists() and not out.is_file():  # a pipe, /dev/stdout
        FORMATS[kind](book, out)
        return remarks(book, kind)
    part = out.with_name(f".part.{out.name}")  # the end of the name tells Gradescope's two forms apart
    try:
        FORMATS[kind](book, part)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return remarks(book, kind)


def remarks(book: Gradebook, kind: str) -> list[str]:
    """Sentences on students who are in the results but not in the roster, and the other way round."""
    left_out = (
        " Moodle refuses a whole file for one line without an id: they have none in it." if kind == "moodle" else ""
    )
    said = differences(book.unknown, [person.folder for person in book.absent], left_out)
    return (
        said
        + [f"{one} If they are one student, {ONE_FOLDER}." for one in spelled_twice(book.students)]
        + (not_applied(book.not_applied))
    )


def spelled_twice(students: Iterable[str]) -> list[str]:
    """Folders whose names are one name but for how their letters are put together, in a sentence for each name."""
    spellings: dict[str, list[str]] = {}
    for student in students:
        spellings.setdefault(key(student), []).append(student)
    return [
        f"{name} is the name of {len(found)} folders, in different spellings: {joined_names(list(map(ascii, found)))}."
        for name, found in spellings.items()
        if len(found) > 1
    ]


def not_applied(folders: Sequence[str]) -> list[str]:
    """The folders of corrections that have no results, in a sentence."""
    return [f"Corrected, but not in the results: {joined_names(list(folders), MOST)}."] if folders else []


def differences(unknown: Sequence[str], absent: Sequence[str], left_out: str = "") -> list[str]:
    """Folders that the roster does not name, and those of the roster that are not there, in a sentence each."""
    said = [f"Not in the roster: {joined_names(list(unknown), MOST)}.{left_out}"] if unknown else []
    return [
        *said,
        *([f"In the roster and without a submission: {joined_names(list(absent), MOST)}."] if absent else []),
    ]
