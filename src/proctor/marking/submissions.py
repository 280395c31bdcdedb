"""The submissions of a class: a folder with one folder or file per student. Links are never followed out of it.

A file that cannot be taken (too large, a link, unreadable) is kept as a problem in words, which ends up in its
student's feedback. Nothing here depends on what is inside a file, and nothing raises because of it.
"""

from __future__ import annotations

import hashlib
import math
import os
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

WEIGHTS = ".safetensors"
SUFFIXES = (".ipynb", ".py", WEIGHTS)
ARCHIVE = ".zip"
HANDED_IN = (*SUFFIXES, ARCHIVE)  # an archive of them is one file to hand in
NOT_WORK = {"__pycache__", "__MACOSX", "node_modules"}
MOST_FILES = 200  # of one student
DEEPEST = 6  # folders below a student's own
MB = 2**20
LARGEST = {".ipynb": 64 * MB, ".py": 2 * MB, WEIGHTS: 4 * MB, ARCHIVE: 64 * MB}  # a notebook carries its pictures
MOST_BYTES = 128 * MB  # of one student: they are held together while the student is marked
JOINERS = "\u200c\u200d"  # part of how some languages are written, and they turn nothing round


@dataclass(frozen=True)
class File:
    """One file of a submission: its bytes, or why there are none."""

    name: str  # relative to the student's folder
    content: bytes = b""
    problem: str = ""

    @property
    def suffix(self) -> str:
        return suffix(self.name)


@dataclass
class Room:
    """How much of a student's work may still be read."""

    bytes: int
    files: int


@dataclass(frozen=True)
class Submission:
    """The submission of one student: folders and files, not read yet.

    Args:
        student: as results call them.
        places: its folders and files.
        called: the name that its author gave to a file, where an LMS gave it another.
        told: what could not even be collected, in words.
    """

    student: str
    places: tuple[Path, ...]
    called: Mapping[Path, str] = field(default_factory=dict)
    told: tuple[File, ...] = ()

    def load(self) -> list[File]:
        """Read the files in the order of names, up to the size limit."""
        from proctor.marking.archives import members  # which reads by the rules of this file

        unread: list[File] = []
        found = sorted(
            ((self.called.get(path, name), path) for place in self.places for name, path in walk(place, unread)),
            key=lambda pair: in_order(pair[0]),
        )
        files, left_out, room = [], [], Room(MOST_BYTES, MOST_FILES)
        for name, path in found[:MOST_FILES]:
            file = read_if_it_fits(name, path, room.bytes)
            if file is None:
                left_out.append(name)
            elif file.suffix == ARCHIVE and not file.problem:
                files += members(file, room)
            else:
                files.append(file)
                room.bytes -= len(file.content)
        if left_out:
            problem = f"{joined_names(left_out)} {'was' if len(left_out) == 1 else 'were'} not read"
            problem += f": the files of one student may have {MOST_BYTES // MB} MB together."
            files.append(File(left_out[0], problem=problem))
        if len(found) > MOST_FILES:
            problem = f"There are {len(found)} files; the first {MOST_FILES} were read."
            files.append(File(found[MOST_FILES][0], problem=problem))
        return files + unread + list(self.told)


@dataclass
class Class:
    """All submissions in the order of names, and what was not taken for one."""

    submissions: list[Submission] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)  # names of files and folders that are no submission


def collect(root: Path, but: Path | None = None) -> Class:
    """Find every student of a class: `alice/…`, `alice.ipynb`, `alice.py` and `alice.zip` are all alice's.

    Args:
        root: the folder of the class.
        but: a folder in it that belongs to no student, such as the one for results.
    """
    places: dict[str, list[Path]] = {}
    ignored: list[str] = []
    for path in sorted(root.iterdir(), key=lambda path: in_order(path.name)):
        if but is not None and path.resolve() == but.resolve():
            continue
        if skipped(path.name):
            ignored.append(legible(path.name))
        elif path.is_symlink():
            ignored.append(f"{legible(path.name)} (a link)")
        elif path.is_dir():
            places.setdefault(legible(path.name), []).append(path)
        elif suffix(path.name) in HANDED_IN:
            places.setdefault(legible(path.name[: -len(suffix(path.name))]), []).append(path)
        else:
            ignored.append(legible(path.name))
    students = sorted(places, key=in_order)
    return Class([Submission(student, tuple(places[student])) for student in students], ignored)


