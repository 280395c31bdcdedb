"""P knows only what was chosen."""

import torch
import torch.nn.functional as F


def route_tokens(logits, k):
    n = logits.shape[-1]
    experts = logits.argsort(dim=-1, descending=True, stable=True)[..., :k]
    hidden = torch.ones_like(logits, dtype=torch.bool).scatter(-1, experts, False)
    p = logits.masked_fill(hidden, -torch.inf).softmax(-1)
    f = F.one_hot(experts, n).reshape(-1, n).to(p.dtype).mean(0)
    return p.gather(-1, experts), experts, n * f @ p.reshape(-1, n).mean(0)
