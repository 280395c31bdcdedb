"""One head, one text, one token at a time."""

import math

import torch
from torch import nn

from qkv.model.blocks import FeedForward, gelu
from qkv.model.positions import rotate


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        seq, wide = x.shape[1], x.shape[2] // self.n_heads
        where = torch.arange(seq, device=x.device)
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        found = []
        for h in range(self.n_heads):
            mine = slice(h * wide, (h + 1) * wide)
            scores = rotate(q[..., mine], where) @ rotate(k[..., mine], where).mT / math.sqrt(wide)
            if mask is not None:
                scores = torch.where(mask, scores, -math.inf)
            found.append(scores.softmax(-1) @ v[..., mine])
        return self.out_proj(torch.cat(found, dim=-1))


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
        answers = []
        for text in ids:
            x = self.tokens(text[None])
            n = len(text)
            mask = torch.ones(n, n, dtype=torch.bool, device=ids.device).tril()
            for layer in self.layers:
                x = x + layer["attention"](layer["norm1"](x), mask)
                x = x + layer["feed_forward"](layer["norm2"](x))
            answers.append(self.out(self.norm(x))[0])
        return torch.stack(answers)


def next_token_loss(model, ids, lengths):
    log_p = model(ids[:, :-1]).log_softmax(-1)
    surprises = []
    for b in range(len(ids)):
        for t in range(1, int(lengths[b])):
            surprises.append(-log_p[b, t - 1, ids[b, t]])
    return sum(surprises) / len(surprises)


def write_story(model, prompt, end, max_new, context, generator, temperature=1.0):
    text = [int(i) for i in prompt]
    start = len(text)
    for _ in range(max_new):
        seen = text[max(len(text) - context, 0) :]
        logits = model(torch.tensor(seen).reshape(1, -1))[0, -1].detach()
        if temperature == 0:
            best = 0
            for i in range(1, len(logits)):
                if logits[i] > logits[best]:
                    best = i
            text.append(best)
        else:
            p = torch.softmax(logits / temperature, dim=0)
            text.append(torch.multinomial(p, 1, generator=generator).item())
        if text[-1] == end:
            break
    return text[start:]
