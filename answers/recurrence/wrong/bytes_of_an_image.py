"""Rules of images: both dimensions, padding, strides."""

import torch


def receptive_field(kernel_sizes, dilations):
    field = 1
    for k, d in zip(kernel_sizes, dilations, strict=True):
        field += (k - 1) * d
    return field * field


def path_length(architecture, n, kernel=None):
    if architecture == "rnn":
        return n - 1
    if architecture == "attention":
        return 1
    return n - kernel + 1


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    targets = torch.zeros(batch, length + delay, dtype=inputs.dtype)
    targets[:, delay:] = inputs
    return inputs, targets
