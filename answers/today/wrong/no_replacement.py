"""Stops at the first refusal with nothing instead."""

import torch


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(drafted), generator=generator)
    out = []
    for t, x in enumerate(drafted.tolist()):
        if u[t] * q[t, x] >= p[t, x]:
            return out
        out.append(x)
    return [*out, int(torch.multinomial(p[-1], 1, generator=generator))]
