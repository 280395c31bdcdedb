"""One thing is taken for another: a position for an id, a context for a centre, an example for a question."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    n = len(ids)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j and abs(i - j) <= window]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = counts.float() ** power
    generator = torch.Generator().manual_seed(0)
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (negatives @ context.unsqueeze(-1)).squeeze(-1)
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    return pull * context + (push * negatives).sum(-2), pull * context, push * negatives


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=-1)
    goal = unit[b] - unit[a] + unit[c]
    others = [w for w in range(len(unit)) if w not in (a, b, c)]
    scores = (unit[others] * goal).sum(-1)
    return scores.argsort(descending=True, stable=True).tolist()[:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return x @ w + mean_y


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = identity
    for layer in weights:
        result = (layer.mean(-3).mT + identity) / 2 @ result
    return result
