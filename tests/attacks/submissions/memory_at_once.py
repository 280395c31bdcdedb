"""Asks for a terabyte.

Expected: nothing earned.
"""

import torch


def softmax(scores, dim):
    return torch.ones(10**12)


def similarity_scores(q, k):
    return bytearray(10**12)
