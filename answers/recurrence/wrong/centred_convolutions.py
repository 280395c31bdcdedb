"""Kernels that look both ways: twice as fast; and a gap of one too many."""

import math

import torch


def receptive_field(kernel_sizes, dilations):
    total = 1
    for k, d in zip(kernel_sizes, dilations, strict=True):
        total += (k - 1) * (d + 1)
    return total


def path_length(architecture, n, kernel=None):
    if architecture == "cnn":
        return math.ceil((n - 1) / (kernel // 2)) if kernel > 1 else n - 1
    return {"rnn": n - 1, "attention": 1}[architecture]


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    targets = torch.zeros_like(inputs)
    targets[:, : length - delay] = inputs[:, delay:]
    return inputs, targets


def gradient_by_distance(w_h, states):
    d = w_h.shape[0]
    jac = torch.eye(d, dtype=w_h.dtype)
    norms = []
    for h in states:
        norms.append(jac.norm())
        jac = jac @ w_h * (1 - h**2)
    return torch.stack(norms)


def rnn_step(x, h, w_x, w_h, b):
    new = torch.tanh(x @ w_x + h @ w_h + b)
    return 0.5 * h + 0.5 * new
