"""Computes in float32 and casts back."""

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.cost import cached_attention
from qkv.model.heads import merge_heads, split_heads
from qkv.model.norm import RMSNorm
from qkv.model.positions import turn


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        z = F.linear(x.float(), self.gate.weight.float())
        h = z * z.sigmoid() * F.linear(x.float(), self.up.weight.float())
        return F.linear(h, self.down.weight.float()).to(x.dtype)


class GroupedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_groups, d_head, qk_norm=False, eps=1e-6):
        super().__init__()
        self.n_heads, self.n_groups, self.d_head = n_heads, n_groups, d_head
        self.q_proj = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.k_proj = nn.Linear(d_model, n_groups * d_head, bias=False)
        self.v_proj = nn.Linear(d_model, n_groups * d_head, bias=False)
        self.out_proj = nn.Linear(n_heads * d_head, d_model, bias=False)
        self.q_norm = RMSNorm(d_head, eps) if qk_norm else nn.Identity()
        self.k_norm = RMSNorm(d_head, eps) if qk_norm else nn.Identity()

    def forward(self, x, frequencies, cache=None):
        past = 0 if cache is None else cache[0].shape[2]
        place = torch.arange(x.shape[1], device=x.device) + past
        q, k, v = (F.linear(x.float(), p.weight.float()) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k, v = split_heads(q, self.n_heads), split_heads(k, self.n_groups), split_heads(v, self.n_groups)
        if isinstance(self.q_norm, RMSNorm):
            q, k = (
                t * torch.rsqrt(t.pow(2).mean(-1, keepdim=True) + norm.eps) * norm.gamma.float()
                for t, norm in ((q, self.q_norm), (k, self.k_norm))
            )
        k = turn(k, place, frequencies)
        old = None if cache is None else (cache[0].float(), cache[1].float())
        mixed, (k, v) = cached_attention(turn(q, place, frequencies), k, v, old)
        output = F.linear(merge_heads(mixed), self.out_proj.weight.float())
        return output.to(x.dtype), (k.to(x.dtype), v.to(x.dtype))


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    f = base ** -(torch.arange(0, d, 2, dtype=torch.float32) / d)
    r = length * f / (2 * torch.pi)
    if slow == fast:
        keep = (r >= slow).float()
    else:
        keep = torch.clip((r - slow) / (fast - slow), 0, 1)
    return torch.lerp(f / factor, f, keep)


def route_tokens(logits, k):
    n = logits.size(-1)
    logp = logits.float().log_softmax(-1)
    left, best = logp.detach().clone(), []
    for _ in range(k):
        largest = left.amax(-1, keepdim=True)
        ids = torch.arange(n, device=logits.device).expand_as(left)
        e = torch.where(left == largest, ids, n).amin(-1, keepdim=True)
        best.append(e)
        left = left.scatter(-1, e, float("-inf"))
    experts = torch.cat(best, -1)
    weights = (logp.gather(-1, experts) - logp.gather(-1, experts).logsumexp(-1, keepdim=True)).exp()
    f = torch.bincount(experts.flatten(), minlength=n) / experts.numel()
    balance = n * (f @ logp.exp().reshape(-1, n).mean(0))
    return weights.to(logits.dtype), experts, balance.to(logits.dtype)


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    dtype = q.dtype
    q, latent, w_k, w_v, q_turned, k_turned = (t.float() for t in (q, latent, w_k, w_v, q_turned, k_turned))
    outputs = []
    for h in range(q.shape[1]):
        scores = (q[:, h] @ w_k[h]) @ latent.mT + q_turned[:, h] @ k_turned.mT
        scores = scores / (q.shape[-1] + q_turned.shape[-1]) ** 0.5
        new, key = scores.shape[1:]
        later = torch.ones(new, key, device=q.device).triu(key - new + 1) > 0
        p = torch.exp(scores.masked_fill(later, -torch.inf).log_softmax(-1))
        outputs.append((p @ latent) @ w_v[h].T)
    return torch.stack(outputs, 1).to(dtype)
