"""The exercise `next_token_loss`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from proctor import Exercise
from proctor.inside.inputs import booleans, distinct, integers, permutation, seeded, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.capstone import Model, next_token_loss

exercise = Exercise(
    next_token_loss,
    section="What it is asked",
    minutes=15,
    difficulty=2,
    why="One line of shifting decides whether a model learns a language or learns to copy.",
    hints=[
        "Write a text of four tokens down. Which three does the model read, and which three is it asked for?",
        "The logits for the token at t come from position t - 1. So which tokens of a row are never targets?",
        "A target counts if its position is below the length of its text. Padding may be any id: look at lengths, "
        "not at ids.",
        "All targets that count, of the whole batch, go into one mean. Choose them first, then average.",
    ],
)


class Reader(nn.Module):
    """A stand-in for a model: what it says depends on all that it has read. It keeps what it was asked."""

    def __init__(self, vocab: int, longest: int = 64) -> None:
        super().__init__()
        self.words = nn.Parameter(torch.zeros(vocab, vocab))
        self.places = nn.Parameter(torch.zeros(longest, vocab))
        self.asked: list[Tensor] = []

    def forward(self, ids: Tensor) -> Tensor:
        self.asked.append(ids.detach().clone())
        read = self.words[ids].cumsum(dim=1) / (1 + torch.arange(ids.shape[1], device=ids.device))[:, None].sqrt()
        return (3 * read.to(self.words.dtype) + self.places[: ids.shape[1]]) * 1.5


def reader(vocab: int) -> Reader:
    return seeded(Reader(vocab))


def padded(batch: int, seq: int, vocab: int, seed: str) -> Tensor:
    return integers(0, vocab, batch, seq, seed=f"{seed}: ids")


def three_texts_of_lengths() -> tuple[Tensor, Tensor]:
    return padded(3, 7, 5, "three"), torch.tensor(distinct(2, 7, 3, seed="three lengths"))


@exercise.probe
def three_lengths(next_token_loss: Any) -> Seen:
    """three texts of different lengths, vocabulary 5"""
    return {"loss": next_token_loss(reader(5), *three_texts_of_lengths())}


@exercise.probe
def whole_texts(next_token_loss: Any) -> Seen:
    """two texts without padding, and a single one of two tokens"""
    vocab, seq = distinct(6, 12, 2, seed="whole sizes")
    two = next_token_loss(reader(vocab), padded(2, seq, vocab, "whole"), torch.tensor([seq, seq]))
    one = next_token_loss(reader(vocab), padded(1, 2, vocab, "short"), torch.tensor([2]))
    return {"loss of two": two, "loss of one": one}


@exercise.probe
def empty_ones_among_them(next_token_loss: Any) -> Seen:
    """texts of length 0 and 1 among longer ones"""
    long, longer = distinct(2, 7, 2, seed="long")
    lengths = torch.tensor([0, long, 1, longer, 0])[permutation(5, seed="order")]
    return {"loss": next_token_loss(reader(4), padded(5, 6, 4, "empty"), lengths)}


@exercise.probe
def full_of_zeros(next_token_loss: Any) -> Seen:
    """texts in which the id 0 is a frequent word, and another id fills the ends"""
    lengths = torch.tensor(distinct(4, 9, 3, seed="zero lengths"))
    ids = padded(3, 9, 6, "zeros") * booleans(3, 9, seed="zeros", p=0.5)
    filler = whole(1, 6, seed="filler")
    ids = torch.where(torch.arange(9) < lengths[:, None], ids, filler)
    return {"loss": next_token_loss(reader(6), ids, lengths)}


@exercise.probe
def an_extreme_model(next_token_loss: Any) -> Seen:
    """a model whose logits are around 10,000 and -10,000"""
    model = reader(5)
    with torch.no_grad():
        model.places.add_(torch.tensor([1e4, -1e4])[torch.arange(64) % 2][:, None])
    loss = next_token_loss(model, *three_texts_of_lengths())
    # a sum of 10,000 and something has three digits left for it in float32: more can't be asked
    return {"loss": torch.as_tensor(loss).to(torch.float16)}


class Asked(nn.Module):
    """The loss of a stand-in as a module, so that its parameters have gradients, dtypes and a device."""

    def __init__(self, next_token_loss: Any, vocab: int = 5) -> None:
        super().__init__()
        self.model = reader(vocab)
        self.loss = next_token_loss

    def forward(self, ids: Tensor, lengths: Tensor) -> Any:
        return self.loss(self.model, ids, lengths)


usual(exercise, three_texts_of_lengths, Asked)


@exercise.property
def what_the_model_is_asked(next_token_loss: Any) -> Seen:
    """what the model is called with

    The model should be called once, with all tokens but the last of each row: ids (batch, seq - 1). More calls cost
    time, and what it is given beyond that it need not read.
    """
    model = reader(5)
    next_token_loss(model, *three_texts_of_lengths())
    return {"calls": len(model.asked), "ids": torch.cat([ids.flatten() for ids in model.asked])}


def read_and_said(model: Model, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, the tokens that they are asked for, and the positions of these."""
    return model(ids[:, :-1]), ids[:, 1:], torch.arange(1, ids.shape[1], device=ids.device)


