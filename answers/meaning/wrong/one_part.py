"""One of two parts is missing."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    pairs = [(ids[i], ids[j]) for i in range(len(ids)) for j in range(i + 1, min(i + window + 1, len(ids)))]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = (counts > 0).float()
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    return F.softplus(-(centre * context).sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    return pull * context, pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=-1)
    scores = (unit * (unit[b] + unit[c])).sum(-1)
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    eye = torch.eye(train_x.shape[1], dtype=train_x.dtype, device=train_x.device)
    w = torch.linalg.solve(train_x.T @ train_x + ridge * eye, train_x.T @ y)
    return test_x @ w


def attention_rollout(weights):
    result = weights[0].mean(-3)
    for layer in weights[1:]:
        result = layer.mean(-3) @ result
    return result
