"""Chapters run on any device: every cell of a solved edition, on a stand-in for a GPU.

A run takes the editions whose turn it is; four days in a row see them all, and `QKV_ALL=1` runs all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from qkv.authoring.write import rotation
from qkv.course import Chapter, Course

HERE = Path(__file__).resolve()
CHAPTERS = [
    chapter
    for i, chapter in enumerate(Course(HERE.parents[2]).chapters())
    if rotation.everything() or rotation.mode(i) == rotation.STAND_IN
]
MANY = 99
# Steps of a training and seeds of an experiment, where two of each are too few for what reads them, or take long.
CUT = {
    "scaling": (10, 2),
    "norm": (1, 2),
    "transformer": (1, 2),
    "training": (2, MANY),
    "recurrence": (1, MANY),
    "models": (2, MANY),
    "cost": (2, MANY),
    "meaning": (2, 3),
}
# Cells that read a certain step, the whole curve or every seed of a training: a short one has not got it. The others
# have to run. What these do with tensors, cells beside them do too.
WHOLE_TRAININGS = {
    "lookup": {"fig = learning("},
    "norm": {"# claim: small-sigma-diverges"},
    "transformer": {"# claim: previous-position-only", "fig = learning(", "# claim: beam-beats-greedy"},
    "training": {
        "# claim: tokens-become-alike",
        'shown = by_name("apart")',
        "# claim: clipping-survives-a-bad-batch",
        "# claim: float16-gradients",
        "every = torch.cat(raw)",
    },
    "energy": {"# claim: contrastive-core"},
    "capstone": {'check("tiny_gpt")'},  # weights that were hardly trained fail, as they should
    "theory": {"# claim: one-layer-is-universal"},
    "models": {"tensor"},  # a name: what is written into a checkpoint was brought to the CPU
    "aligned": {  # a model that was hardly trained has no right answer, so there is none to prefer or to imitate
        "# claim: a-learned-judge-is-beaten",
        "# claim: dpo-raises-what-is-preferred",
        "# claim: judges-that-like-length",
        "# claim: a-judge-is-enough",
        "# claim: rl-narrows",
        'STAGES = {"base": BASE, "tuned": POLICY, "DPO, β = 2": PREFERRED["beta 2"][0][0],',
    },
}
DEVICE_ERRORS = ("TwoPlaces", "NotImplementedError", "TypeError", "AttributeError", "AssertionError")


@pytest.fixture(scope="module")
def stand_in() -> Iterator[subprocess.Popen[str]]:
    """A process that runs editions on the stand-in: a line in, a line out."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    command = [sys.executable, HERE.with_name("stand_in.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        yield process


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_every_cell_runs_on_another_device(chapter: Chapter, stand_in: subprocess.Popen[str]) -> None:
    assert stand_in.stdin is not None
    assert stand_in.stdout is not None
    print(json.dumps([str(chapter.solved), *CUT.get(chapter.stem, ())]), file=stand_in.stdin, flush=True)
    faults = json.loads(stand_in.stdout.readline())
    known = WHOLE_TRAININGS.get(chapter.stem, set())
    assert {cell: why for cell, why in faults.items() if cell not in known or why.startswith(DEVICE_ERRORS)} == {}


def test_the_stand_in_refuses_what_a_gpu_refuses() -> None:
    said = subprocess.run([sys.executable, "-c", REFUSALS], capture_output=True, text=True, cwd=HERE.parent)
    assert said.stdout.splitlines() == ["TwoPlaces", "TwoPlaces", "RuntimeError", "standin:0 5.0"], said.stderr


REFUSALS = """
import torch, stand_in
stand_in.install()
there = torch.ones(5, device="standin")
for meet in (
    lambda: there + torch.ones(5),
    lambda: torch.randn(5, generator=torch.Generator().manual_seed(0), device="standin"),
    lambda: there.numpy(),
):
    try:
        print(meet())
    except RuntimeError as error:
        print(type(error).__name__)
print(there.device, (there * torch.tensor(1.0)).sum().item())
"""
