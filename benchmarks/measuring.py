"""Run a command; how long it took, and how much memory all its processes had at once."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

Scores = dict[str, dict[str, float]]  # student -> exercise -> score


@dataclass(frozen=True)
class Run:
    """One measured command."""

    seconds: float
    peak_mb: float
    output: str


def measured(command: Sequence[str | Path], cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Run:
    """Run a command to its end. Raises if it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    peak = [0.0]
    watcher = threading.Thread(target=_watch, args=(process.pid, peak), daemon=True)
    watcher.start()
    output, _ = process.communicate()
    seconds = time.perf_counter() - began
    watcher.join()
    if process.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{output[-3000:]}")
    return Run(seconds, peak[0], output)


def _watch(pid: int, peak: list[float]) -> None:
    """Sample proportional set sizes: pages that processes share are counted once."""
    try:
        root = psutil.Process(pid)
        while root.is_running() and root.status() != psutil.STATUS_ZOMBIE:
            total = 0
            for process in [root, *root.children(recursive=True)]:
                try:
                    total += process.memory_full_info().pss
                except (psutil.Error, AttributeError):
                    continue
            peak[0] = max(peak[0], total / 2**20)
            time.sleep(1.0)  # looking costs time, too
    except psutil.Error:
        pass


def say(text: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", file=sys.stderr, flush=True)
