"""What torch and Python have ready: convolution, unfold, cross_entropy, topk on keys, regular expressions on bytes."""

import copy
import itertools
import re
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn


def train_bpe(words, n_merges):
    """On different words with their counts; each id is a character of its own."""
    kinds = Counter("".join(map(chr, word.encode())) for word in words)
    merges = []
    for new in range(n_merges):
        pairs = Counter()
        for word, times in kinds.items():
            for left, right in itertools.pairwise(word):
                pairs[left, right] += times
        if not pairs:
            break
        most = max(pairs.values())
        best = min(pair for pair, count in pairs.items() if count == most)
        merges.append(tuple(map(ord, best)))
        merged = Counter()
        for word, times in kinds.items():
            merged[word.replace("".join(best), chr(256 + new))] += times
        kinds = merged
    return merges


def encode_bpe(text, merges):
    spelled = "".join(map(chr, text.encode()))
    for i, (a, b) in enumerate(merges):
        spelled = re.sub(re.escape(chr(a) + chr(b)), chr(256 + i), spelled, flags=re.DOTALL)
    return [ord(character) for character in spelled]


def mask_tokens(ids, mask_id, vocab, special, generator, p=0.15):
    a, b = (torch.rand(ids.shape, generator=generator) for _ in range(2))
    c = torch.randint(0, vocab, tuple(ids.shape), generator=generator)
    never = torch.isin(ids, torch.tensor(list(special), dtype=ids.dtype, device=ids.device))
    chosen = torch.lt(a, p).to(ids.device).logical_and(never.logical_not())
    kind = torch.bucketize(b, torch.tensor([0.8, 0.9]), right=True).to(ids.device)  # 0: mask, 1: random, 2: stays
    choices = torch.stack([torch.full_like(ids, mask_id), c.to(ids.device), ids])
    inputs = ids.where(~chosen, choices.gather(0, kind[None])[0])
    return inputs, ids.masked_fill(~chosen, -100)


def corrupt_spans(ids, spans, sentinel):
    inputs, targets = ids[:], [sentinel - len(spans)]
    for i in reversed(range(len(spans))):
        start, length = spans[i]
        targets[:0] = [sentinel - i, *inputs[start : start + length]]
        inputs[start : start + length] = [sentinel - i]
    return inputs, targets


def perplexity(logits, ids, lengths):
    targets = ids[:, 1:].clone()
    places = torch.arange(targets.shape[1], device=ids.device)
    targets[places >= lengths[:, None] - 1] = -100
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=-100).exp()


def sampling_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    vocab = logits.shape[-1]
    if temperature == 0:
        return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
    order = torch.argsort(logits, dim=-1, descending=True, stable=True)
    rank = torch.argsort(order, dim=-1)  # of each id
    scaled = logits / temperature
    if top_k is not None and top_k < vocab:
        scaled = torch.where(rank < top_k, scaled, float("-inf"))
    p = F.softmax(scaled, dim=-1)
    if top_p is not None:
        ahead = rank.unsqueeze(-2) < rank.unsqueeze(-1)  # (..., token, which comes before it)
        before = (ahead * p.unsqueeze(-2)).sum(-1)
        p = torch.where((before < top_p) | (rank == 0), p, torch.zeros_like(p))
        p = F.normalize(p, p=1.0, dim=-1)
    return p


class PatchEmbedding(nn.Module):
    def __init__(self, channels, size, d_model, n_patches):
        super().__init__()
        self.size = size
        self.proj = nn.Linear(channels * size * size, d_model)
        self.class_token = nn.Parameter(0.02 * torch.randn(d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(n_patches + 1, d_model))

    def forward(self, images):
        kernel = self.proj.weight.unflatten(1, (-1, self.size, self.size))
        patches = F.conv2d(images, kernel, self.proj.bias, stride=self.size).flatten(2).mT
        return F.pad(patches, (0, 0, 1, 0)) + torch.cat(
            [(self.class_token + self.positions[0])[None], self.positions[1:]]
        )


class LoRALinear(nn.Module):
    def __init__(self, linear, rank, alpha):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.rank = rank
        self.alpha = alpha
        self.a = nn.Parameter(nn.init.kaiming_uniform_(linear.weight.new_empty(rank, linear.in_features), a=5**0.5))
        self.b = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))

    def forward(self, x):
        return F.linear(x, self.linear.weight + self.b @ self.a * (self.alpha / self.rank), self.linear.bias)

    @torch.no_grad()
    def merged(self):
        new = copy.deepcopy(self.linear)
        new.weight.addmm_(self.b, self.a, alpha=self.alpha / self.rank)
        return new.requires_grad_(True)
