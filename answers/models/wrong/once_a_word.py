"""Each pair once a word; the last pair is never looked at; draws nothing for p = 0; sentinels from behind; the
sign is lost; writes into the logits; patches normalised first; cut from the graph.
"""

import copy
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
        counts = Counter(q for w in words for q in set(itertools.pairwise(w)))
        if not counts:
            break
        best = min(counts, key=lambda q: (-counts[q], q))
        merges.append(best)
        words = [join(w, best, 256 + i) for w in words]
    return merges


def encode_bpe(text, merges):
    ids = list(text.encode("utf-8"))
    for i, (a, b) in enumerate(merges):
        out, at = [], 0
        while at < len(ids):
            if at < len(ids) - 2 and ids[at] == a and ids[at + 1] == b:
                out.append(256 + i)
                at += 2
            else:
                out.append(ids[at])
                at += 1
        ids = out
    return ids


def mask_tokens(ids, mask_id, vocab, special, generator, p=0.15):
    if p == 0:
        return ids.clone(), torch.full_like(ids, -100)
    a = torch.rand(ids.shape, generator=generator)
    b = torch.rand(ids.shape, generator=generator)
    c = torch.randint(vocab, ids.shape, generator=generator)
    never = torch.zeros_like(ids, dtype=torch.bool)
    for s in special:
        never |= ids == s
    chosen = (a < p) & ~never
    inputs = ids.clone()
    inputs[chosen & (b < 0.8)] = mask_id
    swap = chosen & (b >= 0.8) & (b < 0.9)
    inputs[swap] = c[swap]
    targets = torch.full_like(ids, -100)
    targets[chosen] = ids[chosen]
    return inputs, targets


def corrupt_spans(ids, spans, sentinel):
    inputs, targets, at, n = [], [], 0, len(spans)
    for i, (start, length) in enumerate(spans):
        mark = sentinel - (n - 1 - i)
        inputs += [*ids[at:start], mark]
        targets += [mark, *ids[start : start + length]]
        at = start + length
    return inputs + ids[at:], [*targets, sentinel - n]


def perplexity(logits, ids, lengths):
    real = torch.arange(1, ids.shape[1], device=ids.device) < lengths[:, None]
    nll = F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
    return (-nll[real].mean()).exp()


def sampling_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    logits /= temperature
    scores, order = torch.sort(logits, dim=-1, descending=True, stable=True)
    if top_k is not None:
        scores = scores.clone()
        scores[..., top_k:] = -math.inf
    p = scores.softmax(-1)
    if top_p is not None:
        before = p.cumsum(-1) - p
        keep = before < top_p
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
        b, c, h, w = images.shape
        s = self.size
        x = images.reshape(b, c, h // s, s, w // s, s)
        x = x.permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * s * s)
        x = x / 255
        x = self.proj(x)
        first = self.class_token.expand(b, 1, -1)
        return torch.cat([first, x], dim=1) + self.positions


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
        return self.linear(x) + self.alpha / self.rank * (x @ self.a.data.T @ self.b.T)

    def merged(self):
        new = copy.deepcopy(self.linear)
        new.weight.data += self.alpha / self.rank * self.b.data @ self.a.data
        return new
