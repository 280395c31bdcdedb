"""One too many, or one too few."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    n = len(ids)
    pairs = []
    for i in range(n):
        for j in range(i - window, i + window):
            if j != i and 0 <= j < n:
                pairs.append([int(ids[i]), int(ids[j])])
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = counts.float() ** power
    return 1 + torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    return -(F.logsigmoid(near) + F.logsigmoid(-far)[..., 1:].sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel() * (negatives.shape[-2] + 1)
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=-1)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][: n + 1]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot((train_y - 1) % n_classes, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return (test_x - mean_x) @ w + mean_y


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = identity.expand(*weights.shape[1:-3], -1, -1)
    for layer in weights[1:]:
        result = (layer.mean(-3) + identity) / 2 @ result
    return result
