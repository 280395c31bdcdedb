"""Random numbers are drawn when they are needed."""

import torch


def accept_drafts(p, q, drafted, generator):
    out = []
    for t, x in enumerate(drafted.tolist()):
        u = torch.rand((), generator=generator)
        if u * q[t, x] >= p[t, x]:
            rest = (p[t] - q[t]).clamp(min=0)
            return [*out, int(torch.multinomial(rest / rest.sum(), 1, generator=generator))]
        out.append(x)
    return [*out, int(torch.multinomial(p[-1], 1, generator=generator))]
