"""enumerate's index is taken for the kernel; cases are compared by the wrong word."""

import torch


def receptive_field(kernel_sizes, dilations):
    field = 1
    for i in range(len(kernel_sizes) - 1):
        field = field + (kernel_sizes[i] - 1) * dilations[i]
    return field


def path_length(architecture, n, kernel=None):
    if architecture == "RNN":
        return n - 1
    if architecture == "CNN":
        return -(-(n - 1) // (kernel - 1))
    return 1


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    targets = inputs.clone()
    targets[:, delay:] = inputs[:, : length - delay]
    return inputs, targets


def gradient_by_distance(w_h, states):
    time, d = states.shape
    norms = []
    for t in range(time):
        jac = torch.eye(d, dtype=w_h.dtype)
        for s in range(t, time):
            jac = jac @ (w_h * (1 - states[s] ** 2))
        norms.append(jac.norm())
    return torch.stack(norms)


def rnn_step(x, h, w_x, w_h, b):
    return torch.tanh(x @ w_x + x @ w_h + b) if x.shape == h.shape else torch.tanh(x @ w_x + h + b)
