"""Powers of w_h times powers of one slope."""

import torch


def gradient_by_distance(w_h, states):
    slope = (1 - states.square()).mean()
    steps = range(len(states) - 1, -1, -1)
    return torch.stack([(slope**k) * torch.linalg.matrix_power(w_h, k).norm() for k in steps])
