"""Everything is made float32 on the CPU."""

import torch


def rnn_step(x, h, w_x, w_h, b):
    return torch.tanh(x.float() @ w_x.float() + h.float() @ w_h.float() + b.float())


def gradient_by_distance(w_h, states):
    jacobian = torch.eye(len(w_h))
    norms = [jacobian.norm()]
    for state in states[1:].float().flip(0):
        jacobian = jacobian @ ((1 - state.square())[:, None] * w_h.float().T)
        norms.append(jacobian.norm())
    return torch.stack(norms).flip(0)
