"""The benchmark: one class, three graders, one table. `make bench`, or `python benchmarks/run.py --help`.

nbgrader and otter-grader are installed into environments of their own in a temporary folder, and never into ours.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import classroom  # noqa: E402
import ours  # noqa: E402
import theirs  # noqa: E402
from measuring import Run  # noqa: E402

DIFFERENT = "every answer is written differently"
ALIKE = "students write alike, two ways for an answer at most"
Scores = dict[str, dict[str, float]]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--submissions", type=int, default=500, help="graded by qkv (default: 500)")
    words.add_argument("--theirs", type=int, default=8, help="graded by nbgrader and by otter (default: 8)")
    words.add_argument("--growth", default="20,200,2000", help="sizes of classes for growth; empty for none")
    words.add_argument("--jobs", default="1,2", help="numbers of workers")
    words.add_argument("--home", type=Path, help="where environments and classes go (default: a temporary folder)")
    words.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    chosen = words.parse_args()
    home = chosen.home or Path(tempfile.gettempdir()) / "qkv-bench"
    home.mkdir(parents=True, exist_ok=True)
    text = report(chosen, home)
    chosen.out.write_text(text, encoding="utf-8")
    print(text)


def report(chosen: argparse.Namespace, home: Path) -> str:
    rows: list[tuple[str, int, Run]] = []
    scores: Scores = {}
    for alike in (True, False):
        room = classroom.make(fresh(home / "class"), chosen.submissions, alike)
        for jobs in map(int, chosen.jobs.split(",")):
            name = f"qkv grade, {jobs} {'worker' if jobs == 1 else 'workers'}, {ALIKE if alike else DIFFERENT}"
            say(f"{name}, {chosen.submissions} submissions")
            run, scores = ours.grade(room, home / "graded", jobs)
            rows.append((name, chosen.submissions, run))
    say(f"nbgrader, {chosen.theirs} submissions")
    run, nbgrader = theirs.warm(theirs.nbgrader, home, chosen.theirs)
    rows.append((theirs.VERSIONS["nbgrader"].replace("==", " "), chosen.theirs, run))
    say(f"otter-grader, {chosen.theirs} submissions")
    run, otter = theirs.warm(theirs.otter, home, chosen.theirs)
    rows.append((theirs.VERSIONS["otter-grader"].replace("==", " "), chosen.theirs, run))
    lowest = ours.floor()
    fastest = {kind: min(each(row) for row in rows[:-2] if kind in row[0]) for kind in (DIFFERENT, ALIKE)}
    one_worker = next((each(row) for row in rows if "1 worker" in row[0] and DIFFERENT in row[0]), fastest[DIFFERENT])
    lines = [
        "# Benchmark",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {machine()}. Made by `make bench`; seconds vary with the machine, ratios hold.",
        "",
        f"One class of notebooks with {len(classroom.EXERCISES)} exercises each (chapters 01–03); one student in seven",
        "makes a given classic mistake. Each grader is run as its users run it, start and reports included:",
        "`qkv grade` (all probes, sandboxed, mistakes named, a feedback page each), `nbgrader autograde`, and",
        "`otter run` for one notebook after the other. Those two run one test cell per exercise, in a kernel,",
        "without a sandbox.",
        "",
        f"`qkv grade` does not run the same program twice. In one class {DIFFERENT}, so that everything is run; in the",
        f"other {ALIKE}.",
        "",
        "| grader | submissions | seconds each | per minute | peak memory (MB) |",
        "|---|---|---|---|---|",
        *(table_row(*row) for row in rows),
        "",
        *(
            f"- {each(row) / seconds:,.0f} × the throughput of {row[0]}, {kind}."
            for kind, seconds in fastest.items()
            for row in rows[-2:]
        ),
        f"- The floor, all probes on the reference in one process without isolation, comparison or reports: "
        f"{lowest:.4f} s. One worker that runs everything takes {one_worker / lowest:.1f} × that.",
        f"- {agreement(scores, nbgrader, 'nbgrader')}",
        f"- {agreement(scores, otter, 'otter-grader')}",
    ]
    if chosen.growth:
        lines += ["", *growth([int(size) for size in chosen.growth.split(",")], home)]
    return "\n".join(lines) + "\n"


def growth(sizes: list[int], home: Path) -> list[str]:
    """The same with classes of different sizes: time should grow with the class, memory should not."""
    lines = ["## Growth", "", "| submissions | seconds | seconds each | peak memory (MB) |", "|---|---|---|---|"]
    for size in sizes:
        say(f"growth: {size} submissions")
        room = classroom.make(fresh(home / "growing"), size)  # everything is run
        run, _ = ours.grade(room, home / "graded", 2)
        lines.append(f"| {size:,} | {run.seconds:.1f} | {run.seconds / size:.4f} | {run.peak_mb:.0f} |")
    return [*lines, "", "Two workers; the start (torch in the grader and in each sandbox) is included."]


def each(row: tuple[str, int, Run]) -> float:
    return row[2].seconds / row[1]


def table_row(name: str, count: int, run: Run) -> str:
    return f"| {name} | {count} | {run.seconds / count:.3f} | {60 * count / run.seconds:,.0f} | {run.peak_mb:.0f} |"


def agreement(ours_say: Scores, they_say: Scores, name: str) -> str:
    """Where two graders differ on whether an answer is right."""
    differing = [
        f"{student}/{exercise} ({score:g} there, {ours_say[student][exercise]:g} here)"
        for student, found in they_say.items()
        for exercise, score in found.items()
        if exercise in ours_say.get(student, {}) and (score == 1) != (ours_say[student][exercise] == 1)
    ]
    total = sum(len(found) for found in they_say.values())
    return f"Same verdict as {name} on {total - len(differing)} of {total} answers." + (
        f" Different: {', '.join(differing[:8])}." if differing else ""
    )


def machine() -> str:
    names = [line.split(":")[1].strip() for line in cpuinfo() if line.startswith("model name")]
    cores = os.cpu_count()
    load = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    return (
        f"{names[0] if names else platform.machine()}, {cores} cores{load}, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, torch {version('torch')}"
    )


def cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def say(text: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