def walk(place: Path, unread: list[File]) -> Iterator[tuple[str, Path]]:
    """The files to read at a place, as (name, path). Folders that cannot be read are added to `unread`."""

    def note(error: OSError) -> None:
        name = legible(Path(error.filename).relative_to(place.parent).as_posix())
        unread.append(File(name, problem=f"The folder {name} could not be read ({error.strerror})."))

    if not place.is_dir() or place.is_symlink():
        yield legible(place.name), place
        return
    for folder, inside, names in os.walk(place, followlinks=False, onerror=note):
        depth = len(Path(folder).relative_to(place).parts)
        inside[:] = sorted(name for name in inside if not skipped(name)) if depth < DEEPEST else []
        for name in names:
            if suffix(name) in HANDED_IN and not skipped(name):
                path = Path(folder, name)
                yield legible(path.relative_to(place).as_posix()), path


def read_submitted_file(name: str, path: Path) -> File:
    """The content of a regular file of acceptable size."""
    file = read_if_it_fits(name, path, LARGEST[suffix(name)])
    assert file is not None  # what is larger than that has its own sentence
    return file


def read_if_it_fits(name: str, path: Path, bytes_left: int) -> File | None:
    """The content of a file of at most `bytes_left` bytes; else None."""
    most = LARGEST[suffix(name)]
    try:
        # a link, a pipe or a device may wait under an innocent name
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        why = "is a link, and links are not followed" if path.is_symlink() else f"could not be read ({error.strerror})"
        return File(name, problem=f"{name} {why}.")
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return File(name, problem=f"{name} is not a regular file.")
        if status.st_size > most:
            size = f"{math.ceil(status.st_size / MB):,} MB"
            return File(name, problem=f"{name} has {size}; at most {most // MB} MB are read.")
        if status.st_size > bytes_left:
            return None
        try:
            content = file.read(min(most, bytes_left))
        except OSError as error:
            return File(name, problem=f"{name} could not be read ({error.strerror}).")
    return File(name, content) if content.strip() else File(name, problem=f"{name} is empty.")


def joined_names(names: list[str], most: int = 3) -> str:
    """`a, b and c`, or `a, b, c and 5 more`."""
    if len(names) == 1:
        return names[0]
    if len(names) <= most:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def digest(files: list[File]) -> str:
    """A hash of a submission's files."""
    total = hashlib.sha256()
    for file in files:
        for part in (file.name.encode(), file.content, file.problem.encode()):
            total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


def suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def skipped(name: str) -> bool:
    """Is this a file that an editor or a system left behind?"""
    return name.startswith(".") or name in NOT_WORK


def legible(name: str) -> str:
    """A file name as text that shows all that it has; two names never become one.

    Bytes that are not UTF-8 become `\\xff`, invisible characters, or that turn the direction of writing round,
    `\\u202e`, and a backslash becomes two. All else stays as it is.
    """
    return "".join(map(visible_character, os.fsencode(name).decode("utf-8", "surrogateescape")))


def visible_character(character: str) -> str:
    """One character of a name, as `legible` shows it."""
    if character == "\\":
        return "\\\\"
    if character.isprintable() or unicodedata.category(character) == "Zs" or character in JOINERS:
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that could not be decoded
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def in_order(name: str) -> tuple[str, str]:
    """A key that sorts names as a list of people does, whatever their capitals."""
    return name.casefold(), name
