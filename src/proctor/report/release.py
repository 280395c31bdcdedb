"""What is handed back: pages and grades, for all or for some students and exercises, in the forms that an LMS takes.

feedback/            a page per student
grades.csv           points per exercise, total
canvas.csv           grades for Canvas            canvas-comments.csv   what is said to each student, for scripts
moodle.csv           grades for Moodle
canvas-feedback.zip, moodle-feedback.zip          the pages under the names that the download had: both give each
                                                  student the one of theirs
released.csv         who got which page, with how many points

Nothing else of the results leaves them: no code, no summary, nobody else's name.
"""

from __future__ import annotations

import csv
import io
import re
import secrets
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from proctor.collecting.listing import Listed
from proctor.grading.journal import GradedSubmission, read_marked, write_atomically
from proctor.marking.assignment import Assignment
from proctor.points.scheme import Marks, Scheme, points_text
from proctor.report.feedback import feedback_page, page_name
from proctor.report.lms import export_results
from proctor.report.lms.autograder import add
from proctor.report.lms.results import Choice
from proctor.report.lms.roster import Roster
from proctor.tables import BadTable, key, parse_table, read_text, spreadsheet_text, text_of_cell

MANIFEST = "released.csv"
ANONYMOUS = "anonymous.csv"  # stays in the results
PAGE = "feedback.html"  # in an LMS's archive
CANVAS = re.compile(r".+_\d+_", re.DOTALL)  # Canvas's names end so, Moodle's with a word


@dataclass(frozen=True)
class Release:
    """What to hand back of which results.

    Args:
        results: what grading wrote.
        assignment: with the exercises that are handed back.
        scheme: from scores to points.
        choice: which students, and which exercises.
        roster: who is who, if somebody said it.
        listed: what the download told.
        program: whose command line graded.
    """

    results: Path
    assignment: Assignment
    scheme: Scheme
    choice: Choice
    roster: Roster | None
    listed: list[Listed]
    program: str

    def students(self) -> Iterator[tuple[GradedSubmission, Marks]]:
        """The students that are chosen, with the exercises that are."""
        for marked in read_marked(self.results):
            if self.choice.takes(marked.student):
                mine = replace(marked, results=tuple(r for r in marked.results if self.choice.asks(r.exercise)))
                yield mine, self.scheme.marks_of(mine)


def write_release(release: Release, out: Path, anonymous: bool = False) -> list[str]:
    """Write everything into `out`, which is new or an earlier release; returns what an instructor should know.

    Raises:
        ValueError: `out` holds something else, or the results are damaged.
        OSError: it cannot be written, or the results were written before they were kept whole.
    """
    out.mkdir(parents=True, exist_ok=True)
    part = out / ".release.part"  # it is there as long as a release is unfinished
    if any(out.iterdir()) and not part.exists() and not (out / MANIFEST).exists():
        raise ValueError(f"{out} is not empty, and no earlier release. Name another folder with --to")
    shutil.rmtree(part, ignore_errors=True)
    (part / "feedback").mkdir(parents=True)
    names = anonymous_names(release) if anonymous else {}
    said = write_pages(release, part, names)
    if anonymous:
        write_anonymous_grades(release, part / "grades.csv", names)
    else:
        said += write_exports(release, part)
    for old in out.iterdir():
        if old != part:
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    for new in sorted(part.iterdir(), key=lambda path: path.name == MANIFEST):  # the manifest last
        new.replace(out / new.name)
    part.rmdir()
    return said


def write_pages(release: Release, out: Path, names: Mapping[str, str]) -> list[str]:
    """Pages, the archives of an LMS, and the manifest."""
    originals = {key(one.person.folder): one.original for one in release.listed if one.original and not names}
    manifest = []
    with Archives(out) as archives:
        for marked, marks in tqdm(
            release.students(), desc="Writing pages", unit=" students", delay=2, leave=False, disable=None
        ):
            shown = renamed(marked, names.get(marked.student, marked.student))
            page = feedback_page(release.assignment, shown, marks).encode("utf-8", "backslashreplace")
            name = page_name(shown.student)
            (out / "feedback" / name).write_bytes(page)
            archives.add(originals.get(key(marked.student), ""), page)
            manifest.append([spreadsheet_text(shown.student), spreadsheet_text(name), points_text(marks.total)])
    if not manifest:
        raise ValueError("nobody is chosen, so there is nothing to release")
    write_rows(out / MANIFEST, [["student", "page", "points"], *sorted(manifest)])
    return archives.said


