"""Collect a class from what the LMS hands out: recognise its form, settle who is who, and take the newest uploads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from proctor.collecting.forms import FORMS, recognised
from proctor.collecting.tree import FolderTree, Tree, ZipTree, top_of
from proctor.collecting.unpack import unpack
from proctor.collecting.upload import BadDownload, Upload, Who
from proctor.marking.submissions import (
    HANDED_IN,
    Class,
    File,
    Submission,
    collect,
    in_order,
    joined_names,
    legible,
    suffix,
)
from proctor.report.lms.roster import Person, Roster

__all__ = ["BadDownload", "Collected", "Student", "collect_class"]


@dataclass(frozen=True)
class Student:
    """One student of a download: who it is, the files that count, when they were handed in, and by whom of a group."""

    who: Who
    files: tuple[str, ...]
    at: datetime | None = None
    late: bool = False
    same_as: str = ""


@dataclass
class Collected:
    """A class as it was collected.

    Args:
        form: the name of the form that was recognised.
        submissions: to be marked, and what was ignored.
        students: in the order of the submissions.
        older: sentences on uploads that do not count, since there is a newer one.
        unclear: names that belong to nobody, as far as one can tell.
        remarks: other sentences.
    """

    form: str
    submissions: Class
    students: list[Student]
    older: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        return FORMS[self.form].title


def collect_class(
    place: Path, unpacked: Path, *, roster: Roster | None = None, form: str | None = None, but: Path | None = None
) -> Collected:
    """Collect a class.

    Args:
        place: a zip file or a folder.
        unpacked: a folder that does not exist; a zip file is unpacked there.
        roster: settles who is who.
        form: one of FORMS, for a download that is not recognised as what it is.
        but: a folder in `place` that belongs to no student.

    Raises:
        BadDownload: it cannot be read, or it is not of this form.
        OSError: the folder cannot be read, or nothing can be unpacked.
    """
    tree: Tree = FolderTree(place, but) if place.is_dir() else ZipTree(place)
    chosen = form or recognised(tree)
    top = FORMS[chosen].top(tree)
    if top is None and chosen == "canvas":
        top = top_of(tree)
    if top is None:
        raise BadDownload(f"{place} does not look like {FORMS[chosen].title}.")
    found = FORMS[chosen].uploads(tree, top)
    if isinstance(tree, ZipTree):
        found.ignored += tree.dropped
    told_who = roster if chosen != "folders" else None  # there the folders are the students
    known_as, contested = settled_names({upload.who for upload in found.uploads}, told_who)
    settled = [replace(upload, who=known_as[upload.who]) for upload in found.uploads]
    found.remarks += contested
    unclear = []
    for path in found.unclear:
        person = person_called(path, roster)
        if person is None:
            unclear.append(legible(path))
        else:
            name = PurePosixPath(path).name
            called = name if suffix(name) in HANDED_IN else ""
            settled.append(Upload(who_of(person), path, called, name))
    counted, older = newest(settled)
    by_student: dict[str, list[Upload]] = {}
    for upload in counted:
        by_student.setdefault(upload.who.folder, []).append(upload)
    names = sorted(by_student, key=in_order)
    if isinstance(tree, ZipTree):
        listed = Class(unpacked_class(tree, {name: by_student[name] for name in names}, unpacked), found.ignored)
    elif chosen == "folders":
        listed = collect(place, but)  # which knows links, and says so
    else:
        listed = Class([submission_of(place, name, by_student[name]) for name in names], found.ignored)
    known = {name: student_of(by_student[name]) for name in names}
    students = [known.get(s.student) or Student(Who(s.student), ()) for s in listed.submissions]
    return Collected(chosen, listed, students, older, unclear, found.remarks)


def settled_names(everybody: Iterable[Who], roster: Roster | None) -> tuple[dict[Who, Who], list[str]]:
    """Everybody as the roster knows them; and sentences on those whom it would take for one and the same."""
    known = {who: settle(who, roster) for who in everybody}
    claims: dict[str, list[Who]] = {}
    for who, settled in known.items():
        claims.setdefault(settled.folder, []).append(who)
    told = []
    for folder, several in claims.items():
        names = sorted({who.folder for who in several})
        if len(names) > 1:
            known |= {who: who for who in several}
            told.append(
                f"{joined_names(names, len(names))} all look like {folder} of the roster; nobody is taken for it."
            )
    return known, sorted(told)


def settle(who: Who, roster: Roster | None) -> Who:
    """The student as the roster knows them; as the download does, if the roster doesn't."""
    if roster is None:
        return who
    if person := roster.find(who.folder):
        return replace(who_of(person, who.original), folder=who.folder)
    person = roster.known_as(id=who.id, login=who.login, email=who.email, name=who.name)
    return who if person is None else who_of(person, who.original)


def who_of(person: Person, original: str = "") -> Who:
    return Who(legible(person.folder), person.id, person.name, person.login, person.email, original)


def person_called(path: str, roster: Roster | None) -> Person | None:
    """The person whose folder in the roster is this name of an entry, with its ending or without."""
    name = PurePosixPath(path).name
    stem = name[: -len(suffix(name))] if suffix(name) in HANDED_IN else name
    return None if roster is None else roster.find(legible(name)) or roster.find(legible(stem))


def newest(uploads: Iterable[Upload]) -> tuple[list[Upload], list[str]]:
    """The uploads that count, and a sentence on each that does not: of versions of one upload the newest does."""
    slots: dict[tuple[str, str], list[Upload]] = {}
    for upload in uploads:
        slots.setdefault((upload.who.folder, upload.slot), []).append(upload)
    counted: list[Upload] = []
    older: list[str] = []
    for (student, _), versions in slots.items():
        best = max(upload.order for upload in versions)
        counts = [upload for upload in versions if upload.order == best]
        counted += counts
        if others := [upload_name(upload) for upload in versions if upload.order != best]:
            older.append(f"{student}: {upload_name(counts[0])} counts, the newest; not {joined_names(others)}.")
    return counted, older


def upload_name(upload: Upload) -> str:
    return legible(PurePosixPath(upload.path).name)


def student_of(uploads: list[Upload]) -> Student:
    times = [upload.at for upload in uploads if upload.at is not None]
    names = tuple(legible(upload.called) or upload_name(upload) for upload in uploads)
    return Student(uploads[0].who, names, max(times, default=None), any(upload.late for upload in uploads))


def submission_of(root: Path, student: str, uploads: list[Upload]) -> Submission:
    """The submission of a student in a folder that is already unpacked."""
    called = {root / upload.path: legible(upload.called) for upload in uploads if upload.called}
    return Submission(student, tuple(root / upload.path for upload in uploads), called)


def unpacked_class(tree: ZipTree, students: dict[str, list[Upload]], place: Path) -> list[Submission]:
    """The submissions of a class whose download was a zip file. A group's upload is unpacked once."""
    from tqdm import tqdm

    there: dict[str, tuple[Path, tuple[File, ...]]] = {}
    submissions = []
    for student, uploads in tqdm(
        students.items(), desc="Unpacking", unit=" students", delay=2, leave=False, disable=None
    ):
        for upload in uploads:
            if upload.path not in there:
                folder = place / str(len(there))
                there[upload.path] = (folder, unpack(tree, upload.path, upload.called, folder))
        told = tuple(file for upload in uploads for file in there[upload.path][1])
        submissions.append(Submission(student, tuple(there[upload.path][0] for upload in uploads), told=told))
    return submissions
