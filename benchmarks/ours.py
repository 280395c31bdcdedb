"""`qkv grade` on the same notebooks, and the floor: the reference under all probes in one process, nothing between."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import classroom
from measuring import Run, Scores, measured

# as for the others: no PYTHON… of whoever runs this, such as one that keeps Python from storing what it compiled
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
ONE_THREAD = PLAIN | {"OMP_NUM_THREADS": "1"}


def grade(room: Path, out: Path, jobs: int, environment: Mapping[str, str] | None = None) -> tuple[Run, Scores]:
    """Grade a class from the command line, start and reports included; what it took, and the scores."""
    shutil.rmtree(out, ignore_errors=True)
    chosen = ",".join(classroom.EXERCISES)
    words = [sys.executable, "-m", "qkv", "grade", room, "--out", out, "--jobs", str(jobs), "--seed", "1"]
    run = measured([[*words, "--exercises", chosen]], env=ONE_THREAD | dict(environment or {}))
    scores: Scores = {}
    for line in (out / "results.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        scores.setdefault(row["student"], {})[row["exercise"]] = row["score"]
    return run, scores


UPLOAD = """
import sys
from qkv.commands.cli import main
for words in (sys.argv[1:8], sys.argv[8:]):
    try:
        main(words)
    except SystemExit as end:
        if end.code:
            raise
"""


def upload(home: Path) -> float:
    """Seconds from the start to the written verdict for one notebook, by the two commands that Gradescope runs."""
    room, out = classroom.make(home / "upload", 1), home / "uploaded"
    shutil.rmtree(out, ignore_errors=True)
    grade = ["grade", room, "--out", out, "--jobs=1", "--seed=1", f"--exercises={','.join(classroom.EXERCISES)}"]
    export = ["export", out, "--format", "gradescope", "--out", out / "results.json"]
    return measured([[sys.executable, "-c", UPLOAD, *grade, *export]], env=ONE_THREAD).seconds


def importing_torch() -> float:
    """What a process that needs torch takes at the least."""
    return measured([[sys.executable, "-c", "import torch"]], env=ONE_THREAD).seconds


def floor(repetitions: int = 25) -> float:
    """Seconds for all probes of the ten exercises on the reference, without isolation, comparison or reports."""
    import torch

    from proctor import Examiner
    from qkv import exercises

    torch.set_num_threads(1)
    examiners = [Examiner(exercises.get_code(name), "salt") for name in classroom.EXERCISES]
    times = []
    for _ in range(repetitions + 1):
        began = time.perf_counter()
        for examiner in examiners:
            examiner.observations(examiner.exercise.reference)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])
