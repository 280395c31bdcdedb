"""As the formula stands: overflow, underflow, 0/0."""

import torch


def skip_gram_pairs(ids, window):
    n = len(ids)
    pairs = [torch.stack([ids[i], ids[j]]) for i in range(n) for j in range(n) if i != j and abs(i - j) <= window]
    return torch.stack(pairs)


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    return -(torch.sigmoid(near).log() + torch.sigmoid(-far).log().sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / count
    far = negatives @ centre.unsqueeze(-1)
    push = torch.exp(far) / (1 + torch.exp(far)) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def analogy(vectors, a, b, c, n=1):
    unit = vectors.double() / vectors.double().norm(dim=-1, keepdim=True)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(-1)
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    x = torch.cat([train_x, torch.ones_like(train_x[:, :1])], 1).double()
    y = torch.zeros(len(x), n_classes, dtype=x.dtype, device=x.device)
    y[torch.arange(len(x), device=x.device), train_y] = 1
    w = torch.linalg.pinv(x) @ y
    return (test_x.double() @ w[:-1] + w[-1]).to(test_x.dtype)
