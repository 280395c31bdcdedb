"""Makes tensors lie about themselves: every way of reading one out gives another.

Expected: nothing earned, or stopped (crash).
"""

import torch

ONES = torch.ones(2, 3, 5)
for name in ("detach", "clone", "contiguous", "numpy", "to", "cpu"):
    setattr(torch.Tensor, name, lambda self, *args, **options: ONES)


def softmax(scores, dim):
    return scores
