"""The rotation of slow tests: a run takes a quarter of them, and four days in a row take all.

`QKV_ALL=1` in the environment means everything. `QKV_DAY=n` is the day instead of today's, so that a run can be
repeated. `python -m qkv.authoring.write.rotation` prints how the solved editions run today.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
QUARTERS = 4
STAND_IN = "stand-in"
# Which instructions torch, MKL and oneDNN use decides in which order they add up, and so the last digits of everything.
PROCESSORS = {
    "oldest": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41"},
    "sse4": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "SSE4_2", "ONEDNN_MAX_CPU_ISA": "AVX"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "threads": {
        "QKV_THREADS": "2",
        "OMP_NUM_THREADS": "2",
        "MKL_NUM_THREADS": "2",
        "OMP_WAIT_POLICY": "PASSIVE",  # threads that spin would fight
    },
}
# What the environment of an edition's kernel has, in each mode in which nbval can run it.
SETTINGS = {"here": {}, **PROCESSORS, "seeds": {"QKV_SEEDS": "1"}}


def everything() -> bool:
    """Does the environment request everything, instead of a quarter?"""
    return os.environ.get("QKV_ALL", "") not in ("", "0")


def day() -> int:
    """The number of the day, in UTC."""
    return int(os.environ.get("QKV_DAY") or time.time() // 86400)


def turn(items: Sequence[T], parts: int = QUARTERS) -> list[T]:
    """Every fourth item, or every so-and-so-many-th, shifted by one each day; or all, if the environment requests
    everything."""
    return [item for i, item in enumerate(items) if everything() or (i + day()) % parts == 0]


def mode(edition: int, on: int | None = None) -> str:
    """The mode in which the n-th edition of the course runs on a day: here, on one of the other processors, on the
    stand-in for a GPU, or with second seeds. Four days see it in all four modes, sixteen on every processor."""
    now = day() if on is None else on
    elsewhere = list(PROCESSORS)[now // QUARTERS % len(PROCESSORS)]
    return ("here", elsewhere, STAND_IN, "seeds")[(edition + now) % QUARTERS]


def mode_of(edition: Path) -> str:
    """The mode of a solved edition: the one that `QKV_EDITIONS` names (here, by default), or with `turns` today's.

    Raises:
        ValueError: there is no such mode.
    """
    asked = os.environ.get("QKV_EDITIONS") or "here"
    if asked == "turns":
        return mode(sorted(path.name for path in edition.parent.glob("*.ipynb")).index(edition.name))
    if asked not in SETTINGS:
        raise ValueError(f"QKV_EDITIONS={asked} is no way to run an edition; there are: turns, {', '.join(SETTINGS)}.")
    return asked


def plan(editions: Sequence[str]) -> list[str]:
    """The day, and a line for each mode with its editions."""
    by_mode: dict[str, list[str]] = {}
    for i, name in enumerate(editions):
        by_mode.setdefault(mode(i), []).append(name)
    return [f"day {day()} (QKV_DAY={day()} repeats it)", *(f"{m:9} {' '.join(by_mode[m])}" for m in sorted(by_mode))]


if __name__ == "__main__":
    from qkv.course import Course

    print("\n".join(plan([chapter.name for chapter in Course.here().chapters()])))
