"""A download as a tree of names, whether it is a folder or still a zip file.

Neither is trusted: links are not followed, and of an archive's names only those are taken that stay inside.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Protocol

from proctor.collecting.upload import BadDownload
from proctor.marking.archives import ENTRY, LONGEST_NAME
from proctor.marking.submissions import DEEPEST, in_order, legible, skipped
from proctor.marking.unzip import unzipped

MOST_ENTRIES = 500_000  # of a download: a class of thousands, with their repositories
LARGEST_TEXT = 64 * 2**20  # bytes of a file that describes the others


class Tree(Protocol):
    """A download: its folders and files by their names from its top, which is called ''."""

    name: str

    def children(self, folder: str) -> list[tuple[str, bool]]:
        """What is in a folder, in the order of names: (name, whether it is a folder). Nothing for what is none."""

    def text(self, path: str) -> str | None:
        """A small file as text; None if it is not there or is none."""


def joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


class FolderTree:
    """A download that somebody unpacked."""

    def __init__(self, root: Path, but: Path | None = None) -> None:
        self.root = root
        self.name = root.resolve().name
        self._but = but.resolve() if but is not None else None

    def children(self, folder: str) -> list[tuple[str, bool]]:
        place = self.root / folder
        try:
            with os.scandir(place) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:
            return []
        if not folder and self._but is not None:
            found = [(name, is_folder) for name, is_folder in found if (place / name).resolve() != self._but]
        return sorted(found, key=lambda pair: in_order(pair[0]))

    def text(self, path: str) -> str | None:
        place = self.root / path
        try:
            if place.is_symlink() or not place.is_file() or place.stat().st_size > LARGEST_TEXT:
                return None
            return place.read_text("utf-8", errors="replace")
        except OSError:
            return None


class ZipTree:
    """A download as it came.

    Args:
        path: of the zip file.

    Raises:
        BadDownload: it is none, or has more entries than a class.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self.dropped: list[str] = []
        self._children: dict[str, dict[str, bool]] = {"": {}}
        self._infos: dict[str, zipfile.ZipInfo] = {}
        try:
            check_entries(path)
            self.archive = zipfile.ZipFile(path)
        except OSError as error:
            raise BadDownload(f"{path} cannot be read ({error.strerror or error}).") from None
        except BadDownload:
            raise
        except Exception:
            raise BadDownload(f"{path} is not a zip file that can be read. Download it again.") from None
        for info in self.archive.infolist():
            self._add(info)

    def _add(self, info: zipfile.ZipInfo) -> None:
        parts = safe_parts(info)
        if parts is None:
            self.dropped.append(legible(info.filename[:LONGEST_NAME]))
            return
        folder = ""
        for part in parts[:-1]:
            self._children.setdefault(folder, {}).setdefault(part, True)
            folder = joined(folder, part)
        is_folder = info.filename.endswith("/")
        path = joined(folder, parts[-1])
        if path in self._infos:
            self.dropped.append(f"{legible(path)} (it is there twice)")
            return
        self._children.setdefault(folder, {}).setdefault(parts[-1], is_folder)
        if not is_folder:
            self._infos[path] = info

    def children(self, folder: str) -> list[tuple[str, bool]]:
        return sorted(self._children.get(folder, {}).items(), key=lambda pair: in_order(pair[0]))

    def text(self, path: str) -> str | None:
        info = self._infos.get(path)
        if info is None or info.file_size > LARGEST_TEXT:
            return None
        try:
            return unzipped(self.archive, info, LARGEST_TEXT).decode("utf-8", errors="replace")
        except Exception:  # of a foreign reader, on foreign bytes
            return None

    def members(self, path: str) -> Iterator[tuple[str, zipfile.ZipInfo]]:
        """The files at a path, or below it as deep as a student's folder is read: (name below the path, entry)."""
        if path in self._infos:
            yield "", self._infos[path]
            return
        waiting = [("", 0)]
        while waiting:
            below, depth = waiting.pop()
            for name, is_folder in self.children(joined(path, below) if below else path):
                inner = joined(below, name)
                if skipped(name):
                    continue
                if is_folder and depth < DEEPEST:
                    waiting.append((inner, depth + 1))
                elif not is_folder:
                    yield inner, self._infos[joined(path, inner)]


def check_entries(path: Path) -> None:
    """Look how many entries an archive has, before an object is made of each.

    Raises:
        BadDownload: too many.
    """
    count = 0
    rest = b""
    with path.open("rb") as file:
        while block := file.read(2**20):
            count += (rest + block).count(ENTRY)
            rest = block[-len(ENTRY) + 1 :]
    if count > MOST_ENTRIES:
        raise BadDownload(f"{path} has more than {MOST_ENTRIES:,} entries. Unpack it and name the folder.")


def safe_parts(info: zipfile.ZipInfo) -> tuple[str, ...] | None:
    """The parts of an entry's name; None if it is a link, or no name that stays inside."""
    if stat.S_ISLNK(info.external_attr >> 16) or not info.filename or info.filename.startswith(("/", "\\")):
        return None
    parts = PurePosixPath(info.filename).parts
    wrong = any(part == ".." or len(os.fsencode(part)) > LONGEST_NAME or "\\" in part for part in parts)
    return None if wrong or not parts else parts


def top_of(tree: Tree) -> str:
    """The folder that holds the students: the only one at the top, or the top itself."""
    folder = ""
    while True:
        inside = [(name, is_folder) for name, is_folder in tree.children(folder) if not skipped(name)]
        if len(inside) != 1 or not inside[0][1] or is_work(tree, joined(folder, inside[0][0])):
            return folder
        folder = joined(folder, inside[0][0])


def is_work(tree: Tree, folder: str) -> bool:
    """Is this folder one student's, not one of students? It is if it holds files, and no description of others."""
    inside = tree.children(folder)
    return any(not is_folder for _, is_folder in inside) and not any(is_folder for _, is_folder in inside)
