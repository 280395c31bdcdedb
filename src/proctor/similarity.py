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
from dataclasses import dataclass
from itertools import combinations

WIDTH = 18  # characters of shape that make a fingerprint
FEW = 4  # submissions that may share a fingerprint: two friends, not half a class
LEAST = 80  # fingerprints of its own that a submission needs to be compared at all
NEARLY = 0.8  # share that two have in common

TOKEN = re.compile(
    r'(?P<text>[rRbBfFuU]{0,2}("""(?s:.*?)"""|\'\'\'(?s:.*?)\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'))'
    r"|(?P<comment>#[^\n]*)|(?P<name>[^\W\d]\w*)|(?P<space>\s+)"
)


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
        self._code: dict[str, bytes] = {}
        self._prints: dict[str, set[int]] = {}
        self._use = available()

    def add(self, student: str, code: str) -> None:
        if self._use and code:
            self._code[student] = zlib.compress(code.encode("utf-8", "replace"), 1)
            self._prints[student] = fingerprints(shape(code))

    def pairs(self) -> list[Pair]:
        """The pairs that are nearly the same, most alike first."""
        owners: dict[int, list[str]] = {}
        for student, prints in self._prints.items():
            for fingerprint in prints:
                owners.setdefault(fingerprint, []).append(student)
        rare = [students for students in owners.values() if len(students) <= FEW]
        unusual = Counter(student for students in rare for student in students)
        shared = Counter(pair for students in rare for pair in combinations(sorted(students), 2))
        found = []
        for (first, second), count in shared.items():
            size = min(unusual[first], unusual[second])
            if size >= LEAST and count >= NEARLY * size and self._alike(first, second):
                found.append(Pair(first, second, count / size))
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


def fingerprints(text: str) -> set[int]:
    """Checksums of all windows of a shape; the same in every process, unlike `hash`."""
    data = text.encode("utf-8", "replace")
    return {zlib.crc32(data[i : i + WIDTH]) for i in range(len(data) - WIDTH + 1)}
