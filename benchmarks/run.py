"""The benchmark: `make bench`, or `python benchmarks/run.py --help`.

Each part of the results is made by a function that returns its lines; a new part is one more of them in `parts`. In
RESULTS.md each part begins with a comment that names it, and has a line of its own that says when and where it was
measured: `--only growth --write` measures one part anew and leaves the others as they are.

nbgrader and otter-grader are installed into environments of their own in a temporary folder, and never into ours.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "RESULTS.md"
sys.path.insert(0, str(HERE))

import grading  # noqa: E402
import language  # noqa: E402
import load  # noqa: E402
import locating  # noqa: E402
import speed  # noqa: E402
import theirs  # noqa: E402
import today  # noqa: E402

HEADING = """\
# Benchmark

Made by `make bench`. Seconds vary with the machine; the ratios are what counts.
"""
Parts = dict[str, Callable[[], list[str]]]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--submissions", type=int, default=500, help="graded by qkv (default: 500)")
    words.add_argument("--theirs", type=int, default=20, help="graded by nbgrader and by otter (default: 20)")
    words.add_argument("--rounds", type=int, default=3, help="of everything that is compared (default: 3)")
    words.add_argument("--growth", default="20,200,2000", help="sizes of classes (default: 20,200,2000)")
    words.add_argument("--load", type=int, default=20_000, help="submissions of the largest class (default: 20,000)")
    words.add_argument("--every", type=int, default=1, help="of files with wrong answers, one in so many (default: 1)")
    words.add_argument("--only", choices=(*ORDER, ""), default="", help="print one part, and write nothing")
    words.add_argument("--write", action="store_true", help="with --only: also put it into RESULTS.md")
    words.add_argument("--smoke", action="store_true", help="run every part in its smallest size, and write nothing")
    words.add_argument("--home", type=Path, help="where environments and classes go (default: a temporary folder)")
    chosen = words.parse_args()
    home = chosen.home or Path(tempfile.gettempdir()) / "qkv-bench"
    home.mkdir(parents=True, exist_ok=True)
    parts = smallest(home) if chosen.smoke else full(home, chosen)
    for name in [chosen.only] if chosen.only else ORDER:
        where = measured_at()
        heading, *lines = parts[name]()
        lines = [heading, "", where, *lines]
        print(*lines, "", sep="\n", flush=True)
        if not chosen.smoke and (chosen.write or not chosen.only):
            text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
            RESULTS.write_text(with_part(text, name, lines), encoding="utf-8")


ORDER = ("grading", "tricks", "growth", "load", "locating", "model", "language", "today")


def full(home: Path, chosen: argparse.Namespace) -> Parts:
    return {
        "grading": lambda: grading.section(home, chosen.submissions, chosen.theirs, chosen.rounds),
        "tricks": lambda: grading.tricks(home, 100, chosen.rounds),
        "growth": lambda: grading.growth(home, [int(size) for size in chosen.growth.split(",")]),
        "load": lambda: load.section(home, chosen.load),
        "locating": lambda: locating.section(every=chosen.every),
        "model": speed.section,
        "language": language.section,
        "today": today.section,
    }


def smallest(home: Path) -> Parts:
    """The same parts, to see that they run. Nothing is installed: of the other graders, only what they are given."""

    def without_theirs() -> list[str]:
        theirs.hand_in(grading.fresh(home / "theirs"), range(1), "ps1", tests=True)
        return grading.section(home, students=2, their_students=0, rounds=1, tools=())

    return {
        "grading": without_theirs,
        "tricks": lambda: grading.tricks(home, 1, 1, names=grading.TRICKS[:1]),
        "growth": lambda: grading.growth(home, [1]),
        "load": lambda: load.section(home, students=4, some=6, kills=1, second_graders=1),
        "locating": lambda: locating.section(part="lookup/wrong/near_misses"),
        "model": lambda: speed.section(rounds=1, sizes=[speed.SMALLEST]),
        "language": lambda: language.section(small=True),
        "today": lambda: today.section(small=True),
    }


def with_part(text: str, name: str, lines: list[str]) -> str:
    """RESULTS.md with one part put in the place of the old one, or added; parts stand in their order."""
    kept = dict(re.findall(r"^<!-- (\w+) -->\n(.*?)(?=^<!-- |\Z)", text, flags=re.M | re.S))
    kept[name] = "\n".join(lines)
    return "\n".join([HEADING, *(f"<!-- {part} -->\n{kept[part].strip()}\n" for part in ORDER if part in kept)])


def measured_at() -> str:
    """The line that says when and where a part was measured."""
    return f"{datetime.now(UTC):%Y-%m-%d}, {machine()}{busy()}."


def machine() -> str:
    names = [line.split(":")[1].strip() for line in cpuinfo() if line.startswith("model name")]
    return (
        f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}, torch {version('torch')}"
    )


def busy() -> str:
    """What else the machine is doing."""
    return f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""


def cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


if __name__ == "__main__":
    main()
