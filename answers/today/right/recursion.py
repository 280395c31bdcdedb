"""The draft is read from its first word on, by a function that calls itself."""

import torch


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(drafted), generator=generator)

    def go_on(t):
        if t == len(drafted):
            return torch.multinomial(p[t], 1, generator=generator).tolist()
        x = int(drafted[t])
        if p[t, x] > u[t] * q[t, x]:
            return [x, *go_on(t + 1)]
        rest = torch.where(p[t] > q[t], p[t] - q[t], 0)
        return torch.multinomial(rest, 1, generator=generator).tolist()

    return go_on(0)
