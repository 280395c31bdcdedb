"""Everything one entry at a time, in Python numbers where that is possible."""

import torch
from torch import nn


def train_bpe(words, n_merges):
    texts = []
    for word in words:
        texts.append([byte for byte in bytes(word, "utf-8")])  # noqa: C416
    learned = []
    while len(learned) < n_merges:
        table = {}
        for text in texts:
            for i in range(1, len(text)):
                key = (text[i - 1], text[i])
                table[key] = table.get(key, 0) + 1
        if len(table) == 0:
            return learned
        winner = None
        for key, count in table.items():
            if winner is None or count > table[winner] or (count == table[winner] and key < winner):
                winner = key
        for text in texts:
            i = 0
            while i < len(text) - 1:
                if text[i] == winner[0] and text[i + 1] == winner[1]:
                    text[i] = 256 + len(learned)
                    del text[i + 1]
                i += 1
        learned.append(list(winner))
    return learned


def encode_bpe(text, merges):
    ids = [byte for byte in bytes(text, "utf-8")]  # noqa: C416
    for number, (left, right) in enumerate(merges):
        i = 0
        while i < len(ids) - 1:
            if ids[i] == left and ids[i + 1] == right:
                ids[i] = 256 + number
                del ids[i + 1]
            i += 1
    return ids


def mask_tokens(ids, mask_id, vocab, special, generator, p=0.15):
    chance = torch.rand(ids.shape, generator=generator)
    kind = torch.rand(ids.shape, generator=generator)
    other = torch.randint(vocab, ids.shape, generator=generator)
    inputs, targets = ids.clone().reshape(-1), torch.full_like(ids, -100).reshape(-1)
    for i, token in enumerate(ids.reshape(-1).tolist()):
        if chance.reshape(-1)[i] < p and token not in special:
            targets[i] = token
            if kind.reshape(-1)[i] < 0.8:
                inputs[i] = mask_id
            elif kind.reshape(-1)[i] < 0.9:
                inputs[i] = other.reshape(-1)[i]
    return inputs.reshape(ids.shape), targets.reshape(ids.shape)


def corrupt_spans(ids, spans, sentinel):
    owner = {}
    for i, (start, length) in enumerate(spans):
        for at in range(start, start + length):
            owner[at] = i
    inputs, targets = [], []
    for at, token in enumerate(ids):
        if at not in owner:
            inputs.append(token)
            continue
        mark = sentinel - owner[at]
        if owner.get(at - 1) != owner[at]:
            inputs.append(mark)
            targets.append(mark)
        targets.append(token)
    targets.append(sentinel - len(spans))
    return inputs, targets


def perplexity(logits, ids, lengths):
    surprises = []
    for b, length in enumerate(lengths.tolist()):
        for t in range(1, length):
            surprises.append(torch.logsumexp(logits[b, t - 1], 0) - logits[b, t - 1, ids[b, t]])
    return torch.exp(sum(surprises) / len(surprises))


def sampling_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]):
        numbers = row.tolist()
        order = sorted(range(len(numbers)), key=lambda i: (-numbers[i], i))
        if temperature == 0:
            p = torch.zeros_like(row)
            p[order[0]] = 1
            rows.append(p)
            continue
        kept = order if top_k is None else order[:top_k]
        shares = (row[kept] / temperature).softmax(0)
        if top_p is not None:
            total, n = 0.0, 0
            while n < len(kept) and (n == 0 or total < top_p):
                total += float(shares[n])
                n += 1
            kept, shares = kept[:n], shares[:n] / shares[:n].sum()
        p = torch.zeros_like(row)
        p[kept] = shares
        rows.append(p)
    return torch.stack(rows).reshape(logits.shape)


class PatchEmbedding(nn.Module):
    def __init__(self, channels, size, d_model, n_patches):
        super().__init__()
        self.size = size
        self.proj = nn.Linear(channels * size * size, d_model)
        self.class_token = nn.Parameter(0.02 * torch.randn(d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(n_patches + 1, d_model))

    def forward(self, images):
        s = self.size
        sequences = []
        for image in images:
            vectors = [self.class_token + self.positions[0]]
            for top in range(0, image.shape[1], s):
                for left in range(0, image.shape[2], s):
                    patch = image[:, top : top + s, left : left + s].reshape(-1)
                    vectors.append(self.proj(patch) + self.positions[len(vectors)])
            sequences.append(torch.stack(vectors))
        return torch.stack(sequences)


class LoRALinear(nn.Module):
    def __init__(self, linear, rank, alpha):
        super().__init__()
        self.linear = linear
        for parameter in linear.parameters():
            parameter.requires_grad = False
        self.rank = rank
        self.alpha = alpha
        d_out, d_in = linear.weight.shape
        self.a = nn.Parameter(torch.randn(rank, d_in, dtype=linear.weight.dtype))
        self.b = nn.Parameter(torch.zeros(d_out, rank, dtype=linear.weight.dtype))

    def forward(self, x):
        y = self.linear(x)
        for r in range(self.rank):
            along = (x * self.a[r]).sum(-1, keepdim=True)
            y = y + along * self.b[:, r] * (self.alpha / self.rank)
        return y

    def merged(self):
        weight = self.linear.weight.detach().clone()
        for r in range(self.rank):
            weight += self.alpha / self.rank * torch.outer(self.b[:, r], self.a[r]).detach()
        new = nn.Linear(weight.shape[1], weight.shape[0], bias=self.linear.bias is not None, dtype=weight.dtype)
        new.weight = nn.Parameter(weight)
        if new.bias is not None:
            new.bias = nn.Parameter(self.linear.bias.detach().clone())
        return new
