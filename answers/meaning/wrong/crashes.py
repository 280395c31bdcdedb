"""Stops at an input that was not thought of."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    pairs = []
    for i in range(len(ids)):
        for j in range(i - window, i + window + 1):
            if i != j:
                pairs.append((int(ids[i]), int(ids[j])))
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = counts.float() ** power
    p /= p.sum()
    return torch.multinomial(p, math.prod(shape), generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    batch, _, d = negatives.shape
    near = torch.bmm(centre.view(batch, 1, d), context.view(batch, d, 1)).squeeze()
    far = torch.bmm(negatives, centre.view(batch, d, 1)).squeeze()
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    batch, _, _ = negatives.shape
    pull = (torch.sigmoid((centre * context).sum(1)) - 1) / batch
    push = torch.sigmoid(torch.bmm(negatives, centre[:, :, None]).squeeze()) / batch
    d_centre = pull[:, None] * context + torch.bmm(push[:, None], negatives).squeeze(1)
    return d_centre, pull[:, None] * centre, push[:, :, None] * centre[:, None]


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=-1)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    best = scores.topk(n + 3).indices.tolist()
    return [w for w in best if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return (test_x - mean_x) @ w + mean_y


def attention_rollout(weights):
    layers, _, seq, _ = weights.shape
    result = torch.eye(seq)
    for i in range(layers):
        result = (weights[i].mean(0) + torch.eye(seq)) / 2 @ result
    return result
