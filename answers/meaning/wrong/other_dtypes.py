"""The result has another dtype than it should."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    n = len(ids)
    pairs = [[int(ids[i]), int(ids[j])] for i in range(n) for j in range(n) if 0 < abs(i - j) <= window]
    return torch.tensor(pairs, dtype=torch.int32).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = counts.float() ** power
    return torch.multinomial(p, math.prod(shape), True, generator=generator).reshape(shape).float()


def negative_sampling_loss(centre, context, negatives):
    centre, context, negatives = centre.half(), context.half(), negatives.half()
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    centre, context, negatives = centre.float(), context.float(), negatives.float()
    count = centre[..., 0].numel()
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=-1)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    answers = [float(w) for w in scores.argsort(descending=True, stable=True) if w not in (a, b, c)]
    return torch.tensor(answers[:n])


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    x, y, z = train_x.double(), F.one_hot(train_y, n_classes).double(), test_x.double()
    mean_x, mean_y = x.mean(0), y.mean(0)
    x = x - mean_x
    eye = torch.eye(x.shape[1], dtype=torch.float64, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return (z - mean_x) @ w + mean_y


def attention_rollout(weights):
    weights = weights.float()
    identity = torch.eye(weights.shape[-1], device=weights.device)
    result = identity
    for layer in weights:
        result = (layer.mean(-3) + identity) / 2 @ result
    return result
