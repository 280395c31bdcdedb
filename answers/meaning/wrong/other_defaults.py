"""Right in all but the default; or in all but the edges that nobody tried."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    pairs = []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if i != j:
                pairs.append([ids[i], ids[j]])
    return torch.tensor(pairs)


def negative_samples(counts, shape, generator, power=1.0):
    p = counts.float() ** power
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives, reduction="none"):
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    loss = -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1))
    return loss.mean() if reduction == "mean" else loss


def negative_sampling_gradient(centre, context, negatives, learning_rate=0.025):
    count = centre[..., 0].numel()
    pull = learning_rate * torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    push = -learning_rate * torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=10):
    unit = F.normalize(vectors.double(), dim=-1)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=0.1):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return (test_x - mean_x) @ w + mean_y


def attention_rollout(weights, residual=1.0):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = identity
    for layer in weights:
        result = (layer.mean(-3) + residual * identity) @ result
    return result
