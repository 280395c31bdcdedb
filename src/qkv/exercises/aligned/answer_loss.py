"""The exercise `answer_loss`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
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
    answer_loss,
)

exercise = Exercise(
    answer_loss,
    section="To follow: imitate answers",
    minutes=10,
    difficulty=1,
    why="Every model that follows instructions was first tuned with this loss, and a mask one word off still trains.",
    hints=[
        "Write a request of three words and an answer of two in a row, and the mask below it. Which logits were made "
        "just before each word of the answer?",
        "Logits lose their last position, ids and mask their first. Then all three belong together.",
        "Keep only the answer's words before you average: then neither the requests nor their number count.",
    ],
)


@exercise.probe
def answers_of_several_lengths(answer_loss: Any) -> Seen:
    """requests with answers of different lengths, all sizes different"""
    return {"loss": answer_loss(*some_answers())}


@exercise.probe
def a_conversation(answer_loss: Any) -> Seen:
    """texts with several answers in each; the first word is marked as well"""
    return {"loss": answer_loss(*some_conversations())}


@exercise.probe
def a_text_without_an_answer(answer_loss: Any) -> Seen:
    """a text without an answer among others, and one in which only the first word is marked"""
    logits, ids, answer = with_answers(4, 8, 5, "silent")
    answer[whole(0, 2, seed="silent text")] = False
    other = whole(2, 4, seed="only the first")
    answer[other] = False
    answer[other, 0] = True
    return {"loss": answer_loss(logits, ids, answer)}


@exercise.probe
def a_single_word(answer_loss: Any) -> Seen:
    """answers of one word in all: the second of a text, and the last"""
    seq, vocab = distinct(3, 9, 2, seed="sizes of one")
    found = {}
    for name, t in (("second", 1), ("last", seq - 1)):
        logits, ids = texts(1, seq, vocab, name)
        answer = torch.arange(seq)[None] == t
        found[f"of the {name} word"] = answer_loss(logits, ids, answer)
    return found


@exercise.probe
def shortest_texts(answer_loss: Any) -> Seen:
    """texts of two words; every word an answer"""
    batch, vocab = distinct(2, 8, 2, seed="sizes of the shortest")
    logits, ids = texts(batch, 2, vocab, "two words")
    return {"loss": answer_loss(logits, ids, torch.ones_like(ids).bool())}


@exercise.probe
def thousands(answer_loss: Any) -> Seen:
    """logits up to 10,000 and down to -10,000 inside the answers"""
    batch, extra, vocab = distinct(3, 7, 3, seed="sizes of thousands")
    _, ids, answer = with_answers(batch, batch + extra, vocab, "thousands")
    return {"loss": answer_loss(thousands_inside(batch, batch + extra, vocab, "huge"), ids, answer)}


@exercise.probe
def wild_requests(answer_loss: Any) -> Seen:
    """logits of 10,000 and -10,000 wherever no word of an answer is predicted"""
    logits, ids, answer = some_answers()
    return {"loss": answer_loss(wild_outside(logits, answer, "outside"), ids, answer)}


@exercise.property
def one_word_in_the_vocabulary(answer_loss: Any) -> Seen:
    """a vocabulary of one word

    Where there is one word only, nothing is a surprise: the loss is 0.
    """
    return {"loss": answer_loss(*with_answers(2, 6, 1, "one word"))}


usual(exercise, some_answers)


@exercise.property
def gradients_beside_wild_requests(answer_loss: Any) -> Seen:
    """the gradient, with logits of ±10,000 where no word of an answer is predicted

    Beside wild logits outside of the answers your gradient is not right. What is multiplied by 0 still has a gradient,
    and 0 times infinity is NaN: leave these places out before you compute.
    """
    logits, ids, answer = with_answers(3, 7, 4, "graph")
    return gradient_in_the_logits(answer_loss, wild_outside(logits, answer, "graph"), ids, answer)


@exercise.property
def gradients_of_thousands(answer_loss: Any) -> Seen:
    """the gradient, with logits of ±10,000 inside the answers

    With logits of ±10,000 inside the answers your gradient is not right. It is a probability less 0 or 1, never
    infinite, if no exponential of a large number stands on the way.
    """
    _, ids, answer = with_answers(3, 6, 4, "steep")
    return gradient_in_the_logits(answer_loss, thousands_inside(3, 6, 4, "steep"), ids, answer)


Aligned = tuple[Tensor, Tensor, Tensor]  # logits, the words that they predict, which of these are of an answer


def before_its_word(logits: Tensor, ids: Tensor, answer: Tensor) -> Aligned:
    return logits[:, :-1], ids[:, 1:], answer[:, 1:]


def as_marked(kept: Tensor) -> Tensor:
    return kept


def minus_log_p(logits: Tensor, said: Tensor) -> Tensor:
    return -logits.log_softmax(-1).gather(-1, said[..., None]).squeeze(-1)


def over_words(surprise: Tensor, kept: Tensor) -> Tensor:
    return surprise[kept].mean()


def as_it_is(mean: Tensor) -> Tensor:
    return mean


@exercise.assembled
def loss_in_steps(
    logits: Tensor,
    ids: Tensor,
    answer: Tensor,
    *,
    align: Any = before_its_word,
    keep: Any = as_marked,
    surprise: Any = minus_log_p,
    average: Any = over_words,
    finish: Any = as_it_is,
) -> Tensor:
    predicted, said, kept = align(logits, ids, answer)
    return finish(average(surprise(predicted, said), keep(kept)))


@exercise.instead_of("align")
def not_shifted_at_all(logits: Tensor, ids: Tensor, answer: Tensor) -> Aligned:
    """You compare the logits at a position with the word at the same position.

    The model has read that word when it makes these logits. They predict the next one.
    """
    return logits, ids, answer


@exercise.instead_of("align")
def shifted_backwards(logits: Tensor, ids: Tensor, answer: Tensor) -> Aligned:
    """You shift the wrong way: your logits are compared with the word before them.

    The logits at t - 1 predict the word at t.
    """
    return logits[:, 1:], ids[:, :-1], answer[:, :-1]


@exercise.instead_of("align")
def shifted_twice(logits: Tensor, ids: Tensor, answer: Tensor) -> Aligned:
    """You shift twice: a word is judged by the logits two places before it.

    Labels that were shifted already meet a loss that shifts them once more. One place is enough: t - 1 predicts t.
    """
    return logits[:, :-2], ids[:, 2:], answer[:, 2:]


@exercise.instead_of("align")
def mask_not_shifted(logits: Tensor, ids: Tensor, answer: Tensor) -> Aligned:
    """You shift the ids, but not the mask: it chooses by the position of the logits.

    The mask is True on the words of the answer as targets. Read at the logits, it misses the first word of an answer
    and takes in the word after its last.
    """
    return logits[:, :-1], ids[:, 1:], answer[:, :-1]


@exercise.instead_of("align")
def round_the_corner(logits: Tensor, ids: Tensor, answer: Tensor) -> Aligned:
    """Where the mask has a True in its first column, you judge the first word by the last logits of the text.

    Nothing stands before the first word, so nobody predicts it: that column has no meaning.
    """
    return logits.roll(1, dims=1), ids, answer


@exercise.instead_of("keep")
def requests_too(kept: Tensor) -> Tensor:
    """You take the mean over all words; the mask has no effect.

    The words of the request, and what stands after the answer, are read and not imitated. Only where the mask is True
    is there something to learn.
    """
    return torch.ones_like(kept)


@exercise.instead_of("keep")
def requests_instead(kept: Tensor) -> Tensor:
    """You take the words where the mask is False.

    Those are the words that are not to be imitated. True marks the words of an answer.
    """
    return ~kept


@exercise.instead_of("keep")
def end_left_out(kept: Tensor) -> Tensor:
    """You leave the last word of each answer out.

    The last word is the `<end>`, and the mask is True there too. A model that never learns it does not know when to
    stop.
    """
    behind = torch.cat([kept[:, 1:], torch.zeros_like(kept[:, :1])], dim=1)
    return kept & behind


@exercise.instead_of("keep")
def beginning_left_out(kept: Tensor) -> Tensor:
    """You leave the first word of each answer out.

    It is predicted by the last logits of the request, and it counts like every other word of the answer.
    """
    before = torch.cat([torch.zeros_like(kept[:, :1]), kept[:, :-1]], dim=1)
    return kept & before


@exercise.instead_of("surprise")
def exponentials_first(logits: Tensor, said: Tensor) -> Tensor:
    """You form exponentials before you take their logarithm; for large logits nothing finite is left.

    exp(1000) is infinite. The difference of logits, or `log_softmax`, needs no such number.
    """
    p = torch.exp(logits) / torch.exp(logits).sum(-1, keepdim=True)
    return -torch.log(p.gather(-1, said[..., None]).squeeze(-1))


@exercise.instead_of("surprise")
def softmax_before_the_logarithm(logits: Tensor, said: Tensor) -> Tensor:
    """You take the logarithm of softmax's result, and that of a small probability is -inf.

    A probability of e^(-200) is 0 in float32, and what its logarithm would have been is gone. Get the logarithm without
    forming the probability.
    """
    return -logits.softmax(-1).log().gather(-1, said[..., None]).squeeze(-1)


@exercise.instead_of("surprise")
def own_uncertainty(logits: Tensor, said: Tensor) -> Tensor:
    """You measure how undecided the model is, not how surprised it is by the answer.

    A model can be sure of itself and wrong. What counts is the probability of the word that the answer really has.
    """
    log_p = logits.log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1)


@exercise.instead_of("surprise")
def probability_alone(logits: Tensor, said: Tensor) -> Tensor:
    """You average the probabilities of the words; the logarithm is missing.

    The loss is the mean of -log p: a word that the model held for impossible then costs a lot.
    """
    return -logits.softmax(-1).gather(-1, said[..., None]).squeeze(-1)


@exercise.instead_of("surprise")
def counted_in_bits(logits: Tensor, said: Tensor) -> Tensor:
    """Your logarithm has the base 2.

    The course's losses are in nats: the logarithm is the natural one.
    """
    return minus_log_p(logits, said) / math.log(2)


@exercise.instead_of("surprise")
def logit_alone(logits: Tensor, said: Tensor) -> Tensor:
    """You average the logits of the words; the softmax is missing.

    A logit says nothing by itself: the model could raise all of them. Its share among all words of the vocabulary is
    what counts.
    """
    return -logits.gather(-1, said[..., None]).squeeze(-1)


@exercise.instead_of("average")
def over_texts(surprise: Tensor, kept: Tensor) -> Tensor:
    """You average over each text first, and then over the texts.

    Then the words of a short answer count for more. Every word counts alike, whatever text it is in.
    """
    counts = kept.sum(1)
    spoken = counts > 0
    return (surprise.masked_fill(~kept, 0).sum(1)[spoken] / counts[spoken]).mean()


@exercise.instead_of("average")
def over_texts_undefined(surprise: Tensor, kept: Tensor) -> Tensor:
    """You average over each text first, and one without an answer is 0/0, so the whole loss is NaN.

    Where every text has an answer, the words of a short one would count for more. Every word counts alike, whatever
    text it is in: one sum, and one count, over all of them.
    """
    return (surprise.masked_fill(~kept, 0).sum(1) / kept.sum(1)).mean()


@exercise.instead_of("average")
def over_all_texts(surprise: Tensor, kept: Tensor) -> Tensor:
    """You average over each text first, one without an answer as 0, and then over all texts.

    Then the words of a short answer count for more, and silence counts as right. Every word counts alike, whatever text
    it is in.
    """
    return (surprise.masked_fill(~kept, 0).sum(1) / kept.sum(1).clamp(min=1)).mean()


@exercise.instead_of("average")
def over_all_places(surprise: Tensor, kept: Tensor) -> Tensor:
    """You divide by the number of all words, those of the requests included.

    They are left out of the sum, so they must be left out of the count as well. Or long requests make a good loss.
    """
    return surprise.masked_fill(~kept, 0).sum() / kept.numel()


@exercise.instead_of("average")
def over_the_batch(surprise: Tensor, kept: Tensor) -> Tensor:
    """You divide the sum by the number of texts.

    Then a long answer looks worse than a short one. Divide by the number of words in the answers.
    """
    return surprise.masked_fill(~kept, 0).sum() / len(kept)


@exercise.instead_of("average")
def summed(surprise: Tensor, kept: Tensor) -> Tensor:
    """You add the words up and do not divide.

    Then the loss, and with it every step, grows with the batch. The mean over the words is asked for.
    """
    return surprise[kept].sum()


@exercise.instead_of("finish")
def sign_forgotten(mean: Tensor) -> Tensor:
    """The minus is missing: your loss is negative, and falls as the model gets worse.

    A logarithm of a probability is never above 0. A loss is -log p, and 0 at best.
    """
    return -mean


@exercise.instead_of("finish")
def raised_to_a_perplexity(mean: Tensor) -> Tensor:
    """You return the perplexity, the exponential of the loss.

    The exponential makes the number easy to imagine, but what is trained on is the mean of -log p itself.
    """
    return mean.exp()


@exercise.misconception
def masked_logits_counted(logits: Tensor, ids: Tensor, answer: Tensor) -> Tensor:
    """You set the logits of the other words to 0 and average over all words.

    Equal logits are a guess among the whole vocabulary, and each of them adds log(vocab) to your mean. What is not
    counted has to leave the mean altogether.
    """
    predicted, said, kept = before_its_word(logits, ids, answer)
    return minus_log_p(predicted.masked_fill(~kept[..., None], 0.0), said).mean()


@exercise.misconception
def infinities_masked(logits: Tensor, ids: Tensor, answer: Tensor) -> Tensor:
    """You take the logarithm of softmax's result, and then multiply by the mask: -inf times 0 is NaN.

    A probability of e^(-200) is 0 in float32. Get the logarithm without forming the probability, and leave out what is
    not counted instead of multiplying it by 0.
    """
    predicted, said, kept = before_its_word(logits, ids, answer)
    return (softmax_before_the_logarithm(predicted, said) * kept).sum() / kept.sum()


@exercise.misconception
def first_column_counted(logits: Tensor, ids: Tensor, answer: Tensor) -> Tensor:
    """You divide by all True entries of the mask, those in its first column too.

    Nobody predicts the first word, so it adds nothing to the sum; it must not add to the count either.
    """
    predicted, said, kept = before_its_word(logits, ids, answer)
    return minus_log_p(predicted, said).masked_fill(~kept, 0.0).sum() / answer.sum()
