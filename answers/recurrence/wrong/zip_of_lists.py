"""zip of a list with itself, a stale loop variable, a return inside the loop."""

import torch


def receptive_field(kernel_sizes, dilations):
    field = 1
    for k, d in zip(kernel_sizes, dilations, strict=True):
        field += (k - 1) * d
        return field
    return field


def path_length(architecture, n, kernel=None):
    if architecture == "attention":
        return 1
    if kernel is None:
        kernel = 3
    if architecture == "cnn":
        return (n - 1) // (kernel - 1) + 1
    return n - 1


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    targets = torch.zeros_like(inputs)
    for b in range(batch):
        for t in range(length):
            targets[b, t] = inputs[b, t - delay]
    return inputs, targets


def rnn_step(x, h, w_x, w_h, b):
    h = torch.tanh(x @ w_x + b)
    return torch.tanh(h @ w_h)
