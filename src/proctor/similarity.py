"""Submissions that are nearly the same: a list for a person to look at, never a verdict.

copydetect (an optional extra) turns code into its shape, with names and comments gone, and into fingerprints of that
shape. Right answers to small exercises look alike, so only fingerprints that few submissions have are compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from proctor.extraction import Definition, is_stub

SHORTEST = 18  # characters of shape that make a fingerprint
FEW = 4  # submissions that may share a fingerprint: two friends, not half a class
LEAST = 25  # fingerprints of its own that a submission needs to be compared at all
NEARLY = 0.8  # share of them that two have in common


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


def shape(definitions: Iterable[Definition]) -> str:
    """What the code looks like without its names and comments; empty without copydetect."""
    if not available():
        return ""
    from copydetect.utils import filter_code

    own = "\n".join(d.text for d in definitions if not d.is_import and not is_stub(d.node))
    return str(filter_code(own, "answers.py", "python")[0])


def near_identical(shapes: Mapping[str, str]) -> list[Pair]:
    """Pairs of students, most alike first.

    Args:
        shapes: student -> shape of what they handed in.
    """
    prints = {student: fingerprints(text) for student, text in shapes.items()}
    owners: dict[int, list[str]] = defaultdict(list)
    for student, found in prints.items():
        for fingerprint in found:
            owners[fingerprint].append(student)
    rare = {fingerprint: students for fingerprint, students in owners.items() if len(students) <= FEW}
    unusual = Counter(student for students in rare.values() for student in students)
    shared = Counter(pair for students in rare.values() for pair in combinations(sorted(students), 2))
    pairs = []
    for (first, second), count in shared.items():
        size = min(unusual[first], unusual[second])
        if size >= LEAST and count >= NEARLY * size:
            pairs.append(Pair(first, second, count / size))
    return sorted(pairs, key=lambda pair: (-pair.share, pair.first, pair.second))


def fingerprints(text: str) -> set[int]:
    if len(text) < SHORTEST:
        return set()
    from copydetect.utils import hashed_kgrams

    return {int(h) for h in hashed_kgrams(text, SHORTEST)}
