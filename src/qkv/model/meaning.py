"""Meaning: one vector for a word, learned from its neighbours, and ways to ask what vectors and weights tell.

Mikolov et al. 2013 (skip-gram, negative sampling, analogies); Alain and Bengio 2017 (linear probes); Abnar and Zuidema
2020 (attention rollout). Shapes: see model/__init__.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.expect import expects, is_integer
from qkv.model.positions import also


def nothing_to_draw(counts: Tensor, shape: Sequence[int], generator: torch.Generator, power: float) -> str:
    if counts.min() < 0:
        return f"counts has {int(counts.min())}, expected numbers of 0 or more."
    if counts.max() == 0:
        return "every count is 0, expected at least one above 0: nothing could be drawn."
    if not isinstance(shape, tuple | list) or not shape or not all(is_integer(size) and size >= 1 for size in shape):
        return f"shape is {shape!r}, expected a tuple of positive integers, such as (batch, n)."
    if shape[-1] < 2:
        return f"shape is {tuple(shape)}, expected a last size of 2 or more."
    return ""


def not_in_the_vocabulary(vectors: Tensor, a: int, b: int, c: int, n: int) -> str:
    for name, word in {"a": a, "b": b, "c": c}.items():
        if not is_integer(word) or not 0 <= word < len(vectors):
            return f"{name} is {word!r}, expected an id from 0 to {len(vectors) - 1}: vectors has a row for each."
    return ""


def not_a_class(train_x: Tensor, train_y: Tensor, test_x: Tensor, n_classes: int, ridge: float) -> str:
    for found in (int(train_y.min()), int(train_y.max())):
        if not 0 <= found < n_classes:
            return f"train_y has {found}, expected classes from 0 to {n_classes - 1}, as n_classes says."
    return ""


def no_layers(weights: Tensor) -> str:
    shape, wanted = tuple(weights.shape), "(layer, ..., head, seq, seq)"
    if len(shape) < 4:
        return f"weights has shape {shape}, expected at least 4 dimensions: {wanted}. Use torch.stack on your layers."
    return "" if shape[0] else f"weights has shape {shape}, so layer is 0. Expected {wanted} with at least one layer."


@expects(ids="int: seq*", window="size")
def skip_gram_pairs(ids: Tensor, window: int) -> Tensor:
    """List every word with each of its neighbours: what skip-gram learns from.

    Args:
        ids: a text (seq,), int64.
        window: how far apart neighbours may be; 0 leaves no neighbours.

    Returns:
        pairs (pair, 2), int64: the id of the centre and the id of its context.
        Centres stand in the order of the text, and so do the contexts of each.
        A pair that occurs again is listed again, and a word may be paired with
        another occurrence of itself. No pair gives (0, 2).
    """
    seq = len(ids)
    window = min(window, seq)  # nothing is farther away
    steps = torch.arange(-window, window + 1, device=ids.device)
    steps = steps[steps != 0]  # a position is no neighbour of its own
    contexts = torch.arange(seq, device=ids.device)[:, None] + steps  # (seq, 2·window), positions
    inside = (contexts >= 0) & (contexts < seq)
    centres = ids[:, None].expand(contexts.shape)
    return torch.stack([centres[inside], ids[contexts[inside]]], dim=1)


@expects(counts="int: vocab", power="above 0")
@also.expects(nothing_to_draw)
def negative_samples(
    counts: Tensor,
    shape: Sequence[int],
    generator: torch.Generator,
    power: float = 0.75,
) -> Tensor:
    """Draw words at random, frequent ones more often, but less so than in the text.

    All are drawn by one torch.multinomial with replacement, from probabilities
    in float32.

    Args:
        counts: how often each word occurs (vocab,), int64, not all of them 0.
        shape: the shape of the result, such as (batch, n); the last size is 2
            or more.
        generator: where the random numbers come from.
        power: the probability of a word is proportional to count**power; above 0.

    Returns:
        ids of the given shape, int64. A word that never occurs is never drawn.
    """
    p = (counts.float() / counts.max()) ** power  # at most 1: no power overflows
    p = p / p.sum()
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(tuple(shape))


@expects(centre="... d", context="... d", negatives="... n* d")
def negative_sampling_loss(centre: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """Ask of each word whether it is a neighbour, and say how wrong the answers are.

    The answer "yes" has the probability σ(centre·word). It is right for the
    context, and wrong for the negatives.

    Args:
        centre: vectors (..., d).
        context: a true neighbour of each (..., d).
        negatives: words drawn at random for each (..., n, d); n may be 0.

    Returns:
        loss, a scalar: the mean over all centres of -log σ(centre·context) minus
        the sum over the n negatives of log σ(-centre·negative). Finite for dot
        products of ±1e4.
    """
    near = (centre * context).sum(dim=-1)  # (...)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)  # (..., n)
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(dim=-1)).mean()


@expects(centre="... d", context="... d", negatives="... n* d")
def negative_sampling_gradient(
    centre: Tensor,
    context: Tensor,
    negatives: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Say by hand how the vectors of negative_sampling_loss should change.

    Args:
        centre: vectors (..., d).
        context: a true neighbour of each (..., d).
        negatives: words drawn at random for each (..., n, d); n may be 0.

    Returns:
        gradients of the loss in centre (..., d), in context (..., d) and in
        negatives (..., n, d). Finite for dot products of ±1e4.

    To be written without forward-mode autograd.
    """
    near = (centre * context).sum(dim=-1, keepdim=True)  # (..., 1)
    far = negatives @ centre.unsqueeze(-1)  # (..., n, 1)
    d_near = -torch.sigmoid(-near) / near.numel()  # of the mean over all centres
    d_far = torch.sigmoid(far) / near.numel()
    d_centre = d_near * context + (d_far * negatives).sum(dim=-2)
    return d_centre, d_near * centre, d_far * centre.unsqueeze(-2)


