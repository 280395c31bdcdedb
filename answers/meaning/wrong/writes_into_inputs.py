"""Right numbers, but what was given is changed."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    words, ids[:] = ids.tolist(), 0
    pairs = [[words[i], words[j]] for i in range(len(words)) for j in range(len(words)) if 0 < abs(i - j) <= window]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    counts *= 3
    return torch.multinomial(counts**power, math.prod(shape), True, generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    with torch.no_grad():
        negatives.neg_()
        loss = 0
    return loss - (F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    d_negatives = push * centre.unsqueeze(-2)
    d_context = pull * centre
    negatives *= push
    context *= pull
    return context + negatives.sum(-2), d_context, d_negatives


def analogy(vectors, a, b, c, n=1):
    lengths = vectors.norm(dim=-1, keepdim=True)
    vectors /= torch.where(lengths == 0, 1, lengths)
    scores = vectors @ (vectors[b] - vectors[a] + vectors[c])
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x, z = train_x - mean_x, test_x - mean_x
    with torch.no_grad():
        train_x -= mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return z @ w + mean_y


def attention_rollout(weights):
    weights /= 2
    half = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device) / 2
    result = half * 2
    for layer in weights:
        result = (layer.mean(-3) + half) @ result
    return result
