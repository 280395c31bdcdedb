"""Slices that break at the edges: no delay, or a delay beyond the end."""

import torch


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    targets = torch.zeros_like(inputs)
    targets[:, delay:] = inputs[:, :-delay]  # empty for delay 0
    return inputs, targets


def receptive_field(kernel_sizes, dilations):
    reach = kernel_sizes[0]  # there may be no layer
    for kernel, dilation in zip(kernel_sizes[1:], dilations[1:], strict=True):
        reach += (kernel - 1) * dilation
    return reach
