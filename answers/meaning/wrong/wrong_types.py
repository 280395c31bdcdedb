"""What is returned is of another kind."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    n, words = len(ids), ids.tolist()
    return [(words[i], words[j]) for i in range(n) for j in range(n) if 0 < abs(i - j) <= window]


def negative_samples(counts, shape, generator, power=0.75):
    return torch.multinomial(counts.float() ** power, math.prod(shape), True, generator=generator).tolist()


def negative_sampling_loss(centre, context, negatives):
    near = -F.logsigmoid((centre * context).sum(-1)).mean()
    far = -F.logsigmoid(-(negatives @ centre.unsqueeze(-1)).squeeze(-1)).sum(-1).mean()
    return near, far


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    d_words = torch.cat([pull.unsqueeze(-2), push], -2) * centre.unsqueeze(-2)
    return pull * context + (push * negatives).sum(-2), d_words


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=-1)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    best = [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]
    return best[0] if n == 1 else best


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return ((test_x - mean_x) @ w + mean_y).argmax(-1)


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    found = [(weights[0].mean(-3) + identity) / 2]
    for layer in weights[1:]:
        found.append((layer.mean(-3) + identity) / 2 @ found[-1])
    return torch.stack(found)
