"""The draft's missing row is zeros, so that the last row is like the others."""

import torch
import torch.nn.functional as F


def accept_drafts(p, q, drafted, generator):
    n = len(drafted)
    u = torch.rand(n, generator=generator).tolist()
    refused = [t for t, x in enumerate(drafted) if u[t] >= (p[t, x] / q[t, x]).item()]
    stop = min([*refused, n])
    q = torch.cat([q, torch.zeros_like(p[:1])])
    rest = F.relu(p[stop] - q[stop])
    rest = rest / rest.sum()
    ids = [int(x) for x in drafted[:stop]]
    ids.append(int(torch.multinomial(rest, 1, generator=generator)))
    return ids
