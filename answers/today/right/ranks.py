"""Who has fewer than k before it is chosen."""

import torch


def route_tokens(logits, k):
    n = logits.shape[-1]
    ids = torch.arange(n, device=logits.device)
    a, b = logits.unsqueeze(-1), logits.unsqueeze(-2)
    before = (b > a) | ((b == a) & (ids < ids[:, None]))
    rank = before.sum(-1)
    experts = (rank.unsqueeze(-2) == torch.arange(k, device=logits.device)[:, None]).long().argmax(-1)
    p = logits.softmax(-1)
    chosen = torch.gather(p, -1, experts)
    f = (rank < k).to(p.dtype).reshape(-1, n).mean(0) / k
    return chosen / chosen.sum(-1, True), experts, (f * p.reshape(-1, n).mean(0)).sum() * n
