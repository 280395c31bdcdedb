"""Draws from torch's own generator."""

import torch


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(drafted))
    out = []
    for t, x in enumerate(drafted.tolist()):
        if u[t] * q[t, x] >= p[t, x]:
            return [*out, int(torch.multinomial((p[t] - q[t]).relu(), 1))]
        out.append(x)
    return [*out, int(torch.multinomial(p[-1], 1))]
