"""`qkv grade` on the same notebooks, and the floor: the reference under all probes in one process, nothing between."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import time
from pathlib import Path

import classroom
from measuring import Run, Scores, measured


def grade(room: Path, out: Path, jobs: int) -> tuple[Run, Scores]:
    """Grade a class from the command line, start and reports included; what it took, and the scores."""
    shutil.rmtree(out, ignore_errors=True)
    chosen = ",".join(classroom.EXERCISES)
    words = [sys.executable, "-m", "qkv", "grade", room, "--out", out, "--jobs", str(jobs), "--seed", "1"]
    run = measured([*words, "--exercises", chosen], env=os.environ | {"OMP_NUM_THREADS": "1"})
    scores: Scores = {}
    for line in (out / "results.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        scores.setdefault(row["student"], {})[row["exercise"]] = row["score"]
    return run, scores


def floor(repetitions: int = 25) -> float:
    """Seconds for all probes of the ten exercises on the reference, without isolation, comparison or reports."""
    import torch

    from proctor import Examiner
    from qkv import exercises

    torch.set_num_threads(1)
    examiners = [Examiner(exercises.find(name), "salt") for name in classroom.EXERCISES]
    times = []
    for _ in range(repetitions + 1):
        began = time.perf_counter()
        for examiner in examiners:
            examiner.observations(examiner.exercise.reference)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])
