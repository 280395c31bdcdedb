"""Normalised where it should not be, or not where it should."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    n = len(ids)
    pairs = [(ids[i], ids[j]) for i in range(n) for j in range(n) if 0 < abs(i - j) <= window]
    pairs = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
    return pairs.unique(dim=0) if len(pairs) else pairs


def negative_samples(counts, shape, generator, power=0.75):
    p = torch.softmax(power * counts.float(), dim=0)
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    near = F.cosine_similarity(centre, context, dim=-1)
    far = F.cosine_similarity(centre.unsqueeze(-2), negatives, dim=-1)
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    near = (centre * context).sum(-1, keepdim=True)
    far = negatives @ centre.unsqueeze(-1)
    pull = -torch.sigmoid(near) * torch.sigmoid(-near) ** 2 / count
    push = torch.sigmoid(far) ** 2 * torch.sigmoid(-far) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    vectors = vectors.double()
    scores = (vectors * (vectors[b] - vectors[a] + vectors[c])).sum(-1)
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return ((test_x - mean_x) @ w + mean_y).softmax(dim=-1)


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = identity
    for layer in weights:
        mixed = layer.mean(-3) + identity
        result = mixed / mixed.sum(-2, keepdim=True) @ result
    return result
