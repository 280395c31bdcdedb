"""A loop over heads, one slice of which is off."""

import torch


def split_heads(x, n_heads):
    d_head = x.shape[-1] // n_heads
    heads = []
    for h in range(n_heads):
        heads.append(x[:, :, h : h + d_head])
    return torch.stack(heads, dim=1)


def merge_heads(x):
    merged = x[:, 0]
    for h in range(1, x.shape[1]):
        merged = torch.cat([x[:, h], merged], dim=-1)
    return merged


def attention_parameters(d_model, n_heads, bias=True):
    total = 0
    for _ in range(n_heads):
        for _ in range(4):
            total += d_model * d_model
            if bias:
                total += d_model
    return total


def head_similarity(weights):
    n = weights.shape[1]
    similarity = torch.eye(n, dtype=weights.dtype, device=weights.device)
    for a in range(n):
        for b in range(a):
            x, y = weights[:, a], weights[:, b]
            cos = (x * y).sum(-1) / (x.norm(dim=-1) * y.norm(dim=-1))
            similarity[a, b] = cos.mean()
    return similarity
