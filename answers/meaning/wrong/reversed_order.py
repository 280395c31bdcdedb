"""The right things in the wrong order."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    n, words = len(ids), ids.tolist()
    pairs = []
    for i in range(n):
        for j in list(range(i + 1, min(n, i + window + 1))) + list(range(max(0, i - window), i)):
            pairs.append([words[i], words[j]])
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    ids = torch.multinomial(counts.float() ** power, math.prod(shape), True, generator=generator)
    return ids.sort().values.reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).mean(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1) / centre.shape[-1]
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    return pull * centre, pull * context + (push * negatives).sum(-2), push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=-1)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    return [w for w in scores.argsort(stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype).flip(-1)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return (test_x - mean_x) @ w + mean_y


def attention_rollout(weights):
    layers = (weights.mean(-3) + torch.eye(weights.shape[-1]).to(weights)) / 2
    result = layers[0]
    for layer in layers[1:]:
        result = result @ layer
    return result
