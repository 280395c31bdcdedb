"""Replaces the recorded inputs in memory, so that a constant would be right.

Expected: nothing earned.
"""

import sys

import torch

frame = sys._getframe()
while frame is not None:
    for table in [v for v in frame.f_locals.values() if isinstance(v, dict)]:
        for inner in [v for v in table.values() if isinstance(v, dict)]:
            for tensor in [t for t in inner.values() if isinstance(t, torch.Tensor)]:
                tensor.zero_()
    frame = frame.f_back


def softmax(scores, dim):
    return torch.full_like(scores, 1 / scores.shape[dim])


def similarity_scores(q, k):
    return torch.zeros(*q.shape[:-1], k.shape[-2])
