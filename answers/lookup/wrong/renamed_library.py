"""The same under other names, which should not help."""

import torch
from torch import nn

harmless = nn.Softmax


def softmax(scores, dim):
    return harmless(dim)(scores)


innocent = torch._C._nn.scaled_dot_product_attention


def soft_lookup(q, k, v):
    return innocent(q, k, v, scale=1.0)
