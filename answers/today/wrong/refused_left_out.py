"""Leaves refused words out and keeps those behind."""

import torch


def accept_drafts(p, q, drafted, generator):
    n = len(drafted)
    u = torch.rand(n, generator=generator)
    at = torch.arange(n)
    kept = u * q[at, drafted] < p[at, drafted]
    row = p[-1] if kept.all() else (p[int((~kept).long().argmax())] - q[int((~kept).long().argmax())]).relu()
    return [*drafted[kept].tolist(), int(torch.multinomial(row, 1, generator=generator))]
