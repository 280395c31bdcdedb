"""The exercise `sequence_log_probability`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, permutation
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.aligned import answer_loss as imitating
from qkv.exercises.aligned.shared import (
    gradient_in_the_logits,
    some_answers,
    some_conversations,
    texts,
    thousands_inside,
    wild_outside,
    with_answers,
)
from qkv.model.aligned import (
    sequence_log_probability,
)

exercise = Exercise(
    sequence_log_probability,
    section="How likely is an answer?",
    minutes=8,
    difficulty=2,
    why="Preferences compare whole answers, and this is the number by which they are compared.",
    hints=[
        "Which logits predict which word is as it was in `answer_loss`. What becomes of a text's words is new.",
        "The probability of an answer is a product. What does a product become under a logarithm?",
        "A row without an answer is a sum of nothing. Which operation turns what is outside into exactly 0, also where "
        "it is huge?",
    ],
    equivalents={
        "return of_said.masked_fill(~answer[:, 1:], 0.0).sum(dim=-1)  ->  "
        "return of_said.masked_fill(~answer[:, 1:], 0.0).sum(dim=1)": "it has two dimensions"
    },
)


@exercise.probe
def answers_of_several_lengths(sequence_log_probability: Any) -> Seen:
    """requests with answers of different lengths, all sizes different"""
    return {"sums": sequence_log_probability(*some_answers())}


@exercise.probe
def a_conversation(sequence_log_probability: Any) -> Seen:
    """texts with several answers in each; the first word is marked as well"""
    return {"sums": sequence_log_probability(*some_conversations())}


@exercise.probe
def texts_without_an_answer(sequence_log_probability: Any) -> Seen:
    """texts without an answer among others, one of them with its first word marked"""
    logits, ids, answer = with_answers(5, 9, 4, "silent")
    silent, only_first = permutation(5, seed="which are silent")[:2].tolist()
    answer[[silent, only_first]] = False
    answer[only_first, 0] = True
    return {"sums": sequence_log_probability(logits, ids, answer)}


@exercise.probe
def one_text(sequence_log_probability: Any) -> Seen:
    """one text, and its answer a single word: the second, and the last"""
    seq, vocab = distinct(3, 9, 2, seed="sizes of one")
    found = {}
    for name, t in (("second", 1), ("last", seq - 1)):
        logits, ids = texts(1, seq, vocab, name)
        found[f"of the {name} word"] = sequence_log_probability(logits, ids, torch.arange(seq)[None] == t)
    return found


@exercise.probe
def thousands(sequence_log_probability: Any) -> Seen:
    """logits up to 10,000 and down to -10,000 inside the answers"""
    batch, extra, vocab = distinct(3, 7, 3, seed="sizes of thousands")
    _, ids, answer = with_answers(batch, batch + extra, vocab, "thousands")
    return {"sums": sequence_log_probability(thousands_inside(batch, batch + extra, vocab, "huge"), ids, answer)}


@exercise.probe
def wild_requests(sequence_log_probability: Any) -> Seen:
    """logits of 10,000 and -10,000 wherever no word of an answer is predicted"""
    logits, ids, answer = some_answers()
    return {"sums": sequence_log_probability(wild_outside(logits, answer, "outside"), ids, answer)}


@exercise.property
def nothing_to_predict(sequence_log_probability: Any) -> Seen:
    """texts of one word, and a vocabulary of one

    In a text of one word nothing is predicted, and in a vocabulary of one nothing else could be said: all sums are 0.
    """
    logits, ids = texts(3, 1, 4, "single")
    marked = torch.tensor([[True], [False], [True]])
    return {
        "of one word": sequence_log_probability(logits, ids, marked),
        "of one kind of word": sequence_log_probability(*with_answers(2, 6, 1, "one kind")),
    }


usual(exercise, some_answers)


@exercise.property
def gradients_beside_wild_requests(sequence_log_probability: Any) -> Seen:
    """the gradient, with logits of ±10,000 outside of the answers, and a text without an answer

    Outside of the answers, and in a text without one, the gradient is 0, however large the logits are there. What is
    multiplied by 0 still has a gradient, and 0 times infinity is NaN.
    """
    logits, ids, answer = with_answers(4, 8, 4, "graph")
    answer[int(permutation(4, seed="silent in the graph")[0])] = False
    wild = wild_outside(logits, answer, "graph")
    return gradient_in_the_logits(sequence_log_probability, wild, ids, answer)


def added_up(log_p: Tensor, kept: Tensor) -> Tensor:
    return log_p.masked_fill(~kept, 0.0).sum(-1)


@exercise.assembled
def sum_in_steps(
    logits: Tensor,
    ids: Tensor,
    answer: Tensor,
    *,
    align: Any = imitating.before_its_word,
    keep: Any = imitating.as_marked,
    surprise: Any = imitating.minus_log_p,
    add: Any = added_up,
    finish: Any = imitating.as_it_is,
) -> Tensor:
    predicted, said, kept = align(logits, ids, answer)
    return finish(add(-surprise(predicted, said), keep(kept)))


# A mistake in choosing the words is the same mistake as in the loss, and so are its words.
exercise.instead_of("align")(imitating.not_shifted_at_all)
exercise.instead_of("align")(imitating.shifted_backwards)
exercise.instead_of("align")(imitating.mask_not_shifted)
exercise.instead_of("align")(imitating.round_the_corner)
exercise.instead_of("keep")(imitating.requests_instead)
exercise.instead_of("keep")(imitating.end_left_out)
exercise.instead_of("keep")(imitating.beginning_left_out)
exercise.instead_of("surprise")(imitating.exponentials_first)
exercise.instead_of("surprise")(imitating.softmax_before_the_logarithm)


@exercise.instead_of("keep")
def requests_too(kept: Tensor) -> Tensor:
    """You add up all words; the mask has no effect.

    The probability of the request, and of what stands after the answer, says nothing about the answer. Only where the
    mask is True does a word count.
    """
    return torch.ones_like(kept)


@exercise.instead_of("surprise")
def own_uncertainty(logits: Tensor, said: Tensor) -> Tensor:
    """You add up how undecided the model is, not how likely it finds the answer.

    A model can be sure of itself and find this answer unlikely. What counts is the probability of the word that the
    answer really has.
    """
    log_p = logits.log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1)


@exercise.instead_of("surprise")
def counted_in_bits(logits: Tensor, said: Tensor) -> Tensor:
    """Your logarithm has the base 2.

    A log-probability here is in nats: the logarithm is the natural one.
    """
    return imitating.counted_in_bits(logits, said)


@exercise.instead_of("surprise")
def logit_alone(logits: Tensor, said: Tensor) -> Tensor:
    """You add up the logits of the words; the softmax is missing.

    A logit says nothing by itself: the model could raise all of them. Its share among all words of the vocabulary is
    what counts.
    """
    return -logits.gather(-1, said[..., None]).squeeze(-1)


@exercise.instead_of("add")
def mean_over_words(log_p: Tensor, kept: Tensor) -> Tensor:
    """You take the mean over the words of an answer; their sum is asked for.

    The mean says how likely a word is. How likely the whole answer is, is a product of all its words, and its logarithm
    a sum.
    """
    return log_p.masked_fill(~kept, 0.0).sum(-1) / kept.sum(-1).clamp(min=1)


@exercise.instead_of("add")
def nothing_divided_by_nothing(log_p: Tensor, kept: Tensor) -> Tensor:
    """You take the mean over the words of an answer, and a text without one gives NaN.

    A sum is asked for: how likely the whole answer is, is a product of all its words. A sum of nothing is 0.
    """
    return log_p.masked_fill(~kept, 0.0).sum(-1) / kept.sum(-1)


@exercise.instead_of("add")
def mean_over_places(log_p: Tensor, kept: Tensor) -> Tensor:
    """You divide the sum by the length of the text.

    Nothing is divided: the logarithm of the answer's probability is the sum over its words.
    """
    return log_p.masked_fill(~kept, 0.0).sum(-1) / log_p.shape[-1]


@exercise.instead_of("add")
def all_texts_in_one(log_p: Tensor, kept: Tensor) -> Tensor:
    """You add up the words of all texts.

    Each text has an answer of its own: there should be one number for each, of shape (batch,).
    """
    return log_p.masked_fill(~kept, 0.0).sum()


@exercise.instead_of("add")
def never_added_up(log_p: Tensor, kept: Tensor) -> Tensor:
    """You return a number for each word, and do not add them up.

    One number for each text is asked for, of shape (batch,).
    """
    return log_p.masked_fill(~kept, 0.0)


@exercise.instead_of("finish")
def surprise_returned(sums: Tensor) -> Tensor:
    """Your sign is turned round: your numbers are above 0, and the least likely answer has the largest.

    A log-probability is never above 0. It is no loss, and has no minus before it.
    """
    return -sums


@exercise.instead_of("finish")
def probability_returned(sums: Tensor) -> Tensor:
    """You return the probability, not its logarithm.

    A product of many small factors is soon too small for float32. Its logarithm is what can be worked with.
    """
    return sums.exp()


@exercise.misconception
def infinities_masked(logits: Tensor, ids: Tensor, answer: Tensor) -> Tensor:
    """You take the logarithm of softmax's result, and then multiply by the mask: -inf times 0 is NaN.

    A probability of e^(-200) is 0 in float32. Get the logarithm without forming the probability, and leave out what is
    not counted instead of multiplying it by 0.
    """
    predicted, said, kept = imitating.before_its_word(logits, ids, answer)
    return -(imitating.softmax_before_the_logarithm(predicted, said) * kept).sum(-1)


squeezes(exercise)
