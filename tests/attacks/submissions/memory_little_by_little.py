"""Fills memory piece by piece and forgives every failure.

Expected: nothing earned, or stopped (time or memory or crash).
Seconds: 3
"""

import torch

HOARD = []


def softmax(scores, dim):
    for _ in range(500):
        try:
            HOARD.append(torch.ones(1 << 18))
        except (RuntimeError, MemoryError):
            HOARD.append(None)
    if sum(t.nbytes for t in HOARD if t is not None) > 400 << 20:
        print("LEAK more memory than allowed")
    return scores
