"""The exercise `perplexity`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, normal, permutation, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.models import (
    perplexity,
)

exercise = Exercise(
    perplexity,
    section="How surprised is it?",
    minutes=10,
    difficulty=2,
    why="It is the number by which language models are compared, and a wrong average still looks fine.",
    hints=[
        "The logits at position t - 1 were made before the token at t was seen. Which logits go with which ids?",
        "Which positions are predicted *and* real? Keep those, and the padding has no say whatever stands there.",
        "Surprise is -log p, and torch computes it from logits without ever forming p. Average first; what comes last?",
    ],
)


def predictions(batch: int, seq: int, vocab: int, seed: str) -> tuple[Tensor, Tensor]:
    logits = normal(batch, seq, vocab, seed=f"{seed}: logits", std=1.5)
    return logits, integers(0, vocab, batch, seq, seed=f"{seed}: ids")


def three_predictions() -> tuple[Tensor, Tensor, Tensor]:
    return *predictions(3, 7, 5, "three"), torch.tensor(distinct(2, 7, 3, seed="three lengths"))


@exercise.probe
def three_lengths(perplexity: Any) -> Seen:
    """three sequences of different lengths, vocabulary 5"""
    return {"perplexity": perplexity(*three_predictions())}


@exercise.probe
def whole_sequences(perplexity: Any) -> Seen:
    """two sequences without padding, and a single one of two tokens"""
    vocab, seq = distinct(6, 12, 2, seed="sizes")
    two = perplexity(*predictions(2, seq, vocab, "whole"), torch.tensor([seq, seq]))
    return {"of two": two, "of one": perplexity(*predictions(1, 2, vocab, "short"), torch.tensor([2]))}


@exercise.probe
def empty_ones_among_them(perplexity: Any) -> Seen:
    """sequences of length 0 and 1 among longer ones"""
    long, longer = distinct(2, 7, 2, seed="long")
    lengths = torch.tensor([0, long, 1, longer, 0])[permutation(5, seed="order")]
    return {"perplexity": perplexity(*predictions(5, 6, 4, "empty"), lengths)}


@exercise.probe
def a_long_text(perplexity: Any) -> Seen:
    """a text of three hundred tokens, vocabulary 60"""
    return {"perplexity": perplexity(*predictions(1, 300, 60, "long"), torch.tensor([whole(280, 301, seed="long")]))}


def wild_in_the_padding(logits: Tensor, lengths: Tensor, seed: str) -> Tensor:
    """Logits in which padding positions hold ±10,000."""
    padding = torch.arange(logits.shape[1]) >= lengths[:, None]
    return torch.where(padding[..., None], 1e4 * normal(*logits.shape, seed=seed).sign(), logits)


@exercise.probe
def thousands(perplexity: Any) -> Seen:
    """logits around 10,000 and -10,000, in the padding too"""
    logits, ids = predictions(3, 6, 5, "huge")
    lengths = torch.tensor(distinct(2, 6, 3, seed="huge lengths"))
    logits = logits + torch.tensor([1e4, -1e4, 0.0])[:, None, None]
    result = perplexity(wild_in_the_padding(logits, lengths, "wild"), ids, lengths)
    # a sum of 10,000 and something has three digits left for it in float32: more can't be asked
    return {"perplexity": torch.as_tensor(result).to(torch.float16)}


def mild_predictions() -> tuple[Tensor, Tensor, Tensor]:
    """Predictions whose perplexity is small: an exponential of much has few digits left in float16."""
    logits, ids, lengths = three_predictions()
    return 0.4 * logits, ids, lengths


usual(exercise, mild_predictions)


@exercise.property
def gradients_beside_wild_padding(perplexity: Any) -> Seen:
    """the gradient, with logits of ±10,000 in the padding

    Beside wild logits in the padding your gradient is not right. What is multiplied by 0 still has a gradient, and 0
    times infinity is NaN: leave the padding out before you compute.
    """
    logits, ids = predictions(2, 6, 4, "graph")
    lengths = torch.tensor(distinct(2, 6, 2, seed="graph lengths"))
    logits = wild_in_the_padding(logits, lengths, "wild graph").requires_grad_()
    result = perplexity(logits, ids, lengths)
    if not isinstance(result, Tensor) or not result.requires_grad:
        return {"the gradient is finite": True, "gradient": torch.zeros_like(logits)}
    (gradient,) = torch.autograd.grad(result.sum(), logits)
    return {"the gradient is finite": bool(gradient.isfinite().all()), "gradient": gradient.nan_to_num(0.0, 0.0, 0.0)}


def before_its_token(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Predictions, what was said, and the position of what was said."""
    return logits[:, :-1], ids[:, 1:], torch.arange(1, ids.shape[1], device=ids.device)


def inside(position: Tensor, lengths: Tensor) -> Tensor:
    return position < lengths[:, None]


def minus_log_p(logits: Tensor, said: Tensor) -> Tensor:
    return -logits.log_softmax(-1).gather(-1, said[..., None]).squeeze(-1)


