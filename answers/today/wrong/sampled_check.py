"""Draws from p and looks whether it is the same word."""

import torch


def accept_drafts(p, q, drafted, generator):
    out = []
    for t, x in enumerate(drafted.tolist()):
        y = int(torch.multinomial(p[t], 1, generator=generator))
        out.append(y)
        if y != x:
            return out
    return [*out, int(torch.multinomial(p[-1], 1, generator=generator))]
