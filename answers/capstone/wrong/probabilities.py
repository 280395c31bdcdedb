"""Probabilities for logits; temperature 0 is taken for 1."""

import torch
from torch import nn

from qkv.model.blocks import FeedForward, gelu
from qkv.model.capstone import RotaryAttention
from qkv.model.masks import causal_mask


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
        x = self.tokens(ids)
        mask = causal_mask(ids.shape[1]).to(ids.device)
        for layer in self.layers:
            x = x + layer["attention"](layer["norm1"](x), mask)
            x = x + layer["feed_forward"](layer["norm2"](x))
        return self.out(self.norm(x)).softmax(-1)


def write_story(model, prompt, end, max_new, context, generator, temperature=1.0):
    new = []
    while len(new) < max_new:
        logits = model(torch.tensor([[*prompt, *new][-context:]]))[0, -1]
        p = (logits / (temperature or 1.0)).softmax(-1)
        new.append(int(torch.multinomial(p, 1, generator=generator)))
        if new[-1] == end:
            break
    return new
