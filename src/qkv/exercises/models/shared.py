"""What several exercises of this chapter share."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.inside.inputs import distinct

Pair = tuple[int, int]


def letters(count: int, seed: str) -> str:
    """Different small letters of the Latin alphabet."""
    return "".join(map(chr, distinct(ord("a"), ord("z") + 1, count, seed=seed)))


def glued(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    result: list[int] = []
    for part in ids:
        if result and [result[-1], part] == list(pair):
            result[-1] = new
        else:
            result.append(part)
    return result


def from_256(i: int) -> int:
    return 256 + i
