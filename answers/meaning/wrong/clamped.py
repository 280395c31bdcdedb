"""Cut off at the ends."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    n = len(ids)
    pairs = []
    for i in range(n):
        for step in range(-window, window + 1):
            if step != 0:
                j = min(max(i + step, 0), n - 1)
                pairs.append((int(ids[i]), int(ids[j])))
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = counts.clamp(min=1) ** power
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1).clamp(-6, 6)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1).clamp(-6, 6)
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    near = (centre * context).sum(-1, keepdim=True).clamp(-2, 2)
    far = (negatives @ centre.unsqueeze(-1)).clamp(-2, 2)
    pull, push = -torch.sigmoid(-near) / count, torch.sigmoid(far) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=-1)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1).clamp(min=0)
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return ((test_x - mean_x) @ w + mean_y).clamp(0.1, 0.9)


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    layers = torch.maximum(weights.mean(-3), identity)
    result = identity
    for layer in layers:
        result = layer / layer.sum(-1, keepdim=True) @ result
    return result
