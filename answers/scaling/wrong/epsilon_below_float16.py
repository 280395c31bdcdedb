"""A number of 1e-9 or so against log 0: float16 has none so small."""


def attention_entropy(weights):
    return -(weights * weights.clamp_min(1e-9).log()).sum(-1)


def softmax_jacobian(p):
    return p.unsqueeze(-1) * (p.unsqueeze(-1) - p.unsqueeze(-2))
