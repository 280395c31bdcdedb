"""A number is used twice, or half, or squared."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    n = len(ids)
    pairs = [(ids[i], ids[j]) for i in range(n) for j in range(n) if 0 < abs(i - j) < window]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = counts.float() ** (1 / power)
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean() / 2


def negative_sampling_gradient(centre, context, negatives):
    count = 2 * centre[..., 0].numel()
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    squares = vectors.double().square().sum(-1, keepdim=True)
    unit = vectors.double() / squares.masked_fill(squares == 0, 1)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + 2 * ridge * eye, x.T @ (y - mean_y))
    return (test_x - mean_x) @ w + mean_y


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = identity
    for layer in weights:
        result = (layer.mean(-3) + 2 * identity) / 3 @ result
    return result
