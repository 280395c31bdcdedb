"""Unpack what students handed in from the download of an LMS, one submission at a time and each within its bounds.

Students made these files, so the bounds are those of one submission: what one of them handed in can cost no more than
the bytes that one may have, and what is left out is a sentence to its author.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from proctor.collecting.tree import ZipTree
from proctor.marking.submissions import HANDED_IN, LARGEST, MB, MOST_BYTES, MOST_FILES, File, Room, legible, suffix
from proctor.marking.unzip import unzipped


def unpack(tree: ZipTree, path: str, called: str, place: Path) -> tuple[File, ...]:
    """Write the work at a path of an archive to a new folder; what was left out is told.

    Args:
        tree: the archive.
        path: of a file or a folder in it.
        called: how its author called it, if it is a file.
        place: the new folder.
    """
    place.mkdir(parents=True)
    room, told = Room(MOST_BYTES, MOST_FILES), []
    work = [(name or called, info) for name, info in tree.members(path) if suffix(name or called) in HANDED_IN]
    for name, info in sorted(work, key=lambda pair: pair[0]):
        if not room.files:
            told.append(File(legible(name), problem=f"There are {len(work)} files; {MOST_FILES} were read."))
            break
        room.files -= 1
        if problem := unpack_one(tree, info, place / name, room):
            told.append(File(legible(name), problem=f"{legible(name)} {problem}"))
    return tuple(told)


def unpack_one(tree: ZipTree, info: zipfile.ZipInfo, place: Path, room: Room) -> str:
    """Write one file; returns why it was not, if it was not."""
    largest = LARGEST[suffix(place.name)]
    if info.file_size > largest:
        return f"has {-(-info.file_size // MB):,} MB; at most {largest // MB} MB are read."
    if info.file_size > room.bytes:
        return f"was not read: the files of one student may have {MOST_BYTES // MB} MB together."
    room.bytes -= info.file_size  # also of one that breaks in the middle
    try:
        content = unzipped(tree.archive, info, largest)
    except Exception:  # a foreign reader, on foreign bytes
        return "could not be read: it is damaged in the download, or locked by a password."
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return "was not read: a folder in the download has its name."
    return ""
