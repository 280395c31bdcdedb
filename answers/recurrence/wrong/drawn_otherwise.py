"""Draws twice, or one sequence after the other: other numbers."""

import torch


def delayed_copy(batch, length, delay, vocab, generator):
    rows = [torch.randint(1, vocab, (length,), generator=generator) for _ in range(batch)]
    torch.randint(1, vocab, (1,), generator=generator)
    inputs = torch.stack(rows)
    targets = torch.zeros_like(inputs)
    targets[:, delay:] = inputs[:, : max(length - delay, 0)]
    return inputs, targets
