"""Hidden scores are the smallest number of the dtype; queries are scaled before the product."""

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    q = q / q.shape[-1] ** 0.5
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(mask == False, torch.finfo(scores.dtype).min)  # noqa: E712
    weights = scores.softmax(dim=-1)
    output = weights @ v
    return output, weights


def attention_entropy(weights):
    return torch.special.entr(weights).sum(dim=-1)


def softmax_jacobian(p):
    column, row = p[..., :, None], p[..., None, :]
    n = p.shape[-1]
    same = torch.arange(n, device=p.device)[:, None] == torch.arange(n, device=p.device)
    return torch.where(same, column * (1 - row), -column * row)
