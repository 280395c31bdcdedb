"""Returns numbers that were right in another run.

Expected: nothing earned.
"""

import torch


def softmax(scores, dim):
    return torch.full_like(scores, 1 / scores.shape[dim])


def similarity_scores(q, k):
    return torch.zeros(*q.shape[:-1], k.shape[-2])
