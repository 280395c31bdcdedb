"""Equal things are treated as one, or in the wrong order."""

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    words = ids.tolist()
    pairs = []
    for i, centre in enumerate(words):
        for context in words[max(0, i - window) : i + window + 1]:
            if context != centre:
                pairs.append([centre, context])
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = counts.float() ** power
    row = torch.multinomial(p, shape[-1], replacement=True, generator=generator)
    return row.expand(*shape)


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (centre * negatives.sum(-2)).sum(-1)
    return -(F.logsigmoid(near) + F.logsigmoid(-far)).mean()


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, (push * centre.unsqueeze(-2)).sum(-2)


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=-1)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1).tolist()
    order = sorted(range(len(scores)), key=lambda w: (scores[w], w), reverse=True)
    return [w for w in order if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = 2 * F.one_hot(train_y, n_classes).to(train_x.dtype) - 1
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ (y - mean_y))
    return (test_x - mean_x) @ w + mean_y


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = (weights[0] + identity) / 2
    for layer in weights[1:]:
        result = (layer + identity) / 2 @ result
    return result.mean(-3)
