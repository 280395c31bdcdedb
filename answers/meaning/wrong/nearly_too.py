"""Nearly right in another way."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    steps = [step for step in range(-window, window + 1) if step]
    pairs = [(int(ids[i]), int(ids[i + s])) for s in steps for i in range(len(ids)) if 0 <= i + s < len(ids)]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = counts.float() ** power
    ids = [torch.multinomial(p, 1, replacement=True, generator=generator) for _ in range(math.prod(shape))]
    return torch.cat(ids).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean() / math.log(2)


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    pull = ((centre * context).sum(-1, keepdim=True) - 1) / count
    push = negatives @ centre.unsqueeze(-1) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=-1)
    distances = (unit - (unit[b] - unit[a] + unit[c])).square().sum(-1)
    return [w for w in distances.argsort(stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    eye = torch.eye(train_x.shape[1], dtype=train_x.dtype, device=train_x.device)
    w = torch.linalg.solve(train_x.T @ train_x + ridge * eye, train_x.T @ y)
    b = (y - train_x @ w).mean(0)
    return test_x @ w + b


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = identity
    for layer in weights:
        result = (layer.mean(-3) / 2 + identity) @ result
    return result
