"""Takes probabilities for logits."""

import torch


def accept_drafts(p, q, drafted, generator):
    p, q = p.softmax(-1), q.softmax(-1)
    u = torch.rand(len(drafted), generator=generator)
    out = []
    for t, x in enumerate(drafted.tolist()):
        if u[t] * q[t, x] >= p[t, x]:
            return [*out, int(torch.multinomial((p[t] - q[t]).relu(), 1, generator=generator))]
        out.append(x)
    return [*out, int(torch.multinomial(p[-1], 1, generator=generator))]
