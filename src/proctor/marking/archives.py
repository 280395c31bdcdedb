"""A submission that is one archive: the notebooks and Python files in a zip file.

Nothing is unpacked to the disk. What an archive says about itself is not believed: every member is read up to a
bound, whatever size it claims, and its name is only a label.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import PurePosixPath

from proctor.marking.submissions import LARGEST, MOST_FILES, SUFFIXES, File, in_order, legible, skipped, suffix

UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError)


def members(file: File, bytes_left: int) -> list[File]:
    """The notebooks and Python files of an archive in the order of names, at most `bytes_left` bytes of them.

    What cannot be read is a problem in words.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
            return read_all(file.name, archive, bytes_left)
    except UNREADABLE:
        return [File(file.name, problem=f"{file.name} is not a zip file that can be read.")]


def read_all(name: str, archive: zipfile.ZipFile, bytes_left: int) -> list[File]:
    inside = [
        i for i in archive.infolist() if not i.is_dir() and suffix(i.filename) in SUFFIXES and is_work(i.filename)
    ]
    if not inside:
        return [File(name, problem=f"There is no notebook and no .py file in {name}.")]
    inside.sort(key=lambda info: in_order(info.filename))
    files = []
    for info in inside[:MOST_FILES]:
        files.append(read_one(archive, info, bytes_left))
        bytes_left -= len(files[-1].content)
    if len(inside) > MOST_FILES:
        files.append(File(name, problem=f"There are {len(inside)} files in {name}; the first {MOST_FILES} were read."))
    return files


def is_work(name: str) -> bool:
    return not any(skipped(part) for part in PurePosixPath(name).parts if part != "..")


def read_one(archive: zipfile.ZipFile, info: zipfile.ZipInfo, bytes_left: int) -> File:
    """One member, up to the size allowed for its kind and the bytes left."""
    name = "/".join(legible(part) for part in PurePosixPath(info.filename).parts if part not in ("/", ".."))
    most = min(LARGEST[suffix(name)], bytes_left)
    try:
        with archive.open(info) as member:
            content = member.read(most + 1)
    except UNREADABLE:
        return File(name, problem=f"{name} could not be read: it is damaged, or locked by a password.")
    if len(content) > most:
        return File(name, problem=f"{name} was not read: it is too large.")
    return File(name, content) if content.strip() else File(name, problem=f"{name} is empty.")
