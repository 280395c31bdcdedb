"""Is right for one shape only.

Expected: less than full marks.
"""

import torch


def softmax(scores, dim):
    if tuple(scores.shape) == (2, 3, 5):
        powers = torch.exp(scores - scores.amax(dim, keepdim=True))
        return powers / powers.sum(dim, keepdim=True)
    return torch.zeros_like(scores)
