"""Other random numbers than the docstring's."""

import torch


def dropout(x, p, generator):
    if p == 1:
        return x * 0
    kept = torch.empty(x.shape).bernoulli_(1 - p, generator=generator)
    return x * kept / (1 - p)
