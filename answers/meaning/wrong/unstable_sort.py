"""Equal scores come out in any order."""

import torch.nn.functional as F


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors, dim=-1)
    scores = unit @ (unit[b] - unit[a] + unit[c])
    best = scores.argsort(descending=True)
    return [int(word) for word in best if word not in (a, b, c)][:n]
