"""The Jacobians by autograd; sigmoid as half a tanh."""

import torch


def gate(z):
    return (torch.tanh(z / 2) + 1) / 2


def lstm_step(x, h, c, w_x, w_h, b):
    i, f, g, o = torch.split(x @ w_x + h @ w_h + b, h.shape[-1], dim=-1)
    c = gate(f) * c + gate(i) * torch.tanh(g)
    return gate(o) * torch.tanh(c), c


def gradient_by_distance(w_h, states):
    def step(h, t):
        # the drive that led from states[t-1] to states[t] is whatever is missing
        before = torch.atanh(states[t].double()) - states[t - 1].double() @ w_h.double()
        return torch.tanh(before + h @ w_h.double())

    if states.device.type == "meta":
        return states.new_empty(len(states))
    jacobian = torch.eye(len(w_h), dtype=torch.float64)
    norms = [jacobian.norm()]
    for t in reversed(range(1, len(states))):
        local = torch.func.jacrev(step)(states[t - 1].double(), t)
        jacobian = jacobian @ local
        norms.append(jacobian.norm())
    return torch.stack(norms[::-1]).to(w_h.dtype)
