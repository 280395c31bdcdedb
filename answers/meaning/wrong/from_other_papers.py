"""The rule of another paper, or of a well-known program."""

import torch
import torch.nn.functional as F


def skip_gram_pairs(ids, window):
    """Windows of random width, as word2vec.c has them."""
    source = torch.Generator().manual_seed(len(ids))
    pairs = []
    for i in range(len(ids)):
        reach = int(torch.randint(1, window + 1, (1,), generator=source)) if window else 0
        for j in range(max(0, i - reach), min(len(ids), i + reach + 1)):
            if i != j:
                pairs.append([int(ids[i]), int(ids[j])])
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def negative_samples(counts, shape, generator, power=0.75):
    """A table of words, as word2vec.c has it."""
    p = counts.double() ** power
    copies = (p / p.sum() * 1000).round().long()
    table = torch.repeat_interleave(torch.arange(len(counts)), copies)
    return table[torch.randint(len(table), tuple(shape), generator=generator)]


def negative_sampling_loss(centre, context, negatives):
    """A margin between neighbours and strangers."""
    near = (centre * context).sum(-1, keepdim=True)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    return F.relu(1 - near + far).sum(-1).mean()


def negative_sampling_gradient(centre, context, negatives):
    """Of a softmax over all of them."""
    words = torch.cat([context.unsqueeze(-2), negatives], -2)
    share = (words @ centre.unsqueeze(-1)).softmax(-2)
    share[..., 0, :] -= 1
    share = share / centre[..., 0].numel()
    d_words = share * centre.unsqueeze(-2)
    return (share * words).sum(-2), d_words[..., 0, :], d_words[..., 1:, :]


def analogy(vectors, a, b, c, n=1):
    """3CosMul."""
    unit = F.normalize(vectors.double(), dim=-1)
    cosines = (1 + (unit[:, None] * unit[[a, b, c]]).sum(-1)) / 2
    scores = cosines[:, 1] * cosines[:, 2] / (cosines[:, 0] + 0.001)
    return [w for w in scores.argsort(descending=True, stable=True).tolist() if w not in (a, b, c)][:n]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    """The nearest mean of a class."""
    y = F.one_hot(train_y, n_classes).to(train_x.dtype)
    means = (y.T @ train_x) / (y.sum(0)[:, None] + ridge)
    return -torch.cdist(test_x, means)


def attention_rollout(weights):
    """The largest head, rescaled."""
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    result = identity
    for layer in weights:
        best = layer.amax(-3) + identity
        result = best / best.sum(-1, keepdim=True) @ result
    return result
