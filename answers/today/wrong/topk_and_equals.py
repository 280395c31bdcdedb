"""Equals come in no order."""

import torch


def route_tokens(logits, k):
    n = logits.shape[-1]
    p = logits.softmax(-1)
    top, experts = p.topk(k, dim=-1)
    f = torch.zeros(n, device=p.device).scatter_add(0, experts.flatten(), torch.ones(experts.numel(), device=p.device))
    return (
        top / top.sum(-1, keepdim=True),
        experts,
        n * (f / experts.numel() * p.reshape(-1, n).mean(0)).sum().to(p.dtype),
    )
