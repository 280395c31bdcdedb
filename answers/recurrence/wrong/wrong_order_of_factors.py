"""Multiplies the Jacobians in the wrong order."""

import torch


def gradient_by_distance(w_h, states):
    jacobian = torch.eye(len(w_h), dtype=w_h.dtype, device=w_h.device)
    norms = [jacobian.norm()]
    for state in states[1:].flip(0):
        jacobian = ((1 - state.square())[:, None] * w_h.T) @ jacobian
        norms.append(jacobian.norm())
    return torch.stack(norms).flip(0)


def receptive_field(kernel_sizes, dilations):
    seen = 1
    for kernel, dilation in zip(kernel_sizes, dilations, strict=True):
        seen = seen * dilation + kernel - 1
    return seen
