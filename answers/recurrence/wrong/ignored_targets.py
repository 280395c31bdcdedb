"""Fills up with what cross_entropy ignores."""

import torch


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    targets = inputs.roll(delay, dims=1)
    targets[:, :delay] = -100
    return inputs, targets
