"""A generator function, a window of fixed length, a layer as a function, padding counted by cumulative sums."""

from collections import deque
from itertools import islice

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.blocks import FeedForward, gelu
from qkv.model.heads import merge_heads, split_heads
from qkv.model.positions import rotate
from qkv.model.scaling import scaled_dot_product_attention


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, mask=None):
        batch, seq, _ = x.shape
        weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        bias = torch.cat([self.q_proj.bias, self.k_proj.bias, self.v_proj.bias])
        q, k, v = (split_heads(y, self.n_heads) for y in F.linear(x, weight, bias).chunk(3, dim=-1))
        both = rotate(torch.stack([q, k]), torch.arange(seq, device=x.device))
        if mask is not None:
            mask = mask.broadcast_to(batch, seq, seq).unsqueeze(1)
        return self.out_proj(merge_heads(scaled_dot_product_attention(both[0], both[1], v, mask)[0]))


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
        n = ids.shape[1]
        hidden = torch.ones(n, n, device=ids.device).triu(1).bool()
        x = self.tokens(ids)
        for parts in self.layers:
            for norm, sublayer, rest in (("norm1", "attention", (~hidden,)), ("norm2", "feed_forward", ())):
                x = x + parts[sublayer](parts[norm](x), *rest)
        return self.out(self.norm(x))


def next_token_loss(model, ids, lengths):
    inputs, targets = ids[:, :-1], ids[:, 1:]
    real = torch.ones_like(targets).cumsum(1) < lengths.unsqueeze(1)
    logits = model(inputs).flatten(0, 1)
    each = F.cross_entropy(logits, targets.flatten(), reduction="none")
    return each.masked_select(real.flatten()).mean()


def tokens_of(model, prompt, context, generator, temperature):
    window = deque(prompt, maxlen=context)
    while True:
        with torch.no_grad():
            logits = model(torch.tensor([list(window)]))[:, -1].squeeze(0)
        if temperature == 0:
            token = int(torch.argmax(logits))
        else:
            token = int(torch.multinomial(torch.softmax(logits.div(temperature), -1), 1, generator=generator))
        yield token
        window.append(token)


def write_story(model, prompt, end, max_new, context, generator, temperature=1.0):
    story = []
    for token in islice(tokens_of(model, prompt, context, generator, temperature), max_new):
        story.append(token)
        if token == end:
            break
    return story
