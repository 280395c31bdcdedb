"""Tokens share what experts should."""

import torch.nn.functional as F


def route_tokens(logits, k):
    n = logits.shape[-1]
    experts = logits.argsort(dim=-1, descending=True, stable=True)[..., :k]
    p = logits.reshape(-1, n).softmax(0).view_as(logits)
    top = p.gather(-1, experts)
    f = F.one_hot(experts, n).reshape(-1, n).to(p.dtype).mean(0)
    return top / top.sum(-1, keepdim=True), experts, n * f @ p.reshape(-1, n).mean(0)