@expects(vectors="vocab d", n="size")
@also.expects(not_in_the_vocabulary)
def analogy(
    vectors: Tensor,
    a: int,
    b: int,
    c: int,
    n: int = 1,
) -> list[int]:
    """Complete "a is to b as c is to …" by a step in the space of words.

    Every vector is scaled to length 1 first; one of zeros stays. The step from a
    to b, made from c, is b - a + c. The best answer has the largest dot product
    with where it leads.

    Args:
        vectors: one for each word (vocab, d).
        a: an id.
        b: an id.
        c: an id.
        n: how many answers.

    Returns:
        the n best ids, best first, of equally good ones the smaller first. a, b
        and c are never among them. If fewer than n are left, all of these.
    """
    vectors = vectors.double().contiguous()  # in half precision, many scores would be equal
    lengths = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    unit = vectors / lengths.masked_fill(lengths == 0, 1.0)
    scores = (unit * (unit[b] - unit[a] + unit[c])).sum(dim=-1)  # unlike @, it rounds equal rows equally: a true tie
    best_first = scores.argsort(descending=True, stable=True)
    return [word for word in best_first.tolist() if word not in (a, b, c)][:n]


@expects(train_x="train d", train_y="int: train", test_x="test d", n_classes="positive", ridge="above 0")
@also.expects(not_a_class)
def linear_probe(
    train_x: Tensor,
    train_y: Tensor,
    test_x: Tensor,
    n_classes: int,
    ridge: float = 1.0,
) -> Tensor:
    """Ask what can be read from vectors by a linear map, and by nothing cleverer.

    The map x @ w + b is fitted to the classes: w and b minimise the sum over the
    examples of ‖x @ w + b - one-hot of the class‖², plus ridge·‖w‖². The
    intercept b is not penalised.

    Args:
        train_x: vectors whose class is known (train, d).
        train_y: their classes (train,), int64; a class need not occur.
        test_x: vectors to be read (test, d).
        n_classes: number of classes.
        ridge: how much a large w costs, above 0.

    Returns:
        scores (test, n_classes), the map applied to test_x. The largest score of
        a row says which class is read there.
    """
    x = train_x.double()  # a small ridge is lost in the rounding of float32
    y = F.one_hot(train_y, n_classes).double()  # (train, n_classes)
    mean_x, mean_y = x.mean(dim=0), y.mean(dim=0)
    x = x - mean_x  # whatever w is, the best b leads from mean to mean
    penalty = ridge * torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    w = torch.linalg.solve(x.T @ x + penalty, x.T @ (y - mean_y))  # (d, n_classes)
    return ((test_x.double() - mean_x) @ w + mean_y).to(test_x.dtype)


@expects(weights="... head seq seq")
@also.expects(no_layers)
def attention_rollout(weights: Tensor) -> Tensor:
    """Follow attention through all layers, down to the words that were read.

    A layer is taken as half attention, the mean of its heads, and half the
    residual connection, which passes every position on as it is.

    Args:
        weights: of every head of every layer (layer, ..., head, seq, seq), the
            first layer first. Each row sums to 1.

    Returns:
        shares (..., seq, seq): entry (i, j) is how much of position i, after the
        last layer, comes from position j of the input. Each row sums to 1.
    """
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    rollout, *later = (weights.mean(dim=-3) + identity) / 2  # (layer, ..., seq, seq), one by one
    for layer in later:
        rollout = layer @ rollout
    return rollout
