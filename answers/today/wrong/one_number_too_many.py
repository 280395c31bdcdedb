"""Draws a number for the word behind the draft too."""

import torch


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(p), generator=generator)
    out = []
    for t, x in enumerate(drafted.tolist()):
        if u[t] * q[t, x] >= p[t, x]:
            return [*out, int(torch.multinomial((p[t] - q[t]).relu(), 1, generator=generator))]
        out.append(x)
    return [*out, int(torch.multinomial(p[-1], 1, generator=generator))]
