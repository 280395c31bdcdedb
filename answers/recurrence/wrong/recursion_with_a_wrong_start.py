"""Built up from 0, or from the first kernel."""

import torch


def receptive_field(kernel_sizes, dilations):
    r = 0
    for k, d in zip(kernel_sizes, dilations, strict=True):
        r += (k - 1) * d
    return r


def path_length(architecture, n, kernel=None):
    if architecture == "rnn":
        return n - 1
    if architecture == "attention":
        return 1
    layers, field = 1, kernel
    while field < n:
        field += kernel - 1
        layers += 1
    return layers


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    targets = torch.ones_like(inputs)
    if delay < length:
        targets[:, delay:] = inputs[:, : length - delay]
    return inputs, targets


def gradient_by_distance(w_h, states):
    time, d = states.shape
    jac = torch.ones(d, d, dtype=states.dtype)
    norms = torch.zeros(time, dtype=states.dtype)
    for t in range(time - 1, -1, -1):
        norms[t] = jac.norm()
        jac = (w_h * (1 - states[t] ** 2)) @ jac
    return norms


def lstm_step(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x + b).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c