def over_tokens(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    return surprise[real].mean()


@exercise.assembled
def perplexity_in_steps(
    logits: Tensor,
    ids: Tensor,
    lengths: Tensor,
    *,
    align: Any = before_its_token,
    keep: Any = inside,
    surprise: Any = minus_log_p,
    average: Any = over_tokens,
    power: Any = torch.exp,
) -> Tensor:
    predicted, said, position = align(logits, ids)
    return power(average(surprise(predicted, said), keep(position, lengths), lengths))


@exercise.instead_of("align")
def not_shifted_at_all(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You compare the logits at a position with the token at the same position.

    The model has read that token when it makes these logits. They predict the next one.
    """
    return logits, ids, torch.arange(ids.shape[1], device=ids.device)


@exercise.instead_of("align")
def shifted_backwards(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You shift the wrong way: your logits are compared with the token before them.

    The logits at t - 1 predict the token at t.
    """
    return logits[:, 1:], ids[:, :-1], torch.arange(1, ids.shape[1], device=ids.device)


@exercise.instead_of("keep")
def padding_counted(position: Tensor, lengths: Tensor) -> Tensor:
    """You count padding as if it had been said.

    Its tokens mean nothing, and a model that is good at padding would look good.
    """
    return torch.ones(len(lengths), len(position), dtype=torch.bool, device=lengths.device)


@exercise.instead_of("keep")
def one_of_the_padding(position: Tensor, lengths: Tensor) -> Tensor:
    """You count one token too many in each sequence, the first of its padding.

    Positions count from 0: the last of 3 tokens is at position 2.
    """
    return position <= lengths[:, None]


@exercise.instead_of("keep")
def last_token_left_out(position: Tensor, lengths: Tensor) -> Tensor:
    """You leave the last token of each sequence out.

    A sequence of 3 tokens has two that are predicted, at positions 1 and 2.
    """
    return position < lengths[:, None] - 1


@exercise.instead_of("surprise")
def exponentials_first(logits: Tensor, said: Tensor) -> Tensor:
    """You form the probabilities before you take their logarithm; for large logits nothing finite is left.

    exp(1000) is infinite. The difference of logits, or `log_softmax`, needs no such number.
    """
    p = torch.exp(logits) / torch.exp(logits).sum(-1, keepdim=True)
    return -torch.log(p.gather(-1, said[..., None]).squeeze(-1))


@exercise.instead_of("surprise")
def own_uncertainty(logits: Tensor, said: Tensor) -> Tensor:
    """You measure how undecided the model is, not how surprised it is by what was said.

    A model can be sure of itself and wrong. What counts is the probability of the token that really came.
    """
    log_p = logits.log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1)


@exercise.instead_of("average")
def over_sequences(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You average over each sequence first, and then over the sequences.

    Then the tokens of short sequences count for more. All tokens count alike.
    """
    counts = real.sum(1)
    means = surprise.masked_fill(~real, 0).sum(1)[counts > 0] / counts[counts > 0]
    return means.mean()


@exercise.instead_of("average")
def over_all_places(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You divide by all places, padding included.

    Padding is left out of the sum, so it must be left out of the count as well.
    """
    return surprise.masked_fill(~real, 0).sum() / real.numel()


@exercise.instead_of("average")
def over_lengths(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You divide by the number of tokens, not by the number of predicted ones.

    The first token of a sequence is not predicted: n tokens have n - 1 surprises.
    """
    return surprise.masked_fill(~real, 0).sum() / lengths.sum()


@exercise.instead_of("average")
def over_the_batch(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You divide the sum by the number of sequences.

    Then a long text looks worse than a short one. Divide by the number of predicted tokens.
    """
    return surprise.masked_fill(~real, 0).sum() / len(real)


@exercise.instead_of("power")
def left_in_nats(mean: Tensor) -> Tensor:
    """You return the mean surprise; the exponential is missing.

    In nats it is hard to imagine. Its exponential is a number of tokens: among so many the model is undecided.
    """
    return mean


@exercise.instead_of("power")
def two_to_the_nats(mean: Tensor) -> Tensor:
    """You raise 2 to the mean, but your logarithm is the natural one.

    2 belongs to bits (log2), e to nats (log). Either pair gives the perplexity, a mixture does not.
    """
    return 2**mean


@exercise.instead_of("power")
def sign_forgotten(mean: Tensor) -> Tensor:
    """Your perplexity is below 1: the minus sign before the logarithm is missing.

    A logarithm of a probability is negative. A perplexity is 1 at best.
    """
    return torch.exp(-mean)


@exercise.misconception
def mean_of_perplexities(logits: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
    """You take the exponential of every token's surprise and average then.

    One very unlikely token would decide everything. First the mean, then the exponential.
    """
    return perplexity_in_steps(
        logits, ids, lengths, average=lambda surprise, real, _: surprise[real].exp().mean(), power=lambda mean: mean
    )


@exercise.misconception
def mean_of_the_sequences_perplexities(logits: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
    """You compute the perplexity of each sequence, and average these.

    A short sequence that surprises much then decides most. First the mean over all tokens, then the exponential.
    """

    def average(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
        counts = real.sum(1)
        means = surprise.masked_fill(~real, 0).sum(1)[counts > 0] / counts[counts > 0]
        return means.exp().mean()

    return perplexity_in_steps(logits, ids, lengths, average=average, power=lambda mean: mean)


@exercise.instead_of("average")
def weighted_by_lengths(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You average over each sequence, and weigh these means by the lengths of the sequences.

    The first token of a sequence is not predicted: a sequence counts as often as tokens were predicted in it, one less
    than its length.
    """
    counts = real.sum(1)
    spoken = counts > 0
    means = surprise.masked_fill(~real, 0).sum(1)[spoken] / counts[spoken]
    return (means * lengths[spoken]).sum() / lengths[spoken].sum()


@exercise.misconception
def product_of_probabilities(logits: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
    """You multiply the probabilities of all tokens and take the root; in a long text the product is 0.

    A few dozen factors below 1 leave nothing in float32. Add logarithms instead.
    """
    return perplexity_in_steps(
        logits,
        ids,
        lengths,
        average=lambda surprise, real, _: torch.exp(-surprise[real]).prod() ** (-1 / int(real.sum())),
        power=lambda mean: mean,
    )
