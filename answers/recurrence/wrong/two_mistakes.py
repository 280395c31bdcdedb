"""Two mistakes at once."""

import torch


def rnn_step(x, h, w_x, w_h, b):
    return torch.sigmoid(x @ w_x + h @ w_h.T + b)


def lstm_step(x, h, c, w_x, w_h, b):
    i, f, o, g = (x @ w_x + h @ w_h + b).chunk(4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * g
    return torch.sigmoid(o) * torch.tanh(c), c


def gradient_by_distance(w_h, states):
    jacobian = torch.eye(len(w_h), dtype=w_h.dtype, device=w_h.device)
    norms = [jacobian.square().sum()]
    for state in states[:-1].flip(0):
        jacobian = jacobian @ ((1 - state.square())[:, None] * w_h.T)
        norms.append(jacobian.square().sum())
    return torch.stack(norms).flip(0)
