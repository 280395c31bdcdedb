"""The replacement is drawn from all of p."""

import torch


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(drafted), generator=generator)
    out = []
    for t, x in enumerate(drafted.tolist()):
        if u[t] >= p[t, x] / q[t, x]:
            return [*out, int(torch.multinomial(p[t], 1, generator=generator))]
        out.append(x)
    return [*out, int(torch.multinomial(p[-1], 1, generator=generator))]
