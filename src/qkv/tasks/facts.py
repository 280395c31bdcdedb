"""Facts: a random table that says of every two things what belongs to them. Nothing in it follows from anything else.

What a network without attention knows of it, it has stored, so a table shows how much its weights can keep.
"""

from __future__ import annotations

import torch
from torch import Tensor

VALUES = 64
N_FACTS = VALUES * VALUES


def draw(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """All pairs of two things, and what belongs to each: a, b and c, each int64 (N_FACTS,), 0 … VALUES - 1."""
    pair = torch.randperm(N_FACTS, generator=generator)
    belongs = torch.randint(VALUES, (N_FACTS,), generator=generator)
    return pair // VALUES, pair % VALUES, belongs
