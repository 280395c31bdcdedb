"""counts ** 3 / 4: the power comes before the division."""

import torch


def negative_samples(counts, shape, generator, power=0.75):
    weights = counts.double() ** 3 / 4
    n = 1
    for size in shape:
        n *= size
    return torch.multinomial(weights, n, replacement=True, generator=generator).view(shape)
