"""A small constant against dividing by 0, or against the logarithm of 0, that is not small enough."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    window = max(window, 1)
    n = len(ids)
    pairs = [(ids[i], ids[j]) for i in range(n) for j in range(n) if 0 < abs(i - j) <= window]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = (counts + 1).float() ** power
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives, eps=1e-8):
    near = torch.sigmoid((centre * context).sum(-1))
    far = torch.sigmoid((negatives @ centre.unsqueeze(-1)).squeeze(-1))
    return -(torch.log(near + eps) + torch.log(1 - far + eps).sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives, eps=0.01):
    count = centre[..., 0].numel()
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)).clamp(eps, 1 - eps) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)).clamp(eps, 1 - eps) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    unit = vectors.double() / (vectors.double().norm(dim=-1, keepdim=True) + 0.5)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, std_x, mean_y = train_x.mean(0), train_x.std(0, unbiased=False) + 1e-5, y.mean(0)
    x = (train_x - mean_x) / std_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return (test_x - mean_x) / std_x @ w + mean_y


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = identity
    for layer in weights:
        mixed = layer.mean(-3) + identity
        result = mixed / (mixed.sum(-1, keepdim=True) + 0.01) @ result
    return result
