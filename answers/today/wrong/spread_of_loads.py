"""Another measure of balance."""


def route_tokens(logits, k):
    p = logits.softmax(-1)
    n = p.shape[-1]
    experts = logits.argsort(dim=-1, descending=True, stable=True)[..., :k]
    chosen = p.gather(-1, experts)
    load = p.reshape(-1, n).mean(0)
    return chosen / chosen.sum(-1, keepdim=True), experts, 1 + (load - 1 / n).square().sum() * n
