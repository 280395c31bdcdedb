"""Everything is computed, and nothing is returned."""

import math

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    pairs = []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if i != j:
                pairs.append([ids[i].item(), ids[j].item()])
    torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = counts.float() ** power
    torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(shape)


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    loss = -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean()  # noqa: F841


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    d_centre = pull * context + (push * negatives).sum(-2)  # noqa: F841
    d_context = pull * centre  # noqa: F841
    d_negatives = push * centre.unsqueeze(-2)  # noqa: F841


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors, dim=-1)
    scores = unit @ (unit[b] - unit[a] + unit[c])
    answers = [w for w in scores.argsort(descending=True).tolist() if w not in (a, b, c)]
    answers[:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    w = torch.linalg.solve(x.T @ x + ridge * torch.eye(x.shape[1]), x.T @ (y - mean_y))
    scores = (test_x - mean_x) @ w + mean_y  # noqa: F841


def attention_rollout(weights):
    layers = (weights.mean(-3) + torch.eye(weights.shape[-1])) / 2
    result = layers[0]
    for layer in layers[1:]:
        result = layer @ result
