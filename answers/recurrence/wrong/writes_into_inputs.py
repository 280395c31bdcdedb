"""The old state is overwritten."""

import torch


def rnn_step(x, h, w_x, w_h, b):
    new = torch.tanh(x @ w_x + h @ w_h + b)
    with torch.no_grad():
        h.copy_(new)
    return new


def gradient_by_distance(w_h, states):
    slopes = states.detach().pow_(2).neg_().add_(1)
    jacobian = torch.eye(len(w_h), dtype=w_h.dtype, device=w_h.device)
    norms = [jacobian.norm()]
    for slope in slopes[1:].flip(0):
        jacobian = jacobian @ (slope[:, None] * w_h.T)
        norms.append(jacobian.norm())
    return torch.stack(norms).flip(0)
