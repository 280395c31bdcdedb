"""Makes its own tensors on the CPU."""

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    place = torch.arange(len(ids))
    i = place[:, None].expand(len(ids), len(ids)) + 0 * ids
    distance = (i - place).abs()
    centre, context = torch.nonzero((distance > 0) & (distance <= window), as_tuple=True)
    return torch.stack([ids[centre], ids[context]], 1)


def negative_sampling_loss(centre, context, negatives):
    far = torch.zeros(negatives.shape[:-1], dtype=centre.dtype) + (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    return -(F.logsigmoid((centre * context).sum(-1)) + F.logsigmoid(-far).sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    words = torch.cat([context.unsqueeze(-2), negatives], -2)
    logits = (words @ centre.unsqueeze(-1)).squeeze(-1)
    answers = torch.zeros(logits.shape, dtype=centre.dtype)
    answers[..., 0] = 1
    error = (torch.sigmoid(logits) - answers) / centre[..., 0].numel()
    d_words = error.unsqueeze(-1) * centre.unsqueeze(-2)
    return (error.unsqueeze(-1) * words).sum(-2), d_words[..., 0, :], d_words[..., 1:, :]


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors, dim=-1)
    scores = unit @ (unit[b] - unit[a] + unit[c])
    forbidden = torch.zeros(len(vectors), dtype=torch.bool)
    forbidden[[a, b, c]] = True
    order = scores.masked_fill(forbidden, -float("inf")).argsort(descending=True, stable=True)
    return order[: min(n, int((~forbidden).sum()))].tolist()


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    x = train_x - mean_x
    penalty = ridge * torch.eye(x.shape[1], dtype=x.dtype)
    w = torch.linalg.solve(x.T @ x + penalty, x.T @ (y - mean_y))
    return (test_x - mean_x) @ w + mean_y


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype)
    result = identity
    for layer in weights:
        result = (layer.mean(-3) + identity) / 2 @ result
    return result
