"""Lets torch do what the exercise forbids, each in another spelling."""

import torch


def free_energy(energies, beta=1.0):
    low = energies.amin(-1)
    weights = torch.softmax(-beta * energies, -1)
    likeliest = weights.amax(-1)
    return low + likeliest.log() / beta
