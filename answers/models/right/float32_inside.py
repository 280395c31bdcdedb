"""Computes in float32 or float64 and casts back; recursion; results as 0-d tensors or new views."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn


def train_bpe(words, n_merges):
    def learn(texts, left, new):
        pairs = [(a, b) for ids in texts for a, b in itertools.pairwise(ids)]
        if left == 0 or not pairs:
            return []
        counts = torch.zeros(new, new, dtype=torch.int64)
        index = torch.tensor(pairs)
        counts.index_put_((index[:, 0], index[:, 1]), torch.ones(len(pairs), dtype=torch.int64), accumulate=True)
        a, b = divmod(int(counts.flatten().argmax()), new)  # the first of equals
        return [(a, b), *learn([put(ids, a, b, new) for ids in texts], left - 1, new + 1)]

    return learn([list(word.encode()) for word in words], n_merges, 256)


def put(ids, a, b, new):
    if len(ids) < 2:
        return list(ids)
    for at in range(len(ids) - 1):
        if ids[at] == a and ids[at + 1] == b:
            return ids[:at] + [new] + put(ids[at + 2 :], a, b, new)  # noqa: RUF005
    return list(ids)


def encode_bpe(text, merges):
    """Always the pair of the lowest rank, one place at a time."""
    rank = {tuple(pair): i for i, pair in enumerate(merges)}
    ids = list(text.encode("utf-8"))
    while True:
        found = [(rank[pair], at) for at, pair in enumerate(itertools.pairwise(ids)) if pair in rank]
        if not found:
            return ids
        best, at = min(found)
        ids[at : at + 2] = [256 + best]


def mask_tokens(ids, mask_id, vocab, special, generator, p=0.15):
    flat = ids.flatten()
    a = torch.rand(ids.shape, generator=generator).flatten().to(flat.device)
    b = torch.rand(ids.shape, generator=generator).flatten().to(flat.device)
    c = torch.randint(vocab, ids.shape, generator=generator).flatten().to(flat.device)
    targets = torch.where(a < p, flat, -100)
    for s in special:
        targets = torch.where(flat == s, -100, targets)
    chosen = targets != -100
    inputs = torch.where(chosen & (b < 0.9), torch.where(b < 0.8, torch.full_like(flat, mask_id), c), flat)
    return inputs.view(ids.shape), targets.view(ids.shape)


def corrupt_spans(ids, spans, sentinel):
    def go(at, left, mark):
        if not left:
            return ids[at:], [mark]
        (start, length), *rest = left
        inputs, targets = go(start + length, rest, mark - 1)
        return [*ids[at:start], mark, *inputs], [mark, *ids[start : start + length], *targets]

    return go(0, list(spans), sentinel)


def perplexity(logits, ids, lengths):
    shifted = logits[:, :-1].float()
    log_p = F.log_softmax(shifted, dim=-1)
    said = ids[:, 1:].clamp(0, logits.shape[-1] - 1)
    nll = F.nll_loss(log_p.transpose(1, 2), said, reduction="none")
    real = torch.arange(nll.shape[1], device=ids.device).expand_as(nll) + 1 < lengths.unsqueeze(1)
    mean = nll.masked_fill(~real, 0).double().sum() / real.sum()
    return mean.exp().to(logits.dtype)


def sampling_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    x = logits.double()
    n = x.shape[-1]
    if temperature == 0:
        return F.one_hot(x.max(-1).indices if n == 1 else x.argmax(-1), n).to(logits.dtype)
    # how many come before each token: larger ones, and equals with a smaller id
    larger = (x.unsqueeze(-2) > x.unsqueeze(-1)).sum(-1)
    equal = (x.unsqueeze(-2) == x.unsqueeze(-1)) & torch.ones(n, n, dtype=torch.bool, device=x.device).tril(-1)
    rank = larger + equal.sum(-1)
    x = (x / temperature).masked_fill(rank >= (n if top_k is None else top_k), -torch.inf)
    p = x.softmax(-1)
    if top_p is not None:
        before = torch.where(rank.unsqueeze(-2) < rank.unsqueeze(-1), p.unsqueeze(-2), 0).sum(-1)
        p = p * ((before < top_p) | (rank < 1))
        p = p / p.sum(-1, keepdim=True)
    return p.to(logits.dtype)


class PatchEmbedding(nn.Module):
    def __init__(self, channels, size, d_model, n_patches):
        super().__init__()
        self.size = size
        self.proj = nn.Linear(channels * size * size, d_model)
        self.class_token = nn.Parameter(0.02 * torch.randn(d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(n_patches + 1, d_model))

    def forward(self, images):
        s = self.size
        windows = images.unfold(2, s, s).unfold(3, s, s)  # (batch, channel, row, column, y, x)
        windows = windows.movedim(1, 3).flatten(1, 2).flatten(2)
        out = images.new_empty(len(images), len(self.positions), len(self.class_token))
        out[:, 0] = self.class_token
        out[:, 1:] = F.linear(windows.float(), self.proj.weight.float(), self.proj.bias.float()).to(images.dtype)
        return out + self.positions


class LoRALinear(nn.Module):
    def __init__(self, linear, rank, alpha):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.rank = rank
        self.alpha = alpha
        d_out, d_in = linear.weight.shape
        self.a = nn.Parameter(linear.weight.new_empty(rank, d_in).uniform_(-1, 1))
        self.b = nn.Parameter(linear.weight.new_zeros(d_out, rank))

    def _delta(self):
        return (self.b.float() @ self.a.float()).mul(self.alpha).div(self.rank)

    def forward(self, x):
        return self.linear(x) + (x.float() @ self._delta().T).to(x.dtype)

    def merged(self):
        new = nn.utils.skip_init(nn.Linear, *self.linear.weight.shape[::-1], bias=self.linear.bias is not None)
        new = new.to(self.linear.weight.dtype)
        new.weight.data = (self.linear.weight.float() + self._delta()).detach().to(self.linear.weight.dtype)
        if self.linear.bias is not None:
            new.bias.data = self.linear.bias.data.clone()
        return new
