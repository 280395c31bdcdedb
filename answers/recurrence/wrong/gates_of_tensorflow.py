"""TensorFlow's order of the gates and its open forget gate; the cell and the output exchanged; a bias for each half."""

import torch


def lstm_step(x, h, c, w_x, w_h, b):
    i, j, f, o = torch.chunk(x @ w_x + h @ w_h + b, 4, dim=-1)
    new_c = c * torch.sigmoid(f + 1.0) + torch.sigmoid(i) * torch.tanh(j)
    return torch.tanh(new_c) * torch.sigmoid(o), new_c


def rnn_step(x, h, w_x, w_h, b):
    next_h = torch.tanh(torch.mm(x, w_x) + torch.mm(h, w_h) + b)
    return next_h


def gradient_by_distance(w_h, states):
    jacobian = torch.eye(len(w_h), dtype=w_h.dtype, device=w_h.device)
    norms = []
    for state in reversed(states):
        jacobian = jacobian @ (torch.diag(1 - state**2) @ w_h.T)
        norms.insert(0, jacobian.norm())
    return torch.stack(norms)
