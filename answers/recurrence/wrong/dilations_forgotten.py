"""The gaps do not count; the way to itself is a step; the diagonal is a plain product."""

import torch


def receptive_field(kernel_sizes, dilations):
    return 1 + sum(k - 1 for k in kernel_sizes)


def path_length(architecture, n, kernel=None):
    match architecture:
        case "rnn":
            return n - 1
        case "attention":
            return n
        case "cnn":
            return -(-(n - 1) // (kernel - 1))


def rnn_step(x, h, w_x, w_h, b):
    return torch.tanh(torch.einsum("...i,ij->...j", x, w_x) + torch.einsum("...i,ji->...j", h, w_h) + b)


def lstm_step(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, dim=-1)
    new_c = torch.sigmoid(f + 1.0) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(new_c), new_c


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(vocab, (batch, length), generator=generator)
    targets = torch.zeros_like(inputs)
    for t in range(delay, length):
        targets[:, t] = inputs[:, t - delay]
    return inputs, targets


def gradient_by_distance(w_h, states):
    time, d = states.shape
    jac = torch.eye(d, dtype=w_h.dtype)
    norms = [jac.norm()]
    for _t in reversed(range(1, time)):
        jac = w_h @ jac
        norms.insert(0, jac.norm())
    return torch.stack(norms)
