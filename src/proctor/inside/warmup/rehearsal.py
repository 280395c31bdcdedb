"""A rehearsal in the zygote of what a child does: the first time is slow, and a fork inherits its caches.

Python and torch remember where they found an attribute, which kernel a call led to, what a line of code usually meets.
Each of these notes is a write; made in a child, it costs the copy of a page in every child.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any

from proctor.forbid import Family
from proctor.forbid.replace import Blocker
from proctor.inside import frames
from proctor.inside.harness import Channel, pack_job, run_one_job
from proctor.inside.running import Cell, Draws, Job, Probes

# Answers that give back what they get.
ECHO = """
import torch
from torch import nn

class Echo(nn.Module):
    def __init__(self, *args, **options):
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, *args, **options):
        return args[0] * 1.0

def echo(*args, **options):
    return args[0] * 1.0
"""


class Rehearsed(Channel):
    """A channel that delivers one job and drops everything sent."""

    def __init__(self, job: bytes) -> None:
        super().__init__(os.open(os.devnull, os.O_WRONLY))
        self.stream = io.BytesIO(frames.frame(frames.JOB, job))

    def _exactly(self, count: int) -> bytes:
        return self.stream.read(count)


def rehearse(
    probes: Probes,
    draws: Draws,
    limits: Mapping[str, Any],
    public_modules: Mapping[str, str] | None = None,
    forbid: Mapping[str, Sequence[Family]] | None = None,
    code: str = "",
) -> None:
    """Run a submission that no student wrote, with all probes, and import all public modules.

    Args:
        forbid: exercise -> what may not be called.
        code: such as students of this course write.
    """
    modules = {"rehearsed": ECHO + code, **(public_modules or {})}
    blocker = Blocker()
    for answer in ("echo", "Echo"):
        job = Job(
            cells=[
                Cell("cell 0", "\n".join(f"import {name}" for name in modules)),
                Cell("cell 1", ECHO),
                Cell("cell 2", code),
                Cell("cell 3", "; ".join(f"{name} = {answer}" for name in probes)),
            ],
            modules=modules,
            stand_ins={"echo": "rehearsed"},
            exercises={name: list(functions) for name, functions in probes.items()},
            forbid=forbid or {},
        )
        channel = Rehearsed(pack_job(job))
        run_one_job(channel, blocker, probes, draws, limits)
        channel.close()
