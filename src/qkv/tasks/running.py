"""Running tasks: after every token, say something about all that was read so far. A small state is enough for each.

Each gives (tokens, targets) of int64 (batch, length) for a length and a generator; the answers are 0 or 1.
"""

from __future__ import annotations

import torch
from torch import Tensor


def switch(
    batch: int, length: int, generator: torch.Generator, vocab: int = 8, rare: float = 0.1
) -> tuple[Tensor, Tensor]:
    """Is the light on? 0 switches it off, 1 switches it on, any other token is noise. It is off at the start.

    Args:
        vocab: tokens run from 0 to vocab - 1.
        rare: how likely a token is to be one of the two events.
    """
    noise = torch.randint(2, vocab, (batch, length), generator=generator)
    events = torch.randint(2, (batch, length), generator=generator)
    happens = torch.rand(batch, length, generator=generator) < rare
    latest = torch.where(happens, torch.arange(length), -1).cummax(dim=1).values  # -1: nothing has happened yet
    lights = torch.where(latest >= 0, events.gather(1, latest.clamp(min=0)), 0)
    return torch.where(happens, events, noise), lights


def majority(batch: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Have there been more ones than zeros so far? A tie is not more."""
    bits = torch.randint(2, (batch, length), generator=generator)
    return bits, (2 * bits.cumsum(dim=1) > torch.arange(1, length + 1)).long()


def parity(batch: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Is the number of ones so far odd? Every single bit decides."""
    bits = torch.randint(2, (batch, length), generator=generator)
    return bits, bits.cumsum(dim=1) % 2
