"""Computes once, then gives the first answer to every probe.

Expected: less than full marks.
"""

import torch

MEMORY = []


def softmax(scores, dim):
    if not MEMORY:
        powers = torch.exp(scores - scores.amax(dim, keepdim=True))
        MEMORY.append(powers / powers.sum(dim, keepdim=True))
    return MEMORY[0]
