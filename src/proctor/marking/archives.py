"""A submission that is one archive: the notebooks and Python files in a zip file.

Nothing is unpacked to the disk, and nothing that an archive says of itself is believed: its name for a member is only a
label, and a member is read up to a bound, whatever size it claims. What was unpacked counts even if it is not kept, so
that no student costs more than the bytes that one student may have. A reader of foreign bytes can raise anything, and
whatever it raises is a sentence to the author.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import PurePosixPath

from proctor.marking.submissions import LARGEST, SUFFIXES, File, Room, in_order, legible, skipped, suffix
from proctor.marking.unzip import unzipped

ENTRY = b"PK\x01\x02"  # begins the description of a member
LONGEST_NAME = 255  # no system stores a longer one, and an archive can
MOST_ENTRIES = 10_000  # of one archive, whatever they are: each becomes an object


def members(file: File, room: Room) -> list[File]:
    """The notebooks and Python files of an archive in the order of names, as far as there is room for them.

    What cannot be read is a problem in words.
    """
    if file.content.count(ENTRY) > MOST_ENTRIES:
        return [File(file.name, problem=f"{file.name} was not read: it has more than {MOST_ENTRIES:,} entries.")]
    try:
        with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
            return read_all(file.name, archive, room)
    except Exception:
        return [File(file.name, problem=f"{file.name} is not a zip file that can be read.")]


def read_all(name: str, archive: zipfile.ZipFile, room: Room) -> list[File]:
    named = [info for info in archive.infolist() if info.filename]
    inside = [i for i in named if not i.is_dir() and suffix(i.filename) in SUFFIXES and is_work(i.filename)]
    if not inside:
        return [File(name, problem=f"There is no notebook and no .py file in {name}.")]
    inside.sort(key=lambda info: in_order(info.filename))
    within = inside[: room.files]
    files = [read_one(archive, info, room) for info in within]
    if len(inside) > len(within):
        files.append(File(name, problem=f"There are {len(inside)} files in {name}; the first {len(within)} were read."))
    return files


def is_work(name: str) -> bool:
    return not any(skipped(part) for part in PurePosixPath(name).parts if part != "..")


def read_one(archive: zipfile.ZipFile, info: zipfile.ZipInfo, room: Room) -> File:
    """One member, up to the size allowed for its kind and the room left, of which it takes what was unpacked."""
    name = "/".join(legible(part) for part in PurePosixPath(info.filename).parts if part not in ("/", ".."))
    name = name if len(name) <= LONGEST_NAME else f"{name[:100]}…{name[-40:]}"
    most = min(LARGEST[suffix(name)], room.bytes)
    room.files -= 1
    if info.file_size > most:
        return File(name, problem=f"{name} was not read: it is too large.")
    try:
        content = unzipped(archive, info, most)
    except Exception:
        room.bytes -= max(info.file_size, 0)  # so much may have been unpacked before it broke
        return File(name, problem=f"{name} could not be read: it is damaged, or locked by a password.")
    room.bytes -= len(content)
    if len(content) > most:
        return File(name, problem=f"{name} was not read: it is too large.")
    return File(name, content) if content.strip() else File(name, problem=f"{name} is empty.")
