"""Sandboxes for the attacks: each real tier, as whoever runs the tests and, for root, as an ordinary user too."""

from __future__ import annotations

import os
import pickle
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from proctor import Examiner, Result
from proctor.inside.running import Cell, Job
from proctor.marking.probe_pickle import dumps
from proctor.sandbox import Limits, Run, Sandbox, describe_tiers, launch
from qkv.exercises import of_chapter

SALT = secrets.token_hex(16)
LIMITS = Limits(seconds=8.0, memory_mb=256, output_bytes=2_000_000, frame_bytes=4 << 20, result_bytes=16 << 20)
RIGHT = """
import torch
def similarity_scores(q, k):
    return q @ k.transpose(-2, -1)
def softmax(scores, dim):
    powers = torch.exp(scores - scores.amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)
"""


class OrdinaryUser:
    """A sandbox in another process, which belongs to a user without rights. Answers as `Sandbox` does."""

    def __init__(self, **options: Any) -> None:
        ours, theirs = socket.socketpair()
        program = Path(__file__).with_name("ordinary_user.py")
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, str(program), str(theirs.fileno())], pass_fds=[theirs.fileno()], cwd="/"
            )
        self.connection = Connection(ours.detach())
        self.connection.send_bytes(pickle.dumps(options))

    def ask(self, method: str, **options: Any) -> Any:
        self.connection.send_bytes(pickle.dumps((method, options)))
        return pickle.loads(self.connection.recv_bytes())

    def start(self) -> None:
        self.ask("start")

    def run(self, **options: Any) -> Run:
        return self.ask("run", **options)

    @property
    def pid(self) -> int:
        return self.ask("pid")

    @property
    def tier(self) -> str:
        return self.ask("tier")

    def close(self) -> None:
        self.connection.close()
        self.process.wait(120)


@dataclass
class Exam:
    """Chapter 01's exercises, examined with a salt that nobody knows."""

    box: Sandbox | OrdinaryUser
    examiners: dict[str, Examiner] = field(default_factory=dict)

    def run(self, source: str, seconds: float | None = None, only: str | None = None) -> Run:
        chosen = {name: x.exercise for name, x in self.examiners.items() if only in (None, name)}
        job = Job(
            [Cell("cell 1 of attack.ipynb", source)],
            exercises={name: list(exercise.probes) for name, exercise in chosen.items()},
            forbid={name: exercise.forbid for name, exercise in chosen.items()},
        )
        return self.box.run(job=job, seconds=seconds)

    def results(self, run: Run) -> dict[str, Result]:
        return {name: self.examiners[name].verdict(seen) for name, seen in run.outcomes.items()}


def examiners() -> dict[str, Examiner]:
    return {exercise.name: Examiner(exercise, SALT) for exercise in of_chapter("lookup")}


@pytest.fixture(scope="session")
def examined() -> dict[str, Examiner]:
    return examiners()


WHO = ("root", "ordinary user") if os.geteuid() == 0 else ("ordinary user",)


@pytest.fixture(scope="session", params=[f"{tier}, {who}" for tier in ("bubblewrap", "landlock") for who in WHO])
def exam(request: pytest.FixtureRequest, examined: dict[str, Examiner]) -> Iterator[Exam]:
    tier, who = request.param.split(", ")
    missing = {name: why for name, works, why in describe_tiers() if not works}
    if tier in missing:
        pytest.skip(missing[tier])
    options: dict[str, Any] = {
        "probes": dumps([x.exercise for x in examined.values()]),
        "draws": {name: x.draws for name, x in examined.items()},
        "limits": LIMITS,
        "tier": tier,
    }
    launch.PRELOAD = ("numpy",)  # attacks do not train: their sandboxes start soon
    other = who == "ordinary user" and os.geteuid() == 0
    box = OrdinaryUser(**options) if other else Sandbox(**options)
    box.start()
    yield Exam(box, examined)
    box.close()


@pytest.fixture
def salt() -> str:
    return SALT


@pytest.fixture
def right() -> str:
    return RIGHT
