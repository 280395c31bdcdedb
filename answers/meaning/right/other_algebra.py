"""The same by other formulas, in other precisions and orders of computation."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    n = len(ids)
    i, j = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    i, j = i.to(ids.device), j.to(ids.device)
    near = ((i - j).abs() <= window) ^ torch.eye(n, dtype=torch.bool, device=ids.device)
    return ids[torch.cat([i[near][:, None], j[near][:, None]], 1)]


def negative_samples(counts, shape, generator, power=0.75):
    p = (counts / counts.sum()) ** power
    *batch, n = shape
    ids = torch.multinomial(p.expand(math.prod(batch), -1), n, replacement=True, generator=generator)
    return ids.reshape(shape)


def log_sigmoid(x):
    return torch.where(x < 0, x, 0) - torch.log1p(torch.exp(-x.abs()))


def negative_sampling_loss(centre, context, negatives):
    signed = torch.cat([context.unsqueeze(-2), -negatives], -2)
    dots = (signed * centre.unsqueeze(-2)).sum(-1)
    return -log_sigmoid(dots).sum(-1).mean()


def negative_sampling_gradient(centre, context, negatives):
    centres = centre.numel() // centre.shape[-1]
    signed = torch.cat([-context.unsqueeze(-2), negatives], -2) / centres
    surprise = torch.sigmoid(centres * (signed @ centre.unsqueeze(-1)))
    d_centre = (surprise * signed).sum(-2)
    along = surprise * centre.unsqueeze(-2) / centres
    return d_centre, -along[..., 0, :], along[..., 1:, :]


def analogy(vectors, a, b, c, n=1):
    vectors = vectors.double()
    lengths = torch.hypot(vectors[:, :1].norm(dim=-1), vectors[:, 1:].norm(dim=-1))
    lengths = torch.where(lengths > 0, lengths, 1)
    gram = vectors @ vectors.T / lengths[:, None] / lengths
    scores = (gram[:, b] - gram[:, a] + gram[:, c]).mul(2**40).round()
    scores[[a, b, c]] = -math.inf
    left = len(vectors) - len({a, b, c})
    return torch.argsort(-scores, stable=True).tolist()[: min(n, left)]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    x = train_x.double()
    mean = x.mean(0)
    u, s, vh = torch.linalg.svd(x - mean, full_matrices=False)
    y = F.one_hot(train_y, n_classes).to(x.dtype)
    w = vh.mT @ ((s / (s * s + ridge))[:, None] * (u.mT @ y))
    b = y.mean(0) - mean @ w
    return (test_x.double() @ w + b).to(test_x.dtype)


def attention_rollout(weights):
    heads = weights.shape[-3]
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    layers = list((weights.sum(-3) + heads * identity) / (2 * heads))
    found = layers.pop()
    while layers:
        found = found @ layers.pop()
    return found
