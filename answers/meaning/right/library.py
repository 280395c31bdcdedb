"""As much as possible is left to the library."""

import math

import torch
import torch.nn.functional as F
from torch import linalg


def skip_gram_pairs(ids, window):
    places = torch.arange(len(ids), device=ids.device)
    distance = torch.cdist(places[:, None].double(), places[:, None].double(), p=1)
    centre, context = torch.nonzero((distance > 0) & (distance <= window), as_tuple=True)
    return torch.stack((ids[centre], ids[context]), -1)


def negative_samples(counts, shape, generator, power=0.75):
    p = F.normalize(counts.float().pow(power), p=1, dim=0)
    return torch.multinomial(p, torch.Size(shape).numel(), replacement=True, generator=generator).view(*shape)


def negative_sampling_loss(centre, context, negatives):
    words = torch.cat([context.unsqueeze(-2), negatives], dim=-2)
    logits = torch.einsum("...d,...nd->...n", centre, words)
    answers = torch.zeros_like(logits)
    answers[..., 0] = 1
    total = F.binary_cross_entropy_with_logits(logits, answers, reduction="sum")
    return total / math.prod(logits.shape[:-1])


def negative_sampling_gradient(centre, context, negatives):
    words = torch.cat([context.unsqueeze(-2), negatives], dim=-2)
    logits = torch.einsum("...d,...nd->...n", centre, words)
    answers = F.pad(torch.ones_like(logits[..., :1]), (0, negatives.shape[-2]))
    error = (logits.sigmoid() - answers) / math.prod(centre.shape[:-1])
    d_words = torch.einsum("...n,...d->...nd", error, centre)
    return torch.einsum("...n,...nd->...d", error, words), d_words[..., 0, :], d_words[..., 1:, :]


def analogy(vectors, a, b, c, n=1):
    unit = F.normalize(vectors.float(), dim=-1)
    scores = F.linear(unit, (unit[b] - unit[a] + unit[c])[None]).squeeze(-1)
    order = torch.sort(scores, descending=True, stable=True).indices
    question = torch.tensor([a, b, c], device=order.device)
    return order[torch.isin(order, question, invert=True)][:n].tolist()


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    n, d = train_x.shape
    x = torch.cat([train_x.double(), train_x.new_ones(n, 1).double()], 1)
    penalty = torch.diag(torch.cat([torch.full((d,), float(ridge)), torch.zeros(1)])).to(x)
    y = F.one_hot(train_y, n_classes).to(x)
    w = linalg.solve(x.mT @ x + penalty, x.mT @ y)
    return F.linear(test_x.double(), w[:-1].mT, w[-1]).to(test_x)


def attention_rollout(weights):
    layers = weights.mean(-3) + torch.eye(weights.size(-1)).to(weights)
    layers = F.normalize(layers, p=1, dim=-1)
    return linalg.multi_dot([*layers.flip(0)]) if layers.dim() == 3 and len(layers) > 1 else _product(layers)


def _product(layers):
    found = layers[0]
    for layer in layers[1:]:
        found = torch.matmul(layer, found)
    return found
