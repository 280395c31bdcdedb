"""Submissions that are nearly the same: a list for a person to look at, never a verdict.

Right answers to small exercises look alike, so what counts is code that few others wrote. Candidates are found by rare
fingerprints of the code's shape, names and comments gone; copydetect (an optional extra) then compares those pairs.
"""

from __future__ import annotations

import io
import keyword
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

WIDTH = 18  # characters of shape that make a fingerprint
FEW = 4  # submissions that may share a fingerprint: two friends, not half a class
LEAST = 80  # fingerprints of its own that a submission needs to be compared at all
NEARLY = 0.8  # share that two have in common

TOKEN = re.compile(
    r'(?P<text>[rRbBfFuU]{0,2}("""(?s:.*?)"""|\'\'\'(?s:.*?)\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'))'
    r"|(?P<comment>#[^\n]*)|(?P<name>[^\W\d]\w*)|(?P<space>\s+)"
)

Prints = np.ndarray[Any, np.dtype[np.uint32]]
Counts = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Pair:
    """Two submissions, and which share of their unusual code is common to both."""

    first: str
    second: str
    share: float


def available() -> bool:
    try:
        import copydetect
    except ImportError:
        return False
    return copydetect is not None


class Likeness:
    """Collects the code of a class, then says which submissions are alike."""

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}  # student -> code, small: a class may be large
        self._prints: dict[str, Prints] = {}
        self._use = available()

    def add(self, student: str, code: str) -> None:
        if self._use and code:
            self._code[student] = zlib.compress(code.encode("utf-8", "replace"), 1)
            self._prints[student] = fingerprints(shape(code))

    def pairs(self) -> list[Pair]:
        """The pairs that are nearly the same, most alike first."""
        students = sorted(self._prints)
        unusual, shared = rare([self._prints[student] for student in students])
        found = []
        for (first, second), count in shared.items():
            size = min(unusual[first], unusual[second])
            if size >= LEAST and count >= NEARLY * size and self._alike(students[first], students[second]):
                found.append(Pair(students[first], students[second], count / size))
        return sorted(found, key=lambda pair: (-pair.share, pair.first, pair.second))

    def _alike(self, first: str, second: str) -> bool:
        """copydetect's own opinion on the whole code of two students."""
        from copydetect import CodeFingerprint, compare_files

        a, b = (
            CodeFingerprint(student, WIDTH, 1, language="python", fp=io.StringIO(self._text(student)))
            for student in (first, second)
        )
        _, similarities, _ = compare_files(a, b)
        return bool(max(similarities) >= NEARLY)

    def _text(self, student: str) -> str:
        return zlib.decompress(self._code[student]).decode("utf-8")


def shape(code: str) -> str:
    """What code looks like with names and strings as placeholders, without comments and layout."""

    def placeholder(match: re.Match[str]) -> str:
        if match["text"] is not None:
            return "S"
        if match["name"] is not None:
            return match["name"] if keyword.iskeyword(match["name"]) else "V"
        return ""

    return TOKEN.sub(placeholder, code)


def fingerprints(text: str) -> Prints:
    """Checksums of all windows of a shape, each once; the same in every process, unlike `hash`."""
    data = text.encode("utf-8", "replace")
    return np.unique(np.array([zlib.crc32(data[i : i + WIDTH]) for i in range(len(data) - WIDTH + 1)], np.uint32))


def rare(prints: Sequence[Prints]) -> tuple[Counts, dict[tuple[int, int], int]]:
    """How many fingerprints that few have each owner has, and how many each two have in common."""
    count = len(prints)
    found = np.concatenate([*prints, np.empty(0, np.uint32)])
    order = np.argsort(found, kind="stable")  # owners of the same fingerprint come in their order
    found, owners = found[order], np.repeat(np.arange(count), [len(own) for own in prints])[order]
    starts = np.flatnonzero(np.concatenate([[True], found[1:] != found[:-1]])) if len(found) else np.empty(0, int)
    sizes = np.diff(starts, append=len(found))
    unusual = np.bincount(owners[np.repeat(sizes <= FEW, sizes)], minlength=count)
    shared: Counter[tuple[int, int]] = Counter()
    for size in range(2, FEW + 1):
        groups = owners[starts[sizes == size][:, None] + np.arange(size)]
        for a, b in combinations(range(size), 2):
            pairs, times = np.unique(groups[:, a] * count + groups[:, b], return_counts=True)
            shared.update({divmod(pair, count): n for pair, n in zip(pairs.tolist(), times.tolist(), strict=True)})
    return unusual, shared
