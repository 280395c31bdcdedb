"""Position by position, word by word, entry by entry."""

import math

import torch


def skip_gram_pairs(ids, window):
    centres, contexts = [], []
    for i, centre in enumerate(ids.tolist()):
        for j, context in enumerate(ids.tolist()):
            if 0 < abs(i - j) <= window:
                centres.append(centre)
                contexts.append(context)
    return torch.tensor([centres, contexts], dtype=torch.int64).T


def negative_samples(counts, shape, generator, power=0.75):
    weights = torch.tensor([count**power for count in counts.tolist()])
    *batch, n = shape
    rows = [torch.multinomial(weights, n, True, generator=generator) for _ in range(math.prod(batch))]
    return torch.stack(rows).reshape(*batch, n)


def softplus(x):
    """log(1 + exp(x)), which is -log σ(-x)."""
    return torch.relu(x) + torch.log1p(torch.exp(-abs(x)))


def negative_sampling_loss(centre, context, negatives):
    total, count = 0, 0
    if centre.dim() == 1:
        centre, context, negatives = centre[None], context[None], negatives[None]
    places = math.prod(centre.shape[:-1])
    flat = negatives.reshape(places, negatives.shape[-2], negatives.shape[-1])
    for c, o, words in zip(centre.flatten(0, -2), context.flatten(0, -2), flat, strict=True):
        total = total + softplus(-(c @ o))
        for word in words:
            total = total + softplus(c @ word)
        count += 1
    return total / count


def negative_sampling_gradient(centre, context, negatives):
    d_centre, d_context, d_negatives = (torch.zeros_like(t) for t in (centre, context, negatives))
    count = math.prod(centre.shape[:-1])
    for place in [()] if centre.dim() == 1 else torch.cartesian_prod(*map(torch.arange, centre.shape[:-1])).tolist():
        place = tuple(place) if isinstance(place, list | tuple) else (place,)
        c, o = centre[place], context[place]
        wrong = 1 - torch.sigmoid(c @ o)
        d_centre[place] -= wrong * o / count
        d_context[place] -= wrong * c / count
        for i in range(negatives.shape[-2]):
            word = negatives[place][i]
            wrong = torch.sigmoid(c @ word)
            d_centre[place] += wrong * word / count
            d_negatives[(*place, i)] = wrong * c / count
    return d_centre, d_context, d_negatives


def analogy(vectors, a, b, c, n=1):
    unit = []
    for row in vectors.tolist():
        length = math.sqrt(sum(x * x for x in row))
        unit.append([x / length for x in row] if length > 0 else row)
    goal = [y - x + z for x, y, z in zip(unit[a], unit[b], unit[c], strict=True)]
    answers = []
    for word, row in enumerate(unit):
        if word != a and word != b and word != c:
            answers.append((-sum(x * y for x, y in zip(row, goal, strict=True)), word))
    return [word for _, word in sorted(answers)[:n]]


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    n, d = train_x.shape
    middle = sum(train_x) / n
    gram = ridge * torch.eye(d, dtype=train_x.dtype, device=train_x.device)
    for row in train_x:
        gram = gram + torch.outer(row - middle, row - middle)
    columns = []
    for label in range(n_classes):
        y = (train_y == label).to(train_x.dtype)
        share = y.mean()
        w = torch.linalg.inv(gram) @ sum((y[i] - share) * (train_x[i] - middle) for i in range(n))
        columns.append(torch.stack([(row - middle) @ w + share for row in test_x]))
    return torch.stack(columns, dim=1)


def attention_rollout(weights):
    n_layers, seq = weights.shape[0], weights.shape[-1]
    residual = torch.eye(seq, dtype=weights.dtype, device=weights.device)
    shares = residual
    for layer in range(n_layers):
        heads = weights[layer].unbind(-3)
        shares = (0.5 * sum(heads) / len(heads) + 0.5 * residual) @ shares
    return shares
