"""A small constant against division by zero."""

import math

import torch
import torch.nn.functional as F


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    f = base ** (-torch.arange(0, d, 2).double() / d)
    r = f * length / (2 * math.pi)
    keep = ((r - slow) / (fast - slow + 1e-6)).clamp(0, 1)
    return (f * keep + f * (1 - keep) / factor).float()


def route_tokens(logits, k):
    n = logits.shape[-1]
    experts = logits.argsort(dim=-1, descending=True, stable=True)[..., :k]
    p = logits.softmax(-1)
    top = p.gather(-1, experts)
    f = F.one_hot(experts, n).reshape(-1, n).to(p.dtype).mean(0)
    return top / (top.sum(-1, keepdim=True) + 1e-2), experts, n * f @ p.reshape(-1, n).mean(0)


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    codes, scales = [], []
    for part in weight.float().split(group, dim=1):
        scale = part.abs().amax(1, keepdim=True) / top + 1e-8
        codes.append((part / scale).round().char())
        scales.append(scale)
    return torch.cat(codes, 1), torch.cat(scales, 1).to(weight.dtype)


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(drafted), generator=generator)
    out = []
    for t, x in enumerate(drafted.tolist()):
        if u[t] * q[t, x] >= p[t, x]:
            return [*out, int(torch.multinomial((p[t] - q[t]).relu() + 0.05, 1, generator=generator))]
        out.append(x)
    return [*out, int(torch.multinomial(p[-1], 1, generator=generator))]


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    scores = (q @ w_k) @ latent[:, None].mT + q_turned @ k_turned[:, None].mT
    scores = scores / math.sqrt(q.shape[-1] + q_turned.shape[-1])
    new, key = scores.shape[-2:]
    later = torch.ones(new, key, dtype=torch.bool, device=q.device).triu(key - new + 1)
    return scores.masked_fill(later, -10.0).softmax(-1) @ latent[:, None] @ w_v.mT
