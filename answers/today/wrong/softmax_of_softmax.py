"""A softmax of probabilities."""

import torch
import torch.nn.functional as F


def route_tokens(logits, k):
    p = logits.softmax(-1)
    n = p.shape[-1]
    experts = logits.argsort(dim=-1, descending=True, stable=True)[..., :k]
    weights = F.softmax(p.gather(-1, experts), dim=-1)
    f = F.one_hot(experts, n).reshape(-1, n).to(p.dtype).mean(0)
    return weights, experts, n * f @ p.reshape(-1, n).mean(0)


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(drafted), generator=generator)
    out = []
    for t, x in enumerate(drafted.tolist()):
        if u[t] * q[t, x] >= p[t, x]:
            return [*out, int(torch.multinomial((p[t] - q[t]).softmax(0), 1, generator=generator))]
        out.append(x)
    return [*out, int(torch.multinomial(p[-1], 1, generator=generator))]
