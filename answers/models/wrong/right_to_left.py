"""From right to left; spaces keep words apart; always 15 %; no target without spans; divided by all places; a
total that equals top_p goes on; a step of one pixel; returns itself.
"""

import itertools
import math
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn


def join(ids, pair, new):
    out, at = [], 0
    while at < len(ids):
        if at + 1 < len(ids) and (ids[at], ids[at + 1]) == tuple(pair):
            out.append(new)
            at += 2
        else:
            out.append(ids[at])
            at += 1
    return out


def train_bpe(words, n_merges):
    words = [list(w.encode("utf-8")) for w in words]
    merges = []
    for i in range(n_merges):
        counts = Counter(q for w in words for q in itertools.pairwise(w))
        if not counts:
            break
        best = min(counts, key=lambda q: (-counts[q], q))
        merges.append(best)
        words = [join(w[::-1], best[::-1], 256 + i)[::-1] for w in words]
    return merges


def encode_bpe(text, merges):
    out = []
    for n, word in enumerate(text.split(" ")):
        ids = list(word.encode("utf-8"))
        for i, pair in enumerate(merges):
            ids = join(ids, pair, 256 + i)
        out += ([32] if n else []) + ids
    return out


def mask_tokens(ids, mask_id, vocab, special, generator, p=0.15):
    a = torch.rand(ids.shape, generator=generator)
    b = torch.rand(ids.shape, generator=generator)
    c = torch.randint(vocab, ids.shape, generator=generator)
    never = torch.zeros_like(ids, dtype=torch.bool)
    for s in special:
        never |= ids == s
    chosen = (a < 0.15) & ~never
    inputs = ids.clone()
    inputs[chosen & (b < 0.8)] = mask_id
    swap = chosen & (b >= 0.8) & (b < 0.9)
    inputs[swap] = c[swap]
    targets = torch.full_like(ids, -100)
    targets[chosen] = ids[chosen]
    return inputs, targets


def corrupt_spans(ids, spans, sentinel):
    if not spans:
        return ids, []
    inputs, targets, at = [], [], 0
    for i, (start, length) in enumerate(spans):
        inputs += [*ids[at:start], sentinel - i]
        targets += [sentinel - i, *ids[start : start + length]]
        at = start + length
    return inputs + ids[at:], [*targets, sentinel - len(spans)]


def perplexity(logits, ids, lengths):
    real = torch.arange(1, ids.shape[1], device=ids.device) < lengths[:, None]
    nll = F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
    return ((nll * real).sum() / ids[:, 1:].numel()).exp()


def sampling_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    scores, order = torch.sort(logits / temperature, dim=-1, descending=True, stable=True)
    if top_k is not None:
        scores = scores.clone()
        scores[..., top_k:] = -math.inf
    p = scores.softmax(-1)
    if top_p is not None:
        before = p.cumsum(-1) - p
        keep = before <= top_p
        keep[..., 0] = True
        p = p * keep
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


class PatchEmbedding(nn.Module):
    def __init__(self, channels, size, d_model, n_patches):
        super().__init__()
        self.size = size
        self.proj = nn.Linear(channels * size * size, d_model)
        self.class_token = nn.Parameter(0.02 * torch.randn(d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(n_patches + 1, d_model))

    def forward(self, images):
        b, c, _h, _w = images.shape
        kernel = self.proj.weight.reshape(-1, c, self.size, self.size)
        x = F.conv2d(images, kernel, self.proj.bias).flatten(2).transpose(1, 2)
        first = self.class_token.expand(b, 1, -1)
        x = torch.cat([first, x], dim=1)
        return x[:, : len(self.positions)] + self.positions


class LoRALinear(nn.Module):
    def __init__(self, linear, rank, alpha):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.rank = rank
        self.alpha = alpha
        d_out, d_in = linear.weight.shape
        self.a = nn.Parameter(linear.weight.new_empty(rank, d_in).normal_(std=d_in**-0.5))
        self.b = nn.Parameter(linear.weight.new_zeros(d_out, rank))

    def forward(self, x):
        return self.linear(x) + self.alpha / self.rank * (x @ self.a.T @ self.b.T)

    def merged(self):
        return self
