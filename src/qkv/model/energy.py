"""Energy: the softmax as what minimises an energy, attention as a memory, and contrast as its training.

Ramsauer et al. 2021 (modern Hopfield networks); Nadaraya 1964, Watson 1964 (kernel regression); van den Oord et al.
2018 (InfoNCE); Radford et al. 2021 (CLIP). Shapes: see model/__init__.py.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.expect import expects
from qkv.model.lookup import softmax
from qkv.model.scaling import attention_entropy


@expects(energies="... n", beta="above 0")
def free_energy(energies: Tensor, beta: float = 1.0) -> Tensor:
    """Sum up the energies of many states in one: -(1/beta)·log Σ exp(-beta·E).

    It lies below the smallest energy, and its gradient is the probability of
    each state.

    Args:
        energies: any numbers (..., n), as large as ±1e4. Beside finite ones, +inf
            is a state that cannot be: its gradient is 0.
        beta: how sharply low energies are preferred, above 0.

    Returns:
        free energy (...), one number for each row.

    To be written without torch's own softmax or torch's own log-sum-exp.
    """
    lowest = energies.amin(dim=-1, keepdim=True)
    powers = torch.exp(-beta * (energies - lowest))  # the largest is exp(0) = 1
    return lowest.squeeze(-1) - powers.sum(dim=-1).log() / beta


@expects(p="... n", scores="... n", beta="above 0")
def variational_objective(p: Tensor, scores: Tensor, beta: float = 1.0) -> Tensor:
    """Score a distribution: the mean score that it collects, plus its entropy / beta.

    Args:
        p: weights (..., n), used as given. Where p is 0, 0·log 0 is 0, and 0 times
            a score is 0, also if the score is -inf.
        scores: any numbers (..., n), or -inf.
        beta: how little the entropy counts, above 0.

    Returns:
        objective (...) in nats, one number for each row.
    """
    collected = p * scores.masked_fill(p == 0, 0.0)  # 0·(-inf) would be NaN
    return collected.sum(dim=-1) + attention_entropy(p) / beta


@expects(x="... query d", points="... key d", values="... key d_v", bandwidth="above 0")
def kernel_regression(x: Tensor, points: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    """Estimate a function anywhere from its values at some points.

    Near points count more: the weight of a point falls as
    exp(-distance² / (2·bandwidth²)).

    Args:
        x: where to estimate (..., query, d).
        points: where the function is known (..., key, d).
        values: its values there (..., key, d_v).
        bandwidth: how far a point is heard, above 0.

    Returns:
        estimates (..., query, d_v), weights summing to 1. Far from all points it
        is the value of the nearest.
    """
    steps = x.unsqueeze(-2) - points.unsqueeze(-3)  # (..., query, key, d)
    distances = steps.square().sum(dim=-1)  # squared, (..., query, key)
    return softmax(-distances / (2 * bandwidth**2), dim=-1) @ values


@expects(state="... d", patterns="n d", beta="above 0")
def hopfield_energy(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """Measure how far a state is from what a memory knows.

    Of a state ξ and patterns x_1 … x_n, of which the longest has length M, it is
    -(1/beta)·log Σ exp(beta·x_i·ξ) + ½ ξ·ξ + (1/beta)·log n + ½ M², and never
    below 0.

    Args:
        state: one or many states (..., d).
        patterns: what is remembered (n, d).
        beta: how sharply patterns are told apart, above 0.

    Returns:
        energy (...), one number for each state.
    """
    matching = free_energy(-(state @ patterns.T), beta)
    longest = patterns.square().sum(dim=-1).amax()  # M²
    return matching + state.square().sum(dim=-1) / 2 + math.log(len(patterns)) / beta + longest / 2


@expects(state="... d", patterns="n d", beta="above 0", steps="size")
def hopfield_retrieve(
    state: Tensor,
    patterns: Tensor,
    beta: float,
    steps: int = 1,
) -> Tensor:
    """Let a memory complete a state: replace it by the patterns that match it.

    Each step is an attention: the state asks, the patterns are keys and values,
    and beta stands in the place of 1/√d_k.

    Args:
        state: one or many states (..., d).
        patterns: what is remembered (n, d).
        beta: how sharply patterns are told apart, above 0.
        steps: how often; 0 gives the state back.

    Returns:
        state (..., d) after the last step.
    """
    for _ in range(steps):
        weights = softmax(beta * (state @ patterns.T), dim=-1)  # (..., n)
        state = weights @ patterns
    return state


@expects(query="... d", positive="... d", negatives="... n* d", temperature="above 0")
def info_nce(
    query: Tensor,
    positive: Tensor,
    negatives: Tensor,
    temperature: float,
) -> Tensor:
    """Ask which of 1 + n keys belongs to the query, and say how wrong the answer is.

    Args:
        query: vectors (..., d).
        positive: the key that belongs to each (..., d).
        negatives: keys that do not (..., n, d); n may be 0.
        temperature: cosines are divided by it, above 0.

    Returns:
        loss, a scalar: the mean over all queries of -log of the share that the
        softmax over all 1 + n keys gives to the positive one.
    """
    keys = torch.cat([positive.unsqueeze(-2), negatives], dim=-2)  # (..., 1 + n, d), the right one first
    cosines = F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1)
    shares = torch.log_softmax(cosines / temperature, dim=-1)  # logarithms, (..., 1 + n)
    return -shares[..., 0].mean()


@expects(scores="... n", positive="int: ...", temperature="above 0")
def info_nce_gradient(scores: Tensor, positive: Tensor, temperature: float) -> Tensor:
    """Say by hand how the scores should change: away from all, towards the right one.

    Args:
        scores: what the softmax is taken of (..., n), before the division by the
            temperature.
        positive: which of the n is the right one (...), int64.
        temperature: above 0.

    Returns:
        gradient (..., n) of the mean over all rows of
        -log softmax(scores / temperature)[positive].
    """
    wanted = F.one_hot(positive, scores.shape[-1])
    return (softmax(scores / temperature, dim=-1) - wanted) / (temperature * positive.numel())


@expects(images="batch d", texts="batch d")
def clip_loss(images: Tensor, texts: Tensor, log_scale: float | Tensor) -> Tensor:
    """Ask every image for its text and every text for its image.

    Args:
        images: one vector for each image (batch, d).
        texts: one vector for each text (batch, d); row i belongs to image i.
        log_scale: logarithm of what the cosines are multiplied by, a number or a
            tensor ().

    Returns:
        loss, a scalar: the mean of two mean cross-entropies, over the texts for
        each image and over the images for each text.
    """
    scale = log_scale.exp() if isinstance(log_scale, Tensor) else math.exp(log_scale)
    logits = scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T  # (image, text)
    found_texts = torch.log_softmax(logits, dim=1).diagonal()
    found_images = torch.log_softmax(logits, dim=0).diagonal()
    return -(found_texts.mean() + found_images.mean()) / 2
