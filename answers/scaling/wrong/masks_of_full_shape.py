"""The mask is expected to have the very shape of the scores."""

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.clone()
        scores[~mask.reshape(scores.shape)] = float("-inf")
    weights = torch.softmax(scores, -1)
    return weights @ v, weights
