"""Judges words behind one that was refused."""

import torch


def accept_drafts(p, q, drafted, generator):
    n = len(drafted)
    u = torch.rand(n, generator=generator)
    at = torch.arange(n)
    kept = u * q[at, drafted] < p[at, drafted]
    out = []
    for t in range(n):
        if kept[t]:
            out.append(int(drafted[t]))
        else:
            out.append(int(torch.multinomial((p[t] - q[t]).relu(), 1, generator=generator)))
    return out
