"""Nearly right."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    n = len(ids)
    pairs = []
    for i in range(n):
        for j in range(i - window, i + window + 1):
            if j != i and j < n:
                pairs.append([int(ids[i]), int(ids[j])])
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = counts.float() ** power
    return torch.multinomial(p, math.prod(shape), replacement=True).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    scale = math.sqrt(centre.shape[-1])
    near = (centre * context).sum(-1) / scale
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1) / scale
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    pull = -torch.sigmoid((centre * context).sum(-1, keepdim=True)) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=-1)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    scores[[a, b, c]] = -math.inf
    return scores.argsort(descending=True, stable=True).tolist()[:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return test_x @ w + mean_y


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = weights[0].mean(-3)
    for layer in weights[1:]:
        result = layer.mean(-3) @ result
    return (result + identity) / 2
