"""WaveNet's dilations are taken for granted; so is a binary tree."""

import torch


def receptive_field(kernel_sizes, dilations):
    field = 1
    for layer, k in enumerate(kernel_sizes):
        field += (k - 1) * 2**layer
    return field


def path_length(architecture, n, kernel=None):
    if architecture == "rnn":
        return n - 1
    if architecture == "attention":
        return 1
    steps, reach = 0, 1
    while reach < n:
        reach *= kernel
        steps += 1
    return steps


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    targets = torch.zeros_like(inputs)
    for t in range(length):
        if t > delay:
            targets[:, t] = inputs[:, t - delay]
    return inputs, targets


def gradient_by_distance(w_h, states):
    jac = torch.eye(w_h.shape[0], dtype=w_h.dtype)
    norms = [jac.norm()]
    for h in states.flip(0)[:-1]:
        jac = jac @ (w_h * (1 - h))
        norms.append(jac.norm())
    return torch.stack(norms).flip(0)


def rnn_step(x, h, w_x, w_h, b):
    state = torch.cat([h, x], dim=-1)
    weights = torch.cat([w_x, w_h], dim=0)
    return torch.tanh(state @ weights + b)
