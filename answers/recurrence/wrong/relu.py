"""Another nonlinearity."""

import torch


def rnn_step(x, h, w_x, w_h, b):
    return torch.relu(x @ w_x + h @ w_h + b)


def lstm_step(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.relu(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def gradient_by_distance(w_h, states):
    jacobian = torch.eye(len(w_h), dtype=w_h.dtype, device=w_h.device)
    norms = [jacobian.norm()]
    for state in states[1:].flip(0):
        jacobian = jacobian @ ((state > 0).to(w_h.dtype)[:, None] * w_h.T)
        norms.append(jacobian.norm())
    return torch.stack(norms).flip(0)
