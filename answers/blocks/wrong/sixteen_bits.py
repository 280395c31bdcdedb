"""Right in float32, and nowhere below: constants that float16 cannot hold, and another formula for the small."""

import math

import torch


def gelu(x):
    huge = torch.full_like(x, 1e5)
    return torch.minimum(x * (1 + torch.erf(x / math.sqrt(2))) / 2, huge * 1e-2) if x.dtype != torch.float16 else x


def dropout(x, p, generator):
    if p == 1:
        return x * 0
    kept = torch.rand(x.shape, generator=generator, dtype=x.dtype) >= p
    return x * kept / (1 - p)
