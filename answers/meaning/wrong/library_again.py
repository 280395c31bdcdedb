"""Another function of the library that does something else."""

import itertools

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    pairs = [(int(ids[i]), int(ids[j])) for i, j in itertools.combinations(range(len(ids)), 2) if j - i <= window]
    pairs += [(context, centre) for centre, context in pairs]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    p = counts.float() ** power
    edges = (p / p.sum()).cumsum(0)
    return torch.searchsorted(edges, torch.rand(*shape, generator=generator)).clamp(max=len(counts) - 1)


def negative_sampling_loss(centre, context, negatives):
    words = torch.cat([context.unsqueeze(-2), negatives], -2)
    logits = (words @ centre.unsqueeze(-1)).squeeze(-1)
    answers = torch.zeros_like(logits)
    answers[..., 0] = 1
    return F.binary_cross_entropy_with_logits(logits, answers)


def negative_sampling_gradient(centre, context, negatives):
    def loss(centre, context, negatives):
        near = (centre * context).sum(-1)
        far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
        return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean()

    return torch.func.grad(loss, argnums=(0, 1, 2))(centre, context, negatives)


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.double(), dim=-1)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    return [w for w in scores.topk(min(n, len(scores))).indices.tolist() if w not in (a, b, c)]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    mean_x, mean_y = train_x.mean(0), y.mean(0)
    eye = torch.eye(train_x.shape[1], dtype=train_x.dtype, device=train_x.device)
    further = torch.cat([train_x - mean_x, ridge * eye])
    wanted = torch.cat([y - mean_y, torch.zeros_like(eye[:, :1]).expand(-1, n_classes)])
    w = torch.linalg.lstsq(further, wanted).solution
    return (test_x - mean_x) @ w + mean_y


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = identity
    for layer in weights:
        result = (layer.max(dim=-3).values + identity) / 2 @ result
    return result