def inside(position: Tensor, lengths: Tensor, said: Tensor) -> Tensor:
    return position < lengths[:, None]


def minus_log_p(logits: Tensor, said: Tensor) -> Tensor:
    return -logits.log_softmax(-1).gather(-1, said[..., None]).squeeze(-1)


def over_tokens(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    return surprise[real].mean()


@exercise.assembled
def loss_in_steps(
    model: Model,
    ids: Tensor,
    lengths: Tensor,
    *,
    align: Any = read_and_said,
    keep: Any = inside,
    surprise: Any = minus_log_p,
    average: Any = over_tokens,
) -> Tensor:
    logits, said, position = align(model, ids)
    return average(surprise(logits, said), keep(position, lengths, said), lengths)


@exercise.instead_of("align")
def not_shifted(model: Model, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You ask the model for the token that it has just read.

    It learns to copy, with a loss of nearly 0, and knows nothing. The logits at t - 1 are asked for the token at t.
    """
    return model(ids), ids, torch.arange(ids.shape[1], device=ids.device)


@exercise.instead_of("align")
def not_shifted_and_cut(model: Model, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You leave the last token out of the input and out of the targets, so that the model is asked for what it reads.

    Inputs lack the last token, targets lack the first.
    """
    return model(ids[:, :-1]), ids[:, :-1], torch.arange(ids.shape[1] - 1, device=ids.device)


@exercise.instead_of("align")
def asked_for_the_past(model: Model, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You shift the wrong way: the model reads a token and is asked for the one before it.

    Inputs lack the last token, targets lack the first.
    """
    return model(ids[:, 1:]), ids[:, :-1], torch.arange(1, ids.shape[1], device=ids.device)


@exercise.instead_of("align")
def shifted_twice(model: Model, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You shift twice: the model is asked for the token after the next one.

    Inputs lack the last token and targets the first; that is the whole shift. Cutting both once more skips a token.
    """
    return model(ids[:, :-1])[:, :-1], ids[:, 2:], torch.arange(2, ids.shape[1], device=ids.device)


@exercise.instead_of("align")
def the_whole_row_read(model: Model, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You let the model read the last token of each row too, and throw away what it says after it.

    The numbers are the same and the work is not. The model is called with ids (batch, seq - 1).
    """
    return model(ids)[:, :-1], ids[:, 1:], torch.arange(1, ids.shape[1], device=ids.device)


@exercise.instead_of("keep")
def padding_counted(position: Tensor, lengths: Tensor, said: Tensor) -> Tensor:
    """You count padding as if it had been said.

    Its tokens mean nothing, and a model that is good at padding would look good.
    """
    return torch.ones_like(said, dtype=torch.bool)


@exercise.instead_of("keep")
def longest_for_all(position: Tensor, lengths: Tensor, said: Tensor) -> Tensor:
    """You take one length for all texts, the longest.

    In every shorter text padding is counted then. Each row has a length of its own.
    """
    return (position < lengths.max()).expand_as(said)


@exercise.instead_of("keep")
def one_of_the_padding(position: Tensor, lengths: Tensor, said: Tensor) -> Tensor:
    """You count one token too many in each text, the first of its padding.

    Whether a position counts depends on the target, not on the input before it: the target at t counts if t is below
    the length.
    """
    return position <= lengths[:, None]


@exercise.instead_of("keep")
def last_token_left_out(position: Tensor, lengths: Tensor, said: Tensor) -> Tensor:
    """You leave the last token of each text out.

    A text of 3 tokens has two that are asked for, at positions 1 and 2.
    """
    counted = position < lengths[:, None] - 1
    return counted if bool(counted.any()) else position < lengths[:, None]


@exercise.instead_of("keep")
def zero_for_padding(position: Tensor, lengths: Tensor, said: Tensor) -> Tensor:
    """You take the id 0 for padding.

    Here 0 may be a word like any other, and padding may be any id. Only the lengths tell where a text ends.
    """
    return said != 0


@exercise.instead_of("surprise")
def exponentials_first(logits: Tensor, said: Tensor) -> Tensor:
    """You form the probabilities before you take their logarithm; for large logits nothing finite is left.

    exp(1000) is infinite. `log_softmax` and `cross_entropy` need no such number.
    """
    p = torch.exp(logits) / torch.exp(logits).sum(-1, keepdim=True)
    return -torch.log(p.gather(-1, said[..., None]).squeeze(-1))


@exercise.instead_of("surprise")
def softmax_before_the_loss(logits: Tensor, said: Tensor) -> Tensor:
    """You take a softmax and hand the result to a loss that takes one itself.

    Of probabilities the second softmax makes nearly equal numbers, and the model hardly learns. `cross_entropy` wants
    logits.
    """
    return minus_log_p(logits.softmax(-1), said)


@exercise.instead_of("surprise")
def in_bits(logits: Tensor, said: Tensor) -> Tensor:
    """You measure in bits (log2); nats (log) are asked for.

    The floor of this chapter is in nats, and bits are larger by 1/ln 2 = 1.44.
    """
    return minus_log_p(logits, said) / math.log(2)


@exercise.instead_of("surprise")
def smoothed_targets(logits: Tensor, said: Tensor) -> Tensor:
    """You smooth the targets: a tenth of the probability is asked for elsewhere.

    Then no model reaches the floor of the language. The plain -log p of the token is asked for.
    """
    return 0.9 * minus_log_p(logits, said) - 0.1 * logits.log_softmax(-1).mean(-1)


@exercise.instead_of("surprise")
def sign_forgotten(logits: Tensor, said: Tensor) -> Tensor:
    """Your loss is negative: the minus sign before the logarithm is missing.

    Training would make it smaller, and the text less likely.
    """
    return -minus_log_p(logits, said)


@exercise.instead_of("surprise")
def own_uncertainty(logits: Tensor, said: Tensor) -> Tensor:
    """You measure how undecided the model is, not how surprised it is by what was said.

    A model can be sure of itself and wrong. What counts is the probability of the token that really came.
    """
    log_p = logits.log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1)


@exercise.instead_of("average")
def text_by_text(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You average over each text first, and then over the texts.

    Then the tokens of short texts count for more. All tokens count alike.
    """
    counts = real.sum(1)
    return (surprise.masked_fill(~real, 0).sum(1)[counts > 0] / counts[counts > 0]).mean()


@exercise.instead_of("average")
def over_all_places(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You divide by all places, padding included.

    Padding is left out of the sum, so it must be left out of the count as well.
    """
    return surprise.masked_fill(~real, 0).sum() / real.numel()


@exercise.instead_of("average")
def over_lengths(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You divide by the number of tokens, not by the number of those that are asked for.

    The first token of a text has nothing before it: n tokens have n - 1 surprises.
    """
    return surprise.masked_fill(~real, 0).sum() / lengths.sum()


@exercise.instead_of("average")
def over_the_batch(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You divide the sum by the number of texts.

    Then a long text looks worse than a short one. Divide by the number of tokens that are asked for.
    """
    return surprise.masked_fill(~real, 0).sum() / len(real)


@exercise.instead_of("average")
def added_up(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You add the surprises up and do not divide.

    The loss and its gradient would grow with the batch, and a rate that suits one batch would not suit the next.
    """
    return surprise[real].sum()


@exercise.instead_of("average")
def as_a_perplexity(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You return the perplexity, the exponential of the mean.

    It is for people to read. The loss is the mean itself.
    """
    return surprise[real].mean().exp()
