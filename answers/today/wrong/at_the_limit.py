"""Keeps where the draw equals the ratio."""

import torch


def accept_drafts(p, q, drafted, generator):
    n = drafted.shape[0]
    u = torch.rand(n, generator=generator)
    out = []
    for t in range(n):
        x = int(drafted[t])
        if u[t] * q[t, x] <= p[t, x]:
            out.append(x)
            continue
        rest = torch.clamp(p[t] - q[t], min=0)
        out.append(int(torch.multinomial(rest, 1, generator=generator)))
        return out
    out.append(int(torch.multinomial(p[n], 1, generator=generator)))
    return out
