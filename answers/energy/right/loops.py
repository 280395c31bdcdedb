"""Row by row, entry by entry."""

import math

import torch


def rows(x):
    return x.reshape(-1, x.shape[-1])


def free_energy(energies, beta=1.0):
    found = []
    for row in rows(energies):
        possible = row[torch.isfinite(row)]
        low = possible.min()
        total = sum(torch.exp(-beta * (e - low)) for e in possible)
        found.append(low - torch.log(total) / beta)
    return torch.stack(found).reshape(energies.shape[:-1])


def variational_objective(p, scores, beta=1.0):
    found = []
    for weights, row in zip(rows(p), rows(scores), strict=True):
        total = torch.zeros_like(weights[0])
        for w, s in zip(weights, row, strict=True):
            if w > 0:
                total = total + w * s - w * torch.log(w) / beta
            else:
                total = total + w * torch.nan_to_num(s, neginf=0.0)
        found.append(total)
    return torch.stack(found).reshape(p.shape[:-1])


def kernel_regression(x, points, values, bandwidth):
    lead = x.shape[:-2]
    found = []
    for xs, ps, vs in zip(*(t.reshape(-1, *t.shape[-2:]) for t in (x, points, values)), strict=True):
        for query in xs:
            exponents = torch.stack([-(query - point).square().sum() / (2 * bandwidth**2) for point in ps])
            found.append(exponents.softmax(0) @ vs)
    return torch.stack(found).reshape(*lead, x.shape[-2], values.shape[-1])


def hopfield_energy(state, patterns, beta):
    found = []
    for one in rows(state):
        matches = torch.stack([pattern @ one for pattern in patterns])
        log_sum = torch.logsumexp(beta * matches, dim=0) / beta
        longest = max(pattern @ pattern for pattern in patterns)
        found.append(-log_sum + one @ one / 2 + math.log(len(patterns)) / beta + longest / 2)
    return torch.stack(found).reshape(state.shape[:-1])


def hopfield_retrieve(state, patterns, beta, steps=1):
    found = []
    for one in rows(state):
        for _ in range(steps):
            weights = torch.softmax(beta * (patterns @ one), dim=0)
            one = sum(w * pattern for w, pattern in zip(weights, patterns, strict=True))
        found.append(one)
    return torch.stack(found).reshape(state.shape)


def cosine(a, b):
    return a @ b / (a.norm() * b.norm())


def info_nce(query, positive, negatives, temperature):
    d, n = query.shape[-1], negatives.shape[-2]
    queries, positives = query.reshape(-1, d), positive.reshape(-1, d)
    others = negatives.reshape(len(queries), n, d)
    losses = []
    for q, p, ns in zip(queries, positives, others, strict=True):
        scores = torch.stack([cosine(q, key) / temperature for key in (p, *ns)])
        losses.append(torch.logsumexp(scores, 0) - scores[0])
    return sum(losses) / len(losses)


def info_nce_gradient(scores, positive, temperature):
    flat, right = rows(scores), positive.reshape(-1).tolist()
    found = []
    for row, target in zip(flat, right, strict=True):
        share = torch.softmax(row / temperature, 0)
        found.append(torch.stack([s - float(i == target) for i, s in enumerate(share)]) / temperature / len(right))
    return torch.stack(found).reshape(scores.shape)


def clip_loss(images, texts, log_scale):
    scale = math.exp(log_scale) if isinstance(log_scale, float) else torch.exp(log_scale)
    n = len(images)
    loss = 0
    for i in range(n):
        row = torch.stack([scale * cosine(images[i], texts[j]) for j in range(n)])
        column = torch.stack([scale * cosine(images[j], texts[i]) for j in range(n)])
        loss = loss + row.logsumexp(0) - row[i] + column.logsumexp(0) - column[i]
    return (loss / (2 * n)).to(images.dtype)
