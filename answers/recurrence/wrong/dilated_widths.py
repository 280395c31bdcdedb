"""The width of a dilated kernel is taken for k·d, or its gaps are forgotten once."""

import torch


def receptive_field(kernel_sizes, dilations):
    field = 1
    for k, d in zip(kernel_sizes, dilations, strict=True):
        field += k * d - 1
    return field


def path_length(architecture, n, kernel=None):
    if architecture == "rnn":
        steps = 0
        for _ in range(1, n + 1):
            steps += 1
        return steps
    if architecture == "attention":
        return 1
    steps, position = 0, 0
    while position < n:
        position += kernel - 1
        steps += 1
    return steps


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (length, batch), generator=generator).T
    targets = torch.zeros_like(inputs)
    targets[:, delay:] = inputs[:, : max(length - delay, 0)]
    return inputs, targets


def gradient_by_distance(w_h, states):
    slopes = 1 - torch.tanh(states) ** 2
    d = w_h.shape[0]
    jac = torch.eye(d, dtype=w_h.dtype)
    norms = [jac.norm()]
    for t in range(len(states) - 1, 0, -1):
        jac = (w_h * slopes[t]) @ jac
        norms.append(jac.norm())
    return torch.stack(norms[::-1])


def lstm_step(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, dim=-1)
    i = torch.softmax(i, dim=-1)
    f = torch.softmax(f, dim=-1)
    o = torch.softmax(o, dim=-1)
    c = f * c + i * torch.tanh(g)
    return o * torch.tanh(c), c
