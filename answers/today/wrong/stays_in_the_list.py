"""What was refused is written all the same."""

import torch


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(drafted), generator=generator)
    out = []
    for t, x in enumerate(drafted.tolist()):
        out.append(x)
        if u[t] * q[t, x] >= p[t, x]:
            return [*out, int(torch.multinomial((p[t] - q[t]).relu(), 1, generator=generator))]
    return [*out, int(torch.multinomial(p[-1], 1, generator=generator))]
