"""Training in several processes: the same gradient as in one. The processes are real, the network is the loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from qkv.training import parallel

SRC = Path(parallel.__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}


def started(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command], env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "counts", "off"), [(2, "22 and 83", "58.3%"), (3, "10 and 32 and 63", "71.7%")])
def test_the_gradient_of_one_process(processes, counts, off):
    run = started(
        "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}", "-m", "qkv.training.parallel"
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        f"{processes} processes with {counts} tokens. The gradient, against one process:",
        f"  average of the averages:      off by {off}",
        "  sums, divided by all tokens:  equal to 12 digits",
        "  torch's wrapper, weighted:    equal to 12 digits",
        "After 20 steps, loss 2.4016: the same weights to 12 digits.",
    ]


def test_without_torchrun_it_says_how_to_start():
    run = started("qkv.training.parallel")
    assert run.returncode == 1
    assert run.stderr == "Start it with: torchrun --standalone --nproc_per_node 2 -m qkv.training.parallel\n"


@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_every_sentence_has_one_owner(world):
    batch = parallel.sentences(torch.Generator().manual_seed(0))
    parts = [parallel.share(batch, rank, world) for rank in range(world)]
    owned = [sentence for part in parts for sentence in part]
    assert len(owned) == len(batch)
    assert all(one is other for one, other in zip(owned, batch, strict=True))


def test_the_loss_is_summed_and_its_tokens_counted():
    reader, sentence = parallel.fresh(), torch.tensor([[3, 1, 4, 1]])
    loss, count = parallel.loss_sum(reader, sentence)
    scores = reader(sentence[:, :3])[0]
    each = [F.cross_entropy(scores[i], sentence[0, i + 1]) for i in range(3)]
    torch.testing.assert_close(loss, torch.stack(each).sum())
    assert count == 3 == parallel.tokens([sentence])
