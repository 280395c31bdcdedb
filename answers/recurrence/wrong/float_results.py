"""ceil and the division give floats; half of a step is a step."""

import math

import torch


def receptive_field(kernel_sizes, dilations):
    half = sum((k // 2) * d for k, d in zip(kernel_sizes, dilations, strict=True))
    return 2 * half + 1


def path_length(architecture, n, kernel=None):
    if architecture == "rnn":
        return n - 1
    if architecture == "attention":
        return 1
    return (n - 1) / (kernel - 1)


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab + 1, (batch, length), generator=generator)
    targets = torch.nn.functional.pad(inputs, (delay, 0))[:, :length]
    return inputs, targets


def gradient_by_distance(w_h, states):
    t_max, d = states.shape
    norms = [math.sqrt(d)]
    jac = torch.eye(d, dtype=w_h.dtype)
    for t in range(t_max - 1, 0, -1):
        jac = (w_h * (1 - states[t] ** 2)) @ jac
        norms.append(float(jac.pow(2).sum()))
    return torch.tensor(norms[::-1], dtype=states.dtype)


def lstm_step(x, h, c, w_x, w_h, b):
    z = x @ w_x + h @ w_h + b
    i, f, g, o = z.split(h.shape[-1], -1)
    i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
    c = f * c + i * torch.tanh(g)
    h = o * c
    return h, c