class Archives:
    """The pages under the names that Canvas or Moodle gave to what they belong to."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.said: list[str] = []
        self._open: dict[str, zipfile.ZipFile] = {}

    def __enter__(self) -> Archives:
        return self

    def __exit__(self, *_: object) -> None:
        for archive in self._open.values():
            archive.close()

    def add(self, original: str, page: bytes) -> None:
        if not original:
            return
        system = "canvas" if CANVAS.fullmatch(original) else "moodle"
        if system not in self._open:
            self._open[system] = zipfile.ZipFile(self.out / f"{system}-feedback.zip", "w", zipfile.ZIP_DEFLATED)
        try:
            add(self._open[system], f"{original}{'' if system == 'canvas' else '/'}{PAGE}", page)
        except UnicodeError:
            self.said.append(f"{original!r} cannot be written into an archive: hand its page back by hand.")


def write_exports(release: Release, out: Path) -> list[str]:
    said: list[str] = []
    for kind, name in (("csv", "grades.csv"), ("canvas", "canvas.csv"), ("moodle", "moodle.csv")):
        said += export_results(
            release.results, kind, out / name, {}, release.program, release.roster, release.scheme, release.choice
        )
    write_comments(release, out / "canvas-comments.csv")
    return list(dict.fromkeys(said))


def write_comments(release: Release, out: Path) -> None:
    """What is said to each student in one text, beside the ids that Canvas knows."""
    rows = [["Student", "ID", "SIS Login ID", "Comment"]]
    for marked, marks in release.students():
        person = release.roster.find(marked.student) if release.roster else None
        name, number, login = (person.name, person.id, person.login) if person else (marked.student, "", marked.student)
        told = [f"{points_text(marks.total)} of {points_text(marks.possible(marks.of))} points."]
        for result in marked.results:
            mark = marks[result.exercise]
            if result.state not in ("passed", "not_started") or mark.told:
                told.append("\n".join(filter(None, [result.message, mark.told])))
        rows.append([spreadsheet_text(name), number, spreadsheet_text(login), spreadsheet_text("\n\n".join(told))])
    write_rows(out, rows)


def write_rows(out: Path, rows: list[list[str]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(out, text.getvalue())


# ---- without names


def anonymous_names(release: Release) -> dict[str, str]:
    """Student -> an id that says nothing, the same in every release; who is who stays in the results."""
    path = release.results / ANONYMOUS
    known: dict[str, str] = {}
    if path.exists():
        try:
            table = parse_table(read_text(path), ("folder", "anonymous"), ("folder", "anonymous"))
        except BadTable as error:
            raise ValueError(f"{path} cannot be used: {str(error).rstrip('.')}") from None
        known = {text_of_cell(line.cells["folder"]): line.cells["anonymous"] for line in table.lines}
    taken = set(known.values())
    for marked in read_marked(release.results):
        if marked.student not in known:
            new = next(text for text in iter(lambda: f"student-{secrets.token_hex(4)}", "") if text not in taken)
            known[marked.student] = new
            taken.add(new)
    rows = [[spreadsheet_text(student), name] for student, name in known.items()]
    write_rows(path, [["folder", "anonymous"], *rows])
    return known


def renamed(marked: GradedSubmission, name: str) -> GradedSubmission:
    """The same submission under another name, also where a note speaks of a file that is called as the student is."""
    if name == marked.student:
        return marked
    word = re.compile(rf"(?<!\w){re.escape(marked.student)}(?!\w)")
    return replace(marked, student=name, notes=tuple(word.sub(name, note) for note in marked.notes))


def write_anonymous_grades(release: Release, out: Path, names: Mapping[str, str]) -> None:
    exercises = [exercise.name for exercise in release.assignment.exercises]
    rows = [
        [names[marked.student], *(points_text(mark.points) for mark in marks), points_text(marks.total)]
        for marked, marks in release.students()
    ]
    write_rows(out, [["student", *exercises, "total"], *sorted(rows)])  # in the order of ids, which says nothing
