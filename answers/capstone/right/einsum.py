"""Rotation by complex numbers, products by einsum, a loss by ignore_index, a story by recursion."""

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.blocks import FeedForward, gelu


def turned(x):
    """Pairs of neighbours as complex numbers, times a number of length 1."""
    wide = torch.promote_types(x.dtype, torch.float32)
    d = x.shape[-1]
    speed = 10000.0 ** (-torch.arange(0, d, 2, device=x.device, dtype=wide) / d)
    angle = torch.arange(x.shape[1], device=x.device, dtype=wide)[:, None] * speed
    spin = torch.polar(torch.ones_like(angle), angle)[:, None]  # (seq, 1, pair)
    pairs = torch.view_as_complex(x.to(wide).unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * spin).flatten(-2).to(x.dtype)


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (p(x).unflatten(-1, (self.n_heads, -1)) for p in (self.q_proj, self.k_proj, self.v_proj))
        scores = torch.einsum("bqhd,bkhd->bhqk", turned(q), turned(k)) * q.shape[-1] ** -0.5
        if mask is not None:
            allowed = mask.expand(x.shape[0], x.shape[1], x.shape[1])
            scores = scores.masked_fill(allowed[:, None].logical_not(), float("-inf"))
        mixed = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(dim=-1), v)
        return self.out_proj(mixed.flatten(2))


class TinyGPT(nn.Module):
    def __init__(self, vocab, d_model, n_heads, n_layers, d_ff):
        super().__init__()
        self.tokens = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            parts = {
                "norm1": nn.LayerNorm(d_model),
                "attention": RotaryAttention(d_model, n_heads),
                "norm2": nn.LayerNorm(d_model),
                "feed_forward": FeedForward(d_model, d_ff, gelu),
            }
            self.layers.append(nn.ModuleDict(parts))
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, vocab, bias=False)

    def forward(self, ids):
        place = torch.arange(ids.shape[-1], device=ids.device)
        past = place <= place[:, None]
        stream = F.embedding(ids, self.tokens.weight)
        for layer in self.layers:
            stream = stream + layer["attention"](layer["norm1"](stream), mask=past)
            stream = stream + layer["feed_forward"](layer["norm2"](stream))
        return torch.einsum("bsd,vd->bsv", self.norm(stream), self.out.weight)


def next_token_loss(model, ids, lengths):
    targets = ids[:, 1:].clone()
    after = torch.arange(1, ids.shape[1], device=ids.device) >= lengths[:, None]
    targets[after] = -100
    return F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), targets, ignore_index=-100)


def write_story(model, prompt, end, max_new, context, generator, temperature=1.0):
    if max_new == 0:
        return []
    with torch.no_grad():
        logits = model(torch.tensor(prompt[-context:])[None])[0, -1]
    if temperature > 0:
        chosen = torch.multinomial(F.softmax(logits / temperature, dim=-1), 1, generator=generator)
    else:
        chosen = logits.max(dim=-1).indices
    chosen = chosen.item()
    if chosen == end:
        return [chosen]
    return [chosen, *write_story(model, [*prompt, chosen], end, max_new - 1, context, generator, temperature)]
