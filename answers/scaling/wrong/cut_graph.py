"""The numbers are right and no gradient flows."""

import numpy as np
import torch


def softmax_jacobian(p):
    p = p.detach()
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


def attention_entropy(weights):
    array = weights.detach().double().numpy()
    terms = np.where(array > 0, -array * np.log(np.where(array > 0, array, 1.0)), 0.0)
    return torch.tensor(terms.sum(-1)).to(weights.dtype)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1).data
    return weights @ v, weights
