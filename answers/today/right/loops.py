"""One row, one head, one word at a time."""

import math

import torch
from torch import nn

from qkv.model.norm import RMSNorm
from qkv.model.positions import turn


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        inside = []
        for opens, passes in zip(self.gate.weight, self.up.weight, strict=True):
            z = (x * opens).sum(-1)
            inside.append(z * torch.sigmoid(z) * (x * passes).sum(-1))
        rows = [sum(w * h for w, h in zip(row, inside, strict=True)) for row in self.down.weight]
        return torch.stack(rows, dim=-1)


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
        d, share = self.d_head, self.n_heads // self.n_groups
        old_k, old_v = cache if cache is not None else (None, None)
        start = 0 if old_k is None else old_k.size(2)
        queries, keys, values = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        place = torch.arange(start, start + x.size(1), device=x.device)
        all_k, all_v = [], []
        for g in range(self.n_groups):
            k = turn(self.k_norm(keys[..., g * d : (g + 1) * d]), place, frequencies)
            v = values[..., g * d : (g + 1) * d]
            all_k.append(k if old_k is None else torch.cat([old_k[:, g], k], 1))
            all_v.append(v if old_v is None else torch.cat([old_v[:, g], v], 1))
        heads = []
        for h in range(self.n_heads):
            q = turn(self.q_norm(queries[..., h * d : (h + 1) * d]), place, frequencies)
            words = []
            for i in range(x.size(1)):
                seen_k, seen_v = all_k[h // share][:, : start + i + 1], all_v[h // share][:, : start + i + 1]
                scores = (q[:, i : i + 1] * seen_k).sum(-1) / math.sqrt(d)
                words.append((scores.softmax(-1).unsqueeze(-1) * seen_v).sum(1))
            heads.append(torch.stack(words, 1))
        return self.out_proj(torch.cat(heads, -1)), (torch.stack(all_k, 1), torch.stack(all_v, 1))


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    found = []
    for i in range(d // 2):
        f = base ** (-2 * i / d)
        turns = length * f / (2 * math.pi)
        if turns >= fast:
            found.append(f)
        elif turns < slow or fast == math.inf:
            found.append(f / factor)
        else:
            keep = (turns - slow) / (fast - slow)
            found.append(keep * f + (1 - keep) * f / factor)
    return torch.tensor(found)


def route_tokens(logits, k):
    n = logits.shape[-1]
    weights, experts, total, counts = [], [], 0.0, [0] * n
    rows = logits.reshape(-1, n)
    for row in rows:
        p = torch.softmax(row, 0)
        chosen = sorted(range(n), key=lambda e: -row[e].item())[:k]
        for e in chosen:
            counts[e] += 1
        weights.append(p[chosen] / p[chosen].sum())
        experts.append(torch.tensor(chosen, device=logits.device))
        total = total + p
    balance = 0.0
    for e in range(n):
        balance = balance + n * counts[e] / (len(rows) * k) * total[e] / len(rows)
    shape = (*logits.shape[:-1], k)
    return torch.stack(weights).view(shape), torch.stack(experts).view(shape), balance


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    codes, scales = [], []
    for row in weight.tolist():
        line, sizes = [], []
        for start in range(0, len(row), group):
            part = row[start : start + group]
            scale = max(abs(w) for w in part) / top
            sizes.append(scale)
            line += [round(w / scale) if scale else 0 for w in part]
        codes.append(line)
        scales.append(sizes)
    codes = torch.tensor(codes, dtype=torch.int8, device=weight.device)
    return codes, torch.tensor(scales, dtype=torch.float64).to(weight.dtype).to(weight.device)


def accept_drafts(p, q, drafted, generator):
    n = len(drafted)
    u = torch.rand(n, generator=generator)
    out = []
    t = 0
    while t < n:
        x = drafted[t].item()
        if u[t] * q[t][x] < p[t][x]:
            out.append(x)
            t += 1
        else:
            break
    if t == n:
        row = p[n]
    else:
        row = torch.maximum(p[t] - q[t], torch.zeros_like(p[t]))
    out.append(torch.multinomial(row, 1, generator=generator).item())
    return out


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    batch, heads, new, d_k = q.shape
    past = latent.shape[1] - new
    root = math.sqrt(d_k + q_turned.shape[-1])
    texts = []
    for b in range(batch):
        for h in range(heads):
            for i in range(new):
                seen = past + i + 1
                asked = w_k[h].T @ q[b, h, i]
                scores = (latent[b, :seen] @ asked + k_turned[b, :seen] @ q_turned[b, h, i]) / root
                texts.append(w_v[h] @ (scores.softmax(0) @ latent[b, :seen]))
    return torch.stack(texts).view(batch, heads, new, -1)


class Llama(nn.Module):
    def __init__(
        self, vocab, d_model, n_heads, n_groups, n_layers, d_ff, d_head=None, qk_norm=False, tied=False, base=10000.0,
        eps=1e-6,
    ):  # fmt: skip
        super().__init__()
        width = d_model // n_heads if d_head is None else d_head
        self.tokens = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            parts = {
                "norm1": RMSNorm(d_model, eps),
                "attention": GroupedAttention(d_model, n_heads, n_groups, width, qk_norm, eps),
                "norm2": RMSNorm(d_model, eps),
                "feed_forward": SwiGLU(d_model, d_ff),
            }
            self.layers.append(nn.ModuleDict(parts))
        self.norm = RMSNorm(d_model, eps)
        self.out = None if tied else nn.Linear(d_model, vocab, bias=False)
        speeds = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        self.register_buffer("frequencies", speeds, persistent=False)

    def forward(self, ids, caches=None):
        rows = []
        for step in range(ids.shape[1]):
            x = torch.stack([self.tokens.weight[i] for i in ids[:, step]])[:, None]
            after = []
            for i in range(len(self.layers)):
                layer = self.layers[i]
                cache = None if caches is None else caches[i]
                seen, cache = layer["attention"](layer["norm1"](x), self.frequencies, cache)
                x = x + seen
                x = x + layer["feed_forward"](layer["norm2"](x))
                after.append(cache)
            caches = after
            x = self.norm(x)
            rows.append(x @ self.tokens.weight.T if self.out is None else self.out(x))
        return torch.cat(rows, 1), caches
