"""Lambdas, objects that can be called, reduce, named tuples, keyword defaults that nobody asked for."""

import functools
import heapq
import itertools
import math
import typing

import torch
from torch import nn


class Corrupted(typing.NamedTuple):
    inputs: list
    targets: list


class Masked(typing.NamedTuple):
    inputs: torch.Tensor
    targets: torch.Tensor


def _glue(ids, step):
    new, (a, b) = step
    return functools.reduce(lambda out, x: [*out[:-1], new] if out[-1:] == [a] and x == b else [*out, x], ids, [])


class Trainer:
    start = 256

    def __call__(self, words, n_merges, *, verbose=False):
        texts, merges = [[*word.encode("utf8")] for word in words], []
        for new in itertools.count(self.start):
            pairs = [*itertools.chain.from_iterable(map(itertools.pairwise, texts))]
            if new - self.start >= n_merges or not pairs:
                return merges
            heap = [(-len([*group]), pair) for pair, group in itertools.groupby(sorted(pairs))]
            merges.append(heapq.nsmallest(1, heap)[0][1])
            texts = [_glue(ids, (new, merges[-1])) for ids in texts]


train_bpe = Trainer()
encode_bpe = lambda text, merges, encoding="utf-8": functools.reduce(  # noqa: E731
    _glue, enumerate(merges, 256), [*text.encode(encoding)]
)


def mask_tokens(ids, mask_id, vocab, special, generator, p=0.15, ignore=-100):
    draw = functools.partial(torch.rand, ids.shape, generator=generator)
    (a, b), c = (draw(), draw()), torch.randint(vocab, ids.shape, generator=generator)
    a, b, c = a.to(ids.device), b.to(ids.device), c.to(ids.device)
    never = functools.reduce(torch.logical_or, (ids == s for s in special), torch.zeros_like(ids, dtype=torch.bool))
    chosen = (a < p) * ~never
    inputs = ids * ~chosen + chosen * (mask_id * (b < 0.8) + c * ((b >= 0.8) & (b < 0.9)) + ids * (b >= 0.9))
    return Masked(inputs, ids * chosen + ignore * ~chosen)


def corrupt_spans(ids, spans, sentinel):
    marks = range(sentinel, sentinel - len(spans) - 1, -1)
    edges = [0, *itertools.chain.from_iterable((s, s + n) for s, n in spans), len(ids)]
    pieces = [ids[a:b] for a, b in itertools.pairwise(edges)]
    kept, hidden = pieces[::2], pieces[1::2]
    inputs = [x for piece, mark in itertools.zip_longest(kept, marks[:-1]) for x in (*piece, mark) if x is not None]
    targets = [x for mark, piece in itertools.zip_longest(marks, hidden, fillvalue=()) for x in (mark, *piece)]
    return Corrupted(inputs, targets)


def _surprise(logits, ids, lengths):
    real = torch.arange(1, logits.shape[1] + 1, device=ids.device) < lengths
    said = logits.gather(-1, ids[..., None])[..., 0]
    return torch.where(real, logits.logsumexp(-1) - said, torch.zeros_like(said)).sum() / real.sum()


perplexity = lambda logits, ids, lengths: math.e ** _surprise(logits[:, :-1], ids[:, 1:], lengths[:, None])  # noqa: E731


class Sampler:
    def __init__(self, floor=-math.inf):
        self.floor = floor

    def __call__(self, logits, temperature=1.0, top_k=None, top_p=None):
        vocab = logits.size(-1)
        order = (
            logits.sort(-1, True, stable=True) if False else torch.sort(logits, stable=True, descending=True, dim=-1)
        )
        ids = order.indices
        sizes = torch.full(
            logits.shape[:-1], 1 if temperature == 0 else min(top_k or vocab, vocab), device=logits.device
        )
        places = torch.arange(vocab, device=logits.device)
        ranked = torch.where(places < sizes[..., None], order.values / (temperature or 1.0), self.floor)
        p = ranked.softmax(-1)
        if top_p is not None:
            before = torch.nn.functional.pad(p.cumsum(-1)[..., :-1], (1, 0))
            sizes = (before < top_p).sum(-1).clamp(min=1)
            p = torch.where(places < sizes[..., None], p, 0)
            p = p / p.sum(-1, True)
        return p.gather(-1, ids.argsort(-1))


sampling_probabilities = Sampler()


class PatchEmbedding(nn.Module):
    def __init__(self, channels, size, d_model, n_patches):
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(n_patches + 1, d_model))
        self.class_token = nn.Parameter(torch.zeros(d_model))
        self.proj = nn.Linear(channels * size * size, d_model)
        self.cut = nn.Unfold(size, stride=size)

    def forward(self, images):
        patches = self.proj(self.cut(images).transpose(-1, -2))
        return torch.cat([self.class_token.repeat(len(images), 1, 1), patches], 1).add(self.positions.unsqueeze(0))


class LoRALinear(nn.Module):
    def __init__(self, linear, rank, alpha):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.register_parameter("a", nn.Parameter(torch.randn(rank, linear.in_features).to(linear.weight)))
        self.register_parameter("b", nn.Parameter(torch.zeros(linear.out_features, rank).to(linear.weight)))
        self.scale = alpha / rank

    def forward(self, x):
        return self.linear(x) + torch.einsum("...i,ri,or->...o", x, self.a, self.b) * self.scale

    def merged(self):
        state = {"weight": self.linear.weight + self.scale * torch.einsum("or,ri->oi", self.b, self.a)}
        if self.linear.bias is not None:
            state["bias"] = self.linear.bias
        d_out, d_in = self.linear.weight.shape
        new = nn.Linear(d_in, d_out, bias="bias" in state).to(self.linear.weight)
        new.load_state_dict({name: tensor.detach().clone() for name, tensor in state.items()})
        return new
