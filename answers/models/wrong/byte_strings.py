"""Pieces as byte strings; from right to left; random tokens without the last; spans that touch become one; one
over the mean probability; the larger id of equals; one class token for the batch; a correction of the output.
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
    words = [[bytes([b]) for b in w.encode("utf-8")] for w in words]
    merges = []
    for _ in range(n_merges):
        counts = Counter(q for w in words for q in itertools.pairwise(w))
        if not counts:
            break
        best = min(counts, key=lambda q: (-counts[q], q))
        merges.append(best)
        words = [join(w, best, best[0] + best[1]) for w in words]
    return merges


def encode_bpe(text, merges):
    ids = list(text.encode("utf-8"))
    for i, (a, b) in enumerate(merges):
        at = len(ids) - 2
        while at >= 0:
            if ids[at] == a and ids[at + 1] == b:
                ids[at : at + 2] = [256 + i]
                at -= 1
            at -= 1
    return ids


def mask_tokens(ids, mask_id, vocab, special, generator, p=0.15):
    a = torch.rand(ids.shape, generator=generator)
    b = torch.rand(ids.shape, generator=generator)
    c = torch.randint(vocab - 1, ids.shape, generator=generator)
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
    joined = []
    for start, length in spans:
        if joined and sum(joined[-1]) == start:
            joined[-1] = (joined[-1][0], joined[-1][1] + length)
        else:
            joined.append((start, length))
    inputs, targets, at = [], [], 0
    for i, (start, length) in enumerate(joined):
        inputs += [*ids[at:start], sentinel - i]
        targets += [sentinel - i, *ids[start : start + length]]
        at = start + length
    return inputs + ids[at:], [*targets, sentinel - len(joined)]


def perplexity(logits, ids, lengths):
    real = torch.arange(1, ids.shape[1], device=ids.device) < lengths[:, None]
    nll = F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
    return 1 / (-nll[real]).exp().mean()


def sampling_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        best = logits.shape[-1] - 1 - logits.flip(-1).argmax(-1)
        return F.one_hot(best, logits.shape[-1]).to(logits.dtype)
    scores, order = torch.sort((logits / temperature).flip(-1), dim=-1, descending=True, stable=True)
    order = logits.shape[-1] - 1 - order
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
        x = self.proj(x)
        x = torch.cat([self.class_token.expand(1, x.shape[-1])[None], x], dim=1)
        return x + self.positions


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
        y = self.linear(x)
        return y + self.alpha / self.rank * (y @ self.b @ self.a @ self.linear.weight.T)

    def merged(self):
        new = copy.deepcopy(self.linear)
        new.weight.data += self.alpha / self.rank * self.b.data @ self.a.data
        return new
