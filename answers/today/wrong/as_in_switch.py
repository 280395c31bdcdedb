"""Written for one expert a token."""

import torch


def route_tokens(logits, k):
    p = logits.softmax(-1)
    n = p.shape[-1]
    experts = logits.argsort(dim=-1, descending=True, stable=True)[..., :k]
    chosen = p.gather(-1, experts)
    f = (p.argmax(-1).unsqueeze(-1) == torch.arange(n, device=p.device)).reshape(-1, n).to(p.dtype).mean(0)
    return chosen / chosen.sum(-1, keepdim=True), experts, n * f @ p.reshape(-1, n).mean(0)
