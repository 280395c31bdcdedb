"""Changes the inputs in place, hoping that the comparison uses them.

Expected: nothing earned.
"""

import torch


def softmax(scores, dim):
    with torch.no_grad():
        scores.zero_()
    return scores
