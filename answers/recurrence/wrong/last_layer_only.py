"""Only the last layer, the deepest kernel, the end of a sequence is looked at."""

import torch


def receptive_field(kernel_sizes, dilations):
    if not kernel_sizes:
        return 1
    return (kernel_sizes[-1] - 1) * dilations[-1] + 1


def path_length(architecture, n, kernel=None):
    if architecture == "rnn":
        return n - 1
    if architecture == "attention":
        return 1
    if architecture == "cnn":
        return -(-n // kernel)
    raise ValueError(architecture)


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    targets = torch.zeros(batch, length, dtype=torch.long)
    targets[:, -1] = inputs[:, -1 - delay]
    return inputs, targets


def gradient_by_distance(w_h, states):
    d = states.shape[1]
    jac = torch.eye(d, dtype=w_h.dtype)
    norms = [jac.norm()]
    for t in range(states.shape[0] - 2, -1, -1):
        jac = (w_h * (1 - states[t] ** 2)) @ jac
        norms.append(jac.norm())
    norms.reverse()
    return torch.stack(norms)


def lstm_step(x, h, c, w_x, w_h, b):
    d = h.shape[-1]
    z = x @ w_x + h @ w_h + b
    i, f, g, o = (z[..., k * d : (k + 1) * d] for k in range(4))
    c_new = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    h_new = torch.sigmoid(o) * torch.tanh(c)
    return h_new, c_new
