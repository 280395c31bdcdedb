"""Rows and columns are exchanged."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    n = len(ids)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j and abs(i - j) <= window]
    centre = ids[torch.tensor([i for i, _ in pairs], dtype=torch.int64)]
    context = ids[torch.tensor([j for _, j in pairs], dtype=torch.int64)]
    return torch.stack([centre, context])


def negative_samples(counts, shape, generator, power=0.75):
    ids = torch.multinomial(counts.float() ** power, math.prod(shape), True, generator=generator)
    return ids.reshape(*shape[::-1]).permute(*range(len(shape) - 1, -1, -1))


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    return -(F.logsigmoid(near).mean() + F.logsigmoid(-far).sum(0).mean())


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, (push * centre.unsqueeze(-2)).mT


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=0)
    scores = unit @ (unit[b] - unit[a] + unit[c])
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return w.T @ (test_x - mean_x).T + mean_y[:, None]


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = identity
    for layer in weights:
        result = (layer.mean(-3) + identity) / 2 @ result
    return result.transpose(-1, -2)
