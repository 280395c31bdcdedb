"""Run commands side by side; how long they took, and how much memory all their processes had at once."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

Scores = dict[str, dict[str, float]]  # student -> exercise -> score


@dataclass(frozen=True)
class Run:
    """One measurement."""

    seconds: float
    peak_mb: float
    output: str


Command = Sequence[str | Path]


def measured(
    commands: Sequence[Command], cwds: Sequence[Path] | None = None, env: Mapping[str, str] | None = None
) -> Run:
    """Run commands side by side, each in its folder, until the last one ends. Raises if one fails."""
    began = time.perf_counter()
    processes = [
        subprocess.Popen(
            [str(word) for word in command],
            cwd=cwds[number] if cwds else None,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number, command in enumerate(commands)
    ]
    peak = [0.0]
    watcher = threading.Thread(target=_watch, args=([process.pid for process in processes], peak), daemon=True)
    watcher.start()
    with ThreadPoolExecutor() as readers:
        outputs = list(readers.map(lambda process: process.communicate()[0], processes))
    seconds = time.perf_counter() - began
    watcher.join()
    for command, process, output in zip(commands, processes, outputs, strict=True):
        if process.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{output[-3000:]}")
    return Run(seconds, peak[0], "".join(outputs))


def _watch(pids: Sequence[int], peak: list[float]) -> None:
    """Sample proportional set sizes: pages that processes share are counted once."""
    try:
        roots = [psutil.Process(pid) for pid in pids]
        while roots := [root for root in roots if root.is_running() and root.status() != psutil.STATUS_ZOMBIE]:
            total = 0
            for process in [one for root in roots for one in (root, *root.children(recursive=True))]:
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
