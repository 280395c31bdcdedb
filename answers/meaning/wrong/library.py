"""A function of the library that does something else."""

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    if len(ids) < 2 * window + 1 or window == 0:
        return ids.new_zeros(0, 2)
    windows = ids.unfold(0, 2 * window + 1, 1)
    context = torch.cat([windows[:, :window], windows[:, window + 1 :]], 1)
    return torch.stack([windows[:, window : window + 1].expand_as(context), context], -1).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    return torch.randint(len(counts), tuple(shape), generator=generator)


def negative_sampling_loss(centre, context, negatives):
    words = torch.cat([context.unsqueeze(-2), negatives], -2)
    logits = (words @ centre.unsqueeze(-1)).squeeze(-1)
    logits = logits.reshape(-1, logits.shape[-1])
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.int64, device=logits.device))


def negative_sampling_gradient(centre, context, negatives):
    inputs = [t.clone().requires_grad_() for t in (centre, context, negatives)]
    near = (inputs[0] * inputs[1]).sum(-1)
    far = (inputs[2] @ inputs[0].unsqueeze(-1)).squeeze(-1)
    loss = -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean()
    return torch.autograd.grad(loss, inputs)


def analogy(vectors, a, b, c, n=1):
    goal = vectors[b] - vectors[a] + vectors[c]
    scores = F.cosine_similarity(vectors, goal[None], dim=-1)
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    x = torch.cat([train_x, torch.ones_like(train_x[:, :1])], 1)
    y = F.one_hot(train_y, n_classes).to(x.dtype)
    eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + ridge * eye, x.T @ y)
    return torch.cat([test_x, torch.ones_like(test_x[:, :1])], 1) @ w


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mean = (weights.mean(0).mean(-3) + identity) / 2
    return torch.linalg.matrix_power(mean, len(weights))
