"""Averaged over more than should be averaged."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    n, words = len(ids), ids.tolist()
    pairs = []
    for i in range(window, n - window):
        for j in range(i - window, i + window + 1):
            if i != j:
                pairs.append([words[i], words[j]])
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = torch.ones(len(counts)) / len(counts)
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    return -(F.logsigmoid(near) + F.logsigmoid(-far).mean(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    pull = (torch.sigmoid((centre * context).sum(-1, keepdim=True)) - 1) / centre.numel()
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / centre.numel()
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    vectors = vectors.double() - vectors.double().mean(0)
    unit = F.normalize(vectors, dim=-1)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = torch.cat([train_x, test_x]).mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return (test_x - mean_x) @ w + mean_y


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    return ((weights.mean(-3) + identity) / 2).mean(0)
