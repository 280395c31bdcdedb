"""A sum where a mean belongs, or the other way round."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    half = window // 2
    n = len(ids)
    pairs = [(ids[i], ids[j]) for i in range(n) for j in range(n) if i != j and abs(i - j) <= half]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = (counts.float() ** power).cumsum(0)
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).sum()


def negative_sampling_gradient(centre, context, negatives):
    pull = torch.sigmoid((centre * context).sum(-1, keepdim=True)) - 1
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1))
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    unit = vectors.double() / vectors.double().abs().sum(-1, keepdim=True).clamp(min=1e-30)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    n = len(train_x)
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x / n + ridge * eye, x.T @ (y - mean_y) / n)
    return (test_x - mean_x) @ w + mean_y


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = identity
    for layer in weights:
        result = (layer.sum(-3) + identity) / 2 @ result
    return result
