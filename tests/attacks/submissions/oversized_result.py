"""Returns a gigantic tensor.

Expected: nothing earned.
"""

import torch


def softmax(scores, dim):
    return torch.zeros(1).expand(10**12)


def similarity_scores(q, k):
    return torch.zeros(40_000_000)
