"""Kernels are summed as if they did not overlap; the path through a convolution is a logarithm."""

import math

import torch


def receptive_field(kernel_sizes, dilations):
    return sum(k * d for k, d in zip(kernel_sizes, dilations, strict=True)) or 1


def path_length(architecture, n, kernel=None):
    lengths = {
        "rnn": n - 1,
        "attention": 1,
        "cnn": math.ceil(math.log(n, kernel)) if kernel and kernel > 1 and n > 0 else 0,
    }
    return lengths[architecture]


def rnn_step(x, h, w_x, w_h, b):
    return torch.sigmoid(x @ w_x + h @ w_h + b)


def lstm_step(x, h, c, w_x, w_h, b):
    gates = x @ w_x + h @ w_h + b
    d = h.shape[-1]
    i = torch.sigmoid(gates[..., :d])
    f = torch.sigmoid(gates[..., d : 2 * d])
    o = torch.sigmoid(gates[..., 2 * d : 3 * d])
    g = torch.tanh(gates[..., 3 * d :])
    c_new = f * c + i * g
    return o * torch.tanh(c_new), c_new


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    return inputs, torch.roll(inputs, delay, dims=1)


def gradient_by_distance(w_h, states):
    time, d = states.shape
    out = []
    for t in range(time):
        product = torch.eye(d, dtype=w_h.dtype)
        for s in range(t + 1, time):
            product = product @ w_h @ torch.diag(1 - states[s] ** 2)
        out.append(torch.linalg.matrix_norm(product, ord=2))
    return torch.stack(out)
