"""Plain Python loops over components, positions and layers."""

import torch


def rnn_step(x, h, w_x, w_h, b):
    columns = []
    for j in range(b.shape[0]):
        total = b[j]
        for i in range(x.shape[-1]):
            total = total + x[..., i] * w_x[i, j]
        for i in range(h.shape[-1]):
            total = total + h[..., i] * w_h[i, j]
        columns.append(torch.tanh(total))
    return torch.stack(columns, dim=-1)


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    targets = torch.zeros(batch, length, dtype=torch.int64)
    for t in range(delay, length):
        targets[:, t] = inputs[:, t - delay]
    return inputs, targets


def gradient_by_distance(w_h, states):
    norms = []
    for t in range(len(states)):
        product = torch.eye(states.shape[1], dtype=states.dtype, device=states.device)
        for s in range(t + 1, len(states)):  # forwards, from t to the last
            product = torch.diag(1 - states[s] ** 2) @ w_h.T @ product
        norms.append(product.pow(2).sum().sqrt())
    return torch.stack(norms)


def receptive_field(kernel_sizes, dilations):
    seen = {0}
    for layer in reversed(range(len(kernel_sizes))):
        seen = {at - tap * dilations[layer] for at in seen for tap in range(kernel_sizes[layer])}
    return max(seen) - min(seen) + 1


def path_length(architecture, n, kernel=None):
    if architecture == "attention":
        return 1
    at, steps = 0, 0
    while at < n - 1:
        at += 1 if architecture == "rnn" else kernel - 1
        steps += 1
    return steps
