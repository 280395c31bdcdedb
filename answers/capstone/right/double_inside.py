"""Computes in float64 where it can and gives back the dtype that came in; some parts are functions."""

import math

import torch
from torch import nn

from qkv.model.blocks import FeedForward, gelu
from qkv.model.heads import merge_heads, split_heads
from qkv.model.masks import causal_mask
from qkv.model.positions import rotate


def attend(q, k, v, mask):
    scores = q.double() @ k.double().transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ v.double()).to(v.dtype)


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            self.add_module(name, nn.Linear(d_model, d_model))

    def forward(self, x, mask=None):
        positions = torch.arange(x.size(1), device=x.device) + 100  # only distances matter, so any beginning will do
        q, k, v = (split_heads(project(x), self.n_heads) for project in (self.q_proj, self.k_proj, self.v_proj))
        if mask is not None and mask.dim() > 2:
            mask = mask[:, None]
        return self.out_proj(merge_heads(attend(rotate(q, positions), rotate(k, positions), v, mask)))


class TinyGPT(nn.Module):
    def __init__(self, vocab, d_model, n_heads, n_layers, d_ff):
        super().__init__()
        self.out = nn.Linear(d_model, vocab, bias=False)
        self.norm = nn.LayerNorm(d_model)
        self.tokens = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "feed_forward": FeedForward(d_model, d_ff, gelu),
                    "attention": RotaryAttention(d_model, n_heads),
                    "norm2": nn.LayerNorm(d_model),
                    "norm1": nn.LayerNorm(d_model),
                }
            )
            for _ in range(n_layers)
        )

    def forward(self, ids):
        return self.out(self.norm(self.through(self.tokens(ids), causal_mask(ids.size(1)).to(ids.device), 0)))

    def through(self, x, mask, depth):
        if depth == len(self.layers):
            return x
        parts = self.layers[depth]
        x = parts.attention(parts.norm1(x), mask) + x
        return self.through(parts.feed_forward(parts.norm2(x)) + x, mask, depth + 1)


def next_token_loss(model, ids, lengths):
    logits = model(ids[:, :-1])
    wide = logits.double()
    right = wide.gather(2, ids[:, 1:].unsqueeze(2)).squeeze(2)
    surprise = wide.logsumexp(2) - right
    counts = (torch.arange(1, ids.shape[1], device=ids.device)[None] < lengths[:, None]).double()
    return ((surprise * counts).sum() / counts.sum()).to(logits.dtype)


def write_story(model, prompt, end, max_new, context, generator, temperature=1.0):
    new = []
    while len(new) < max_new and end not in new:
        with torch.inference_mode():
            logits = model(torch.tensor([(list(prompt) + new)[-context:]], dtype=torch.int64))[0][-1]
            if temperature:
                p = torch.exp(torch.log_softmax(logits / temperature, 0))
                new += torch.multinomial(p, num_samples=1, generator=generator).tolist()
            else:
                new += [logits.tolist().index(logits.max().item())]
    return new
