"""Does not know of a draft of nothing."""

import torch


def accept_drafts(p, q, drafted, generator):
    if len(drafted) == 0:
        return []
    u = torch.rand(len(drafted), generator=generator)
    out = []
    for t, x in enumerate(drafted.tolist()):
        if u[t] * q[t, x] >= p[t, x]:
            return [*out, int(torch.multinomial((p[t] - q[t]).relu(), 1, generator=generator))]
        out.append(x)
    return [*out, int(torch.multinomial(p[-1], 1, generator=generator))]
