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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations, islice
from typing import Any

import numpy as np

WIDTH = 18  # characters of shape that make a fingerprint
FEW = 8  # submissions that may share a fingerprint: a circle of friends, not half a class
LEAST = 80  # fingerprints of its own that a submission needs to be compared at all
LONG = 180  # characters of shape that nobody writes alike by chance, to the letter
LONGER = 2 * LONG  # and that nobody writes alike under other names
NEARLY = 0.8  # share that two have in common

BASE = np.uint64(0x9E3779B97F4A7C15)  # of the checksums: odd, and large
LOW = np.uint64(0xFFFFFFFF)
BLOCK = 2_000_000  # characters of shape that are looked at together
HALF = np.uint64(32)  # bits of a number that are a fingerprint; the others say whose it is

TOKEN = re.compile(
    r"([^\W\d]\w*+(?![\"'])"  # a name, unless it may be the prefix of a string: by far the most common, so the first
    r'|[rRbBfFuU]{0,2}(?:"""(?s:.*?)"""|\'\'\'(?s:.*?)\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
    r"|#[^\n]*|[^\W\d]\w*)"
)

Counts = np.ndarray[Any, np.dtype[np.int64]]
Prints = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Pair:
    """Two submissions, and which share of their unusual code is common to both."""

    first: str
    second: str
    share: float  # of their unusual code, 0 … 1


def copydetect_available() -> bool:
    """Is copydetect there? Importing it takes as long as all reports of a class, so that waits until it is needed."""
    return find_spec("copydetect") is not None


class Likeness:
    """Collects the code of a class, then says which submissions are alike."""

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}  # student -> code, small: a class may be large
        self._shapes: dict[str, bytes] = {}
        self.compared = copydetect_available()

    def add(self, student: str, code: str) -> None:
        if self.compared and code:
            self._code[student] = zlib.compress(code.encode("utf-8", "replace"), 1)
            self._shapes[student] = code_shape(code).encode("utf-8", "replace")

    def pairs(self, most: int | None = None, unless: Callable[[Pair], bool] = lambda pair: False) -> list[Pair]:
        """The pairs that are nearly the same, most alike first; or the first so many of them.

        Of those who handed in the very same code, or much code of the same shape, the first stands for all, and each
        other one makes a pair with it: code is not usual for being copied often.

        Args:
            most: to give back.
            unless: true of pairs that are nothing to be shown.
        """
        same: dict[bytes, list[str]] = {}
        for student in sorted(self._shapes):
            shape = self._shapes[student]
            same.setdefault(shape if len(shape) >= LONGER else self._code[student], []).append(student)
        students = [alike[0] for alike in same.values()]
        unusual, shared = rare([self._shapes[student] for student in students])
        found = [
            Pair(first, other, 1.0)
            for first, *others in same.values()
            if len(self._shapes[first]) >= LONG
            for other in others
        ]
        for (first, second), count in shared.items():
            size = min(unusual[first], unusual[second])
            if size >= LEAST and count >= NEARLY * size:
                found.append(Pair(students[first], students[second], count / size))
        found.sort(key=lambda pair: (-pair.share, pair.first, pair.second))
        try:
            return list(
                islice((pair for pair in found if not unless(pair) and self._alike(pair.first, pair.second)), most)
            )
        except ImportError:  # it is there, but does not work
            self.compared = False
            return []

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


def code_shape(code: str) -> str:
    """Code with placeholders for names and strings, without comments and layout."""
    parts = TOKEN.split(code)
    parts[1::2] = map(placeholder, parts[1::2])  # between them is what is no token
    return "".join("".join(parts).split())


def placeholder(token: str) -> str:
    if token[0] == "#":
        return ""
    if token[-1] in "\"'":
        return "S"
    return token if keyword.iskeyword(token) else "V"


def fingerprints(shapes: Sequence[bytes]) -> tuple[Prints, Counts]:
    """Checksums of all windows of all shapes and whose they are, each once, in order; the same in every process."""
    parts, first = [], 0
    while first < len(shapes):  # in blocks: what is computed on the way takes many times the room of the result
        last, size = first, 0
        while last < len(shapes) and (last == first or size + len(shapes[last]) <= BLOCK):
            size += len(shapes[last])
            last += 1
        parts.append(_of_block(shapes[first:last], first))
        first = last
    both = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    parts.clear()
    both.sort()  # many times as fast as np.unique
    both = both[is_new(both)]
    return both >> HALF, (both & LOW).astype(np.int64)


def _of_block(shapes: Sequence[bytes], first: int) -> Prints:
    """Checksums of the windows of some shapes, each with the number of its shape, counted from `first`; each once."""
    text = np.frombuffer(b"".join(shapes), np.uint8)
    owners = np.repeat(np.arange(first, first + len(shapes), dtype=np.uint64), [len(own) for own in shapes])
    count = max(len(text) - WIDTH + 1, 0)
    prints = np.zeros(count, np.uint64)
    for place in range(WIDTH):
        prints += text[place : place + count]
        prints *= BASE
    begins, ends = owners[:count], owners[len(owners) - count :]
    inside = begins == ends  # no window spans two shapes
    both: Prints = prints[inside] >> HALF << HALF | begins[inside]
    both.sort()
    new: Prints = both[is_new(both)]
    return new


def is_new(ordered: Prints) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Mask of the entries that differ from the one before them."""
    return np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]


def rare(shapes: Sequence[bytes]) -> tuple[Counts, dict[tuple[int, int], int]]:
    """Counts of rare fingerprints: for each owner, and for each pair of owners that share some."""
    count = len(shapes)
    found, owners = fingerprints(shapes)
    starts = np.flatnonzero(is_new(found))
    sizes = np.diff(starts, append=len(found))
    unusual = np.bincount(owners[np.repeat(sizes <= FEW, sizes)], minlength=count)
    shared: Counter[tuple[int, int]] = Counter()
    for size in range(2, FEW + 1):
        groups = owners[starts[sizes == size][:, None] + np.arange(size)]
        for a, b in combinations(range(size), 2):
            pairs, times = np.unique(groups[:, a] * count + groups[:, b], return_counts=True)
            shared.update({divmod(pair, count): n for pair, n in zip(pairs.tolist(), times.tolist(), strict=True)})
    return unusual, shared
