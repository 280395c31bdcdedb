"""Writes into the list of words; letters of English only; draws only for the chosen ones; hidden ids are looked up
by value; made on the CPU; the k smallest; an average at the end; a ReLU in the middle.
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
    for at, word in enumerate(words):
        words[at] = list(word.encode("utf-8"))
    merges = []
    for i in range(n_merges):
        counts = Counter(q for w in words for q in itertools.pairwise(w))
        if not counts:
            break
        best = min(counts, key=lambda q: (-counts[q], q))
        merges.append(best)
        for at, w in enumerate(words):
            words[at] = join(w, best, 256 + i)
    return merges


def encode_bpe(text, merges):
    ids = list(text.encode("ascii", errors="ignore"))
    for i, pair in enumerate(merges):
        ids = join(ids, pair, 256 + i)
    return ids


def mask_tokens(ids, mask_id, vocab, special, generator, p=0.15):
    a = torch.rand(ids.shape, generator=generator)
    never = torch.zeros_like(ids, dtype=torch.bool)
    for s in special:
        never |= ids == s
    chosen = (a < p) & ~never
    kind = torch.rand(int(chosen.sum()), generator=generator)
    other = torch.randint(vocab, kind.shape, generator=generator)
    inputs = ids.clone()
    inputs[chosen] = torch.where(kind < 0.8, mask_id, torch.where(kind < 0.9, other, ids[chosen]))
    targets = torch.full_like(ids, -100)
    targets[chosen] = ids[chosen]
    return inputs, targets


def corrupt_spans(ids, spans, sentinel):
    inputs, targets = list(ids), []
    for i, (start, length) in enumerate(spans):
        hidden = ids[start : start + length]
        targets += [sentinel - i, *hidden]
        inputs[inputs.index(hidden[0])] = sentinel - i
        for token in hidden[1:]:
            inputs.remove(token)
    return inputs, [*targets, sentinel - len(spans)]


def perplexity(logits, ids, lengths):
    real = torch.arange(1, ids.shape[1], device="cpu") < lengths[:, None]
    nll = F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
    return ((nll * real).sum() / real.sum()).exp()


def sampling_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    scores, order = torch.sort(logits / temperature, dim=-1, descending=True, stable=True)
    if top_k is not None:
        scores = scores.clone()
        scores[..., : max(scores.shape[-1] - top_k, 0)] = -math.inf
    p = scores.softmax(-1)
    if top_p is not None:
        before = p.cumsum(-1) - p
        keep = before < top_p
        keep |= p == p.amax(-1, keepdim=True)
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
        first = self.class_token.expand(b, 1, -1)
        return (torch.cat([first, x], dim=1) + self.positions).mean(1)


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
        return self.linear(x) + self.alpha / self.rank * (torch.relu(x @ self.a.T) @ self.b.T)

    def merged(self):
        new = copy.deepcopy(self.linear)
        new.weight.data += self.alpha / self.rank * self.b.data @ self.a.data
        return new
