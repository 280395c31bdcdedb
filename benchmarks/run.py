"""The benchmark: `make bench`, or `python benchmarks/run.py --help`.

Each part of the results is made by a function that returns its lines; a new part is one more of them in `parts`.

nbgrader and otter-grader are installed into environments of their own in a temporary folder, and never into ours.
"""

from __future__ import annotations

import argparse
import os
import platform
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
import speed  # noqa: E402


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--submissions", type=int, default=500, help="graded by qkv (default: 500)")
    words.add_argument("--theirs", type=int, default=20, help="graded by nbgrader and by otter (default: 20)")
    words.add_argument("--rounds", type=int, default=3, help="of everything that is compared (default: 3)")
    words.add_argument("--growth", default="20,200,2000", help="sizes of classes (default: 20,200,2000)")
    words.add_argument(
        "--only", choices=("grading", "tricks", "growth", "model", "language"), help="print one part, and write nothing"
    )
    words.add_argument("--home", type=Path, help="where environments and classes go (default: a temporary folder)")
    chosen = words.parse_args()
    home = chosen.home or Path(tempfile.gettempdir()) / "qkv-bench"
    home.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Callable[[], list[str]]] = {
        "grading": lambda: grading.section(home, chosen.submissions, chosen.theirs, chosen.rounds),
        "tricks": lambda: grading.tricks(home, 100, chosen.rounds),
        "growth": lambda: grading.growth(home, [int(size) for size in chosen.growth.split(",")]),
        "model": speed.section,
        "language": language.section,
    }
    chosen_parts = [parts[chosen.only]] if chosen.only else list(parts.values())
    lines = [*heading(), *(line for part in chosen_parts for line in ["", *part()])]
    print(*lines, sep="\n")
    if not chosen.only:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def heading() -> list[str]:
    return [
        "# Benchmark",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {machine()}{load()}.",
        "Made by `make bench`. Seconds vary with the machine; the ratios are what counts.",
    ]


def machine() -> str:
    names = [line.split(":")[1].strip() for line in cpuinfo() if line.startswith("model name")]
    return (
        f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}, torch {version('torch')}"
    )


def load() -> str:
    """What else the machine is doing."""
    return f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""


def cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


if __name__ == "__main__":
    main()
