"""A mask as a number of -1e9 that is added to the scores."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-1, -2)) / torch.sqrt(torch.tensor(k.shape[-1], dtype=q.dtype))
    if mask is not None:
        scores = scores + (~mask).to(scores.dtype) * -1e9
    weights = F.softmax(scores, dim=-1)
    return torch.matmul(weights, v), weights
