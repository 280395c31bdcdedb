"""Tokens and steps one by one."""

import torch


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    targets = [[row[t - delay] if t >= delay else 0 for t in range(length)] for row in inputs.tolist()]
    return [inputs, torch.tensor(targets)]


def path_length(architecture, n, kernel=None):
    if architecture != "cnn":
        return 1 if architecture == "attention" else n - 1
    layers, reached = 0, 1
    while reached < n:
        layers, reached = layers + 1, reached + kernel - 1
    return layers


def receptive_field(kernel_sizes, dilations):
    left = right = 0
    for kernel, dilation in zip(kernel_sizes, dilations, strict=True):
        right += dilation * (kernel - 1)
    return right - left + 1
