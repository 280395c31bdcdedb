"""Clocks as complex numbers: a turn is a product."""

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    omega = torch.exp(-torch.log(torch.tensor(base)) * torch.arange(0, d_model, 2) / d_model)
    angles = torch.arange(length).unsqueeze(1) * omega
    hand = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(hand).flip(-1).reshape(length, d_model)  # (cos, sin) turned to (sin, cos)


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    omega = 1.0 / (base ** (torch.arange(0, d, 2, device=x.device).float() / d))  # as LLaMA's code writes it
    angles = torch.outer(positions.float(), omega)
    turn = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(pairs * turn).flatten(-2).type_as(x)
