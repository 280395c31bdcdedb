"""All words judged at once, and counted until the first that fails."""

import torch


def accept_drafts(p, q, drafted, generator):
    n = drafted.shape[0]
    u = torch.rand(n, generator=generator)
    at = drafted[:, None]
    kept = u * q.gather(1, at)[:, 0] < p[:n].gather(1, at)[:, 0]
    good = int(kept.long().cumprod(0).sum())
    rows = torch.cat([(p[:n] - q).clamp(min=0), p[n:]])
    chosen = torch.multinomial(rows[good], 1, generator=generator)
    return drafted[:good].tolist() + chosen.tolist()
