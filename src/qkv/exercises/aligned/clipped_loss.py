"""The exercise `clipped_loss`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import ignores
from proctor.inside.inputs import distinct, normal, number, permutation, uniform, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.aligned.shared import FINITE, marked
from qkv.model.aligned import (
    clipped_loss,
)

exercise = Exercise(
    clipped_loss,
    section="Small steps",
    minutes=20,
    difficulty=3,
    why="It is the loss behind models that were trained to reason, and each of its signs has been got wrong somewhere.",
    hints=[
        "Choose the words of the answers first. Then everything that follows is one number for each of them.",
        "For A above 0, draw ρ·A and cut(ρ)·A over ρ. Which of the two is the smaller, on either side? And for A below "
        "0?",
        "The objective is to be made large, a loss small. The penalty is to be small as it stands.",
        "Outside of the answers e^(new - old) may be infinite. Multiplying by 0 afterwards is too late.",
    ],
)

Given = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def away(*shape: int, seed: str, low: float, high: float) -> Tensor:
    """Numbers of either sign, of this size."""
    return uniform(*shape, seed=f"{seed}: size", low=low, high=high) * normal(*shape, seed=f"{seed}: side").sign()


def policies(batch: int, seq: int, seed: str) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probabilities of words under the model that learns, the one that wrote, and the one that both come from."""
    new = -uniform(batch, seq, seed=f"{seed}: new", low=0.2, high=3.0)
    old = new + away(batch, seq, seed=f"{seed}: old", low=0.02, high=0.6)
    return new, old, new + away(batch, seq, seed=f"{seed}: reference", low=0.2, high=0.9)


def written(batch: int, seq: int, seed: str, sign: int) -> Given:
    """Answers that are all better than expected, or all worse: their loss can't be near 0 by chance."""
    advantages = sign * uniform(batch, seed=f"{seed}: advantages", low=0.5, high=2.0)
    return *policies(batch, seq, seed), advantages, marked(batch, seq, seed)


def sizes(seed: str) -> tuple[int, int]:
    batch, extra = distinct(3, 7, 2, seed=f"sizes {seed}")
    return batch, batch + extra


def good_answers() -> Given:
    return written(*sizes("good"), "good", 1)


@exercise.probe
def better_than_expected(clipped_loss: Any) -> Seen:
    """answers that are better than expected"""
    return {"loss": clipped_loss(*good_answers())}


@exercise.probe
def worse_than_expected(clipped_loss: Any) -> Seen:
    """answers that are worse than expected"""
    return {"loss": clipped_loss(*written(*sizes("bad"), "bad", -1))}


def mixed(seed: str) -> Given:
    """One good answer among many that are a little bad."""
    batch, seq = sizes(seed)
    new, old, reference, advantages, answer = written(batch, seq, seed, -1)
    advantages = 0.1 * advantages
    advantages[whole(0, batch, seed=f"{seed}: good one")] = number(12.0, 16.0, seed=f"{seed}: how good")
    return new, old, reference, advantages, answer


@exercise.probe
def some_better_some_worse(clipped_loss: Any) -> Seen:
    """one good answer among bad ones; a clip by name"""
    return {"loss": clipped_loss(*mixed("mixed"), clip=number(0.05, 0.15, seed="narrow"))}


@exercise.probe
def a_wide_clip(clipped_loss: Any) -> Seen:
    """a wide clip, better and worse answers"""
    clip = number(0.3, 0.4, seed="wide")
    return {
        "of good ones": clipped_loss(*written(*sizes("wide"), "wide", 1), clip),
        "of bad ones": clipped_loss(*written(*sizes("wide"), "wide", -1), clip),
    }


@exercise.probe
def with_a_penalty(clipped_loss: Any) -> Seen:
    """a penalty for leaving the reference, better and worse answers"""
    kl = number(0.2, 0.4, seed="kl")
    return {
        "of good ones": clipped_loss(*written(*sizes("held"), "held", 1), kl=kl),
        "of bad ones": clipped_loss(*written(*sizes("held"), "held", -1), 0.1, kl),
    }


@exercise.probe
def penalty_alone(clipped_loss: Any) -> Seen:
    """answers exactly as good as expected, and a penalty"""
    new, old, reference, advantages, answer = written(*sizes("alone"), "alone", 1)
    return {"loss": clipped_loss(new, old, reference, 0 * advantages, answer, kl=number(0.5, 2.0, seed="large kl"))}


@exercise.probe
def first_words_marked(clipped_loss: Any) -> Seen:
    """texts whose first word is marked as well, and one in which no other is"""
    new, old, reference, advantages, answer = written(4, 8, "first", 1)
    answer[:, 0] = True
    reference[:, 0] = new[:, 0] + 4  # whoever counts a first word pays for it
    answer[int(permutation(4, seed="silent")[0]), 1:] = False
    return {"loss": clipped_loss(new, old, reference, advantages, answer, kl=0.1)}


@exercise.probe
def a_single_word(clipped_loss: Any) -> Seen:
    """one text of two words, of which the second is the answer"""
    found = {}
    for name, sign in (("better", 1), ("worse", -1)):
        new, old, reference, advantages, _ = written(1, 6, name, sign)
        given = new[:, :2], old[:, :2], reference[:, :2], advantages, torch.tensor([[False, True]])
        found[f"of a {name} one"] = clipped_loss(*given, kl=0.05)
    return found


@exercise.probe
def far_from_what_wrote_them(clipped_loss: Any) -> Seen:
    """words that have become many times likelier or less likely since they were written, better and worse answers"""
    found = {}
    for name, sign in (("good", 1), ("bad", -1)):
        new, _, reference, advantages, answer = written(*sizes("far"), f"far {name}", sign)
        old = new + away(*new.shape, seed=f"far {name}: written", low=1.5, high=4.0)
        found[f"of {name} ones"] = clipped_loss(new, old, reference, advantages, answer)
    return found


def wild_outside(given: Given, seed: str) -> Given:
    """Log-probabilities that hold ±10,000 wherever there is no word of an answer, and far apart from each other."""
    *policies, advantages, answer = given
    side = normal(*answer.shape, seed=f"{seed}: wild").sign()
    loud = [torch.where(answer, p, 1e4 * s * side) for p, s in zip(policies, (1, -1, -1), strict=True)]
    return loud[0], loud[1], loud[2], advantages, answer


@exercise.probe
def wild_requests(clipped_loss: Any) -> Seen:
    """log-probabilities of 10,000 and -10,000 outside of the answers"""
    given = wild_outside(good_answers(), "outside")
    return {"without a penalty": clipped_loss(*given), "with a penalty": clipped_loss(*given, kl=0.3)}


@exercise.property
def old_held(clipped_loss: Any) -> Seen:
    """old, reference and advantages that ask for gradients themselves

    A gradient reaches more than `new`. What wrote the answers, where training started and how good the answers were are
    facts: hold them, even where their tensors ask for a gradient.
    """
    new, old, reference, advantages, answer = written(3, 7, "all held", 1)
    for tensor in (old, reference, advantages):
        tensor.requires_grad_()
    result = clipped_loss(new, old, reference, advantages, answer, kl=0.3)
    return {"a gradient reaches what should be held": isinstance(result, Tensor) and result.requires_grad}


def in_eighths() -> tuple[Any, ...]:
    """Log-probabilities whose differences every dtype holds exactly."""
    new, old, reference, advantages, answer = written(4, 8, "eighths", 1)
    new, old, reference, advantages = ((8 * t).round() / 8 for t in (new, old, reference, advantages))
    return new, old, reference, advantages, answer, 0.2, 0.25


def kept_with_both_signs() -> tuple[Any, ...]:
    """One good answer and one bad: of good ones alone `abs_` and `relu_` would change nothing."""
    return *policies(2, 5, "kept"), torch.tensor([1.5, -0.5]), torch.ones(2, 5).bool(), 0.2, 0.1


usual(exercise, in_eighths, alike=kept_with_both_signs)


def gradient_in_new(clipped_loss: Any, given: Given, kl: float) -> Seen:
    new = given[0].requires_grad_()
    result = clipped_loss(new, *given[1:], kl=kl)
    if not isinstance(result, Tensor) or not result.requires_grad:
        return {FINITE: True, "gradient": torch.zeros_like(new)}
    (gradient,) = torch.autograd.grad(result.sum(), new)
    return {FINITE: bool(gradient.isfinite().all()), "gradient": gradient.nan_to_num(0.0, 0.0, 0.0)}


@exercise.property
def gradients_of_good_and_bad(clipped_loss: Any) -> Seen:
    """the gradient in `new`, with answers better and worse than expected

    The loss is right but its gradient in `new` is not. A word whose ratio is cut has none from the first part; nothing
    else may be held.
    """
    return gradient_in_new(clipped_loss, mixed("steep"), 0.3)


@exercise.property
def gradients_before_the_first_step(clipped_loss: Any) -> Seen:
    """the gradient where the model has not moved since it wrote the answers

    Where new equals old every ratio is 1, and yet the gradient is not 0: it is that of -A·log p. The ratio must not be
    held as a whole.
    """
    new, _, reference, advantages, answer = mixed("unmoved")
    return gradient_in_new(clipped_loss, (new, new.clone(), reference, advantages, answer), 0.1)


@exercise.property
def gradients_beside_wild_requests(clipped_loss: Any) -> Seen:
    """the gradient, with log-probabilities of ±10,000 outside of the answers

    Outside of the answers the gradient is 0, and finite, however large the numbers are there. Their e^ is infinite,
    and 0 times infinity is NaN, on the way back as well: choose the words before you compute.
    """
    return gradient_in_new(clipped_loss, wild_outside(good_answers(), "graph"), 0.3)


def of_the_answer(*all_words: Tensor, answer: Tensor) -> tuple[Tensor, ...]:
    kept = answer.clone()
    kept[:, 0] = False
    return tuple(words[kept] for words in all_words)


def held(constant: Tensor) -> Tensor:
    return constant.detach()


def ratio_of_both(new: Tensor, old: Tensor) -> Tensor:
    return (new - old).exp()


def on_both_sides(ratio: Tensor, clip: float) -> Tensor:
    return ratio.clamp(1 - clip, 1 + clip)


def smaller_of_both(ratio: Tensor, cut: Tensor, advantage: Tensor) -> Tensor:
    return torch.minimum(ratio * advantage, cut * advantage)


def never_below_0(new: Tensor, reference: Tensor) -> Tensor:
    distance = reference - new
    return distance.exp() - distance - 1


def gain_less_penalty(gain: Tensor, penalty: Tensor, kl: float) -> Tensor:
    return kl * penalty - gain


def mean_of_words(losses: Tensor, which: Tensor, answer: Tensor) -> Tensor:
    return losses.mean()


@exercise.assembled
def clipped_in_steps(
    new: Tensor,
    old: Tensor,
    reference: Tensor,
    advantages: Tensor,
    answer: Tensor,
    clip: float = 0.2,
    kl: float = 0.0,
    *,
    choose: Any = of_the_answer,
    hold: Any = held,
    relate: Any = ratio_of_both,
    cut: Any = on_both_sides,
    decide: Any = smaller_of_both,
    penalise: Any = never_below_0,
    combine: Any = gain_less_penalty,
    average: Any = mean_of_words,
) -> Tensor:
    spread = hold(advantages)[:, None].expand_as(new)
    texts = torch.arange(len(new), device=new.device)[:, None].expand_as(new)
    now, before, start, advantage, which = choose(new, hold(old), hold(reference), spread, texts, answer=answer)
    ratio = relate(now, before)
    return average(
        combine(decide(ratio, cut(ratio, clip), advantage), penalise(now, start), kl), which=which, answer=answer
    )


@exercise.instead_of("choose")
def every_word(*all_words: Tensor, answer: Tensor) -> tuple[Tensor, ...]:
    """You take the mean over all words but the first; the mask has no effect.

    The request was not written by the model, and what stands after the answer by nobody. Only the words of the answer
    were actions.
    """
    return tuple(words[:, 1:].flatten() for words in all_words)


@exercise.instead_of("choose")
def words_of_the_request(*all_words: Tensor, answer: Tensor) -> tuple[Tensor, ...]:
    """You take the words where the mask is False.

    True marks the words of an answer, and only these were chosen by the model.
    """
    return of_the_answer(*all_words, answer=~answer)


@exercise.instead_of("choose")
def first_word_too(*all_words: Tensor, answer: Tensor) -> tuple[Tensor, ...]:
    """Where the mask has a True in its first column you count the first word.

    Nobody predicts the first word of a text: that column has no meaning.
    """
    return tuple(words[answer] for words in all_words)


@exercise.instead_of("choose")
def mask_one_word_late(*all_words: Tensor, answer: Tensor) -> tuple[Tensor, ...]:
    """Your mask is shifted against the log-probabilities: it chooses each answer one word too late.

    Here nothing is left to be shifted: log-probability and mask at t belong to the same word.
    """
    return tuple(words[:, 1:][answer[:, :-1]] for words in all_words)


@exercise.instead_of("choose")
def mask_one_word_early(*all_words: Tensor, answer: Tensor) -> tuple[Tensor, ...]:
    """Your mask is shifted against the log-probabilities: it chooses each answer one word too early.

    Here nothing is left to be shifted: log-probability and mask at t belong to the same word.
    """
    return tuple(words[:, :-1][answer[:, 1:]] for words in all_words)


@exercise.instead_of("hold")
def nothing_held(constant: Tensor) -> Tensor:
    """You hold nothing: a gradient reaches `old`, `reference` and the advantages too.

    They are facts about the past. The loss should fall because `new` gets better, not because these move.
    """
    return constant


@exercise.instead_of("relate")
def the_same_model_twice(new: Tensor, old: Tensor) -> Tensor:
    """Your ratio compares the model with itself, held: it is 1 everywhere, and `old` has no effect.

    That is right for the first update after writing. After it the model has moved, and the ratio says how far.
    """
    return (new - new.detach()).exp()


@exercise.instead_of("relate")
def difference_for_ratio(new: Tensor, old: Tensor) -> Tensor:
    """You use the difference of the log-probabilities as the ratio; its exponential is missing.

    The ratio is that of the probabilities: where nothing has changed it is 1, and the difference is 0.
    """
    return new - old


@exercise.instead_of("relate")
def ratio_turned_round(new: Tensor, old: Tensor) -> Tensor:
    """Your ratio is old by new.

    It should say how much likelier the word is under the model that *learns*. Turned round, good answers are unlearned.
    """
    return (old - new).exp()


@exercise.instead_of("relate")
def ratio_of_logarithms(new: Tensor, old: Tensor) -> Tensor:
    """You divide the log-probabilities by each other.

    The ratio of two probabilities is e to the *difference* of their logarithms.
    """
    return new / old


@exercise.instead_of("cut")
def cut_above_only(ratio: Tensor, clip: float) -> Tensor:
    """You cut the ratio from above only.

    A bad answer whose ratio is below 1 - clip has been made unlikely enough: there it should be cut from below.
    """
    return ratio.clamp(max=1 + clip)


@exercise.instead_of("cut")
def cut_in_logarithms(ratio: Tensor, clip: float) -> Tensor:
    """You cut the difference of the logarithms to ±clip, not the ratio.

    e^0.2 is 1.22, and e^-0.2 is 0.82. The ratio itself is cut to 1 - clip and 1 + clip.
    """
    return ratio.log().clamp(-clip, clip).exp()


@exercise.instead_of("decide")
def bad_answers_no_further_than_three(ratio: Tensor, cut: Tensor, advantage: Tensor) -> Tensor:
    """Of bad answers you follow no ratio above 3, or another bound of your own.

    Some add such a bound, as the dual clip. Here a word that became likelier although its answer was bad is pushed back
    however far it has gone.
    """
    gain = smaller_of_both(ratio, cut, advantage)
    return torch.where(advantage < 0, torch.maximum(gain, 3 * advantage), gain)


@exercise.instead_of("decide")
def never_cut(ratio: Tensor, cut: Tensor, advantage: Tensor) -> Tensor:
    """You do not use the cut ratio.

    Without it one batch of answers may push the model as far as it will go, and the next was written by another model.
    """
    return ratio * advantage


@exercise.instead_of("decide")
def always_cut(ratio: Tensor, cut: Tensor, advantage: Tensor) -> Tensor:
    """You use the cut ratio alone, without the smaller of both.

    A word that has moved the *wrong* way by much then has no gradient either, where it needs one most.
    """
    return cut * advantage


@exercise.instead_of("decide")
def larger_of_both(ratio: Tensor, cut: Tensor, advantage: Tensor) -> Tensor:
    """You take the larger of the two products.

    Then whatever is gained by leaving the range counts, and what is lost by it does not. The smaller one is the
    cautious estimate.
    """
    return torch.maximum(ratio * advantage, cut * advantage)


@exercise.instead_of("decide")
def smaller_ratio(ratio: Tensor, cut: Tensor, advantage: Tensor) -> Tensor:
    """You take the smaller *ratio* and multiply by the advantage then.

    For a bad answer the smaller product belongs to the larger ratio. Multiply first, then compare.
    """
    return torch.minimum(ratio, cut) * advantage


@exercise.instead_of("penalise")
def penalty_turned_round(new: Tensor, reference: Tensor) -> Tensor:
    """In your penalty d is new - reference; it should be reference - new.

    Both are 0 where the two agree and above 0 elsewhere. But only with d = reference - new is the mean, over words that
    the model itself draws, the divergence from the reference.
    """
    return never_below_0(reference, new)


@exercise.instead_of("penalise")
def difference_as_penalty(new: Tensor, reference: Tensor) -> Tensor:
    """Your penalty is new - reference alone.

    Its mean is the divergence too, but a single word's may be below 0, and its gradient does not depend on the
    reference. The estimate asked for is e^d - d - 1.
    """
    return new - reference


@exercise.instead_of("penalise")
def half_a_square(new: Tensor, reference: Tensor) -> Tensor:
    """Your penalty is half the squared difference.

    For small differences it is nearly the same, for larger ones it is not. The estimate asked for is e^d - d - 1.
    """
    return (new - reference).square() / 2


@exercise.instead_of("penalise")
def one_forgotten(new: Tensor, reference: Tensor) -> Tensor:
    """In your penalty the -1 is missing.

    Where model and reference agree the penalty is 0: e^0 is 1, and this 1 has to go.
    """
    return never_below_0(new, reference) + 1


@exercise.instead_of("penalise")
def linear_part_forgotten(new: Tensor, reference: Tensor) -> Tensor:
    """In your penalty the -d is missing: it is e^d - 1.

    That is below 0 for every word which the model finds likelier than the reference does. e^d - d - 1 never is.
    """
    return (reference - new).exp() - 1


@exercise.instead_of("combine")
def sign_forgotten(gain: Tensor, penalty: Tensor, kl: float) -> Tensor:
    """You return the objective itself, which is to be made large.

    An optimiser makes a loss small. The minus stands before the gain; the penalty is added as it is.
    """
    return gain - kl * penalty


@exercise.instead_of("combine")
def penalty_rewarded(gain: Tensor, penalty: Tensor, kl: float) -> Tensor:
    """You subtract the penalty from the loss.

    Then it pays to leave the reference. In a loss a penalty is added.
    """
    return -gain - kl * penalty


@exercise.instead_of("combine")
def both_to_be_small(gain: Tensor, penalty: Tensor, kl: float) -> Tensor:
    """You add the gain to the loss; its minus is missing.

    Then the loss falls as good answers become *less* likely.
    """
    return gain + kl * penalty


@exercise.instead_of("average")
def texts_first(losses: Tensor, which: Tensor, answer: Tensor) -> Tensor:
    """You average over each answer first, and then over the answers.

    Then a word of a long answer counts for less than one of a short answer. Here all words of the batch count alike.
    """
    counts = torch.bincount(which, minlength=len(answer))
    sums = torch.zeros(len(answer), dtype=losses.dtype, device=losses.device).index_add(0, which, losses)
    return (sums[counts > 0] / counts[counts > 0]).mean()


@exercise.instead_of("average")
def over_the_batch(losses: Tensor, which: Tensor, answer: Tensor) -> Tensor:
    """You divide the sum by the number of texts.

    Then the loss, and with it every step, grows with the length of the answers. Divide by the number of their words.
    """
    return losses.sum() / len(answer)


@exercise.instead_of("average")
def over_all_places(losses: Tensor, which: Tensor, answer: Tensor) -> Tensor:
    """You divide by the number of all places, those outside of the answers included.

    They are left out of the sum, so they must be left out of the count as well.
    """
    return losses.sum() / answer.numel()


@exercise.instead_of("average")
def summed(losses: Tensor, which: Tensor, answer: Tensor) -> Tensor:
    """You add the words up and do not divide.

    Then every step grows with the batch. The mean over all words of all answers is asked for.
    """
    return losses.sum()


@exercise.misconception
def masked_after_the_exponential(
    new: Tensor,
    old: Tensor,
    reference: Tensor,
    advantages: Tensor,
    answer: Tensor,
    clip: float = 0.2,
    kl: float = 0.0,
) -> Tensor:
    """You compute for all words and multiply by the mask then; beside huge numbers that is NaN.

    Outside of the answers e^(new - old) may be infinite, and infinity times 0 is NaN. Choose the words first.
    """
    kept = answer.clone()
    kept[:, 0] = False
    ratio = (new - old.detach()).exp()
    spread = advantages.detach()[:, None]
    gain = smaller_of_both(ratio, ratio.clamp(1 - clip, 1 + clip), spread)
    losses = kl * never_below_0(new, reference.detach()) - gain
    return (losses * kept).sum() / kept.sum()


@exercise.misconception
def replaced_after_the_exponential(
    new: Tensor,
    old: Tensor,
    reference: Tensor,
    advantages: Tensor,
    answer: Tensor,
    clip: float = 0.2,
    kl: float = 0.0,
) -> Tensor:
    """You compute for all words, and what is outside of the answers goes out afterwards; the loss is right, but its
    gradient is NaN.

    On the way back a 0 is multiplied by the slope of e^ at huge numbers, which is infinite. What is outside has to be
    out *before* the exponential.
    """
    kept = answer.clone()
    kept[:, 0] = False
    ratio = (new - old.detach()).exp()
    spread = advantages.detach()[:, None]
    losses = -smaller_of_both(ratio, ratio.clamp(1 - clip, 1 + clip), spread)
    if kl:
        losses = losses + kl * never_below_0(new, reference.detach())
    return losses.masked_fill(~kept, 0.0).sum() / kept.sum()


@exercise.misconception
def ratio_held(
    new: Tensor,
    old: Tensor,
    reference: Tensor,
    advantages: Tensor,
    answer: Tensor,
    clip: float = 0.2,
    kl: float = 0.0,
) -> Tensor:
    """You hold the ratio, so that the advantages teach nothing.

    old is a constant, but new is what learns: the gradient has to pass through the ratio.
    """
    return clipped_in_steps(
        new, old, reference, advantages, answer, clip, kl, relate=lambda now, before: (now - before).exp().detach()
    )


@exercise.misconception
def without_the_ratio(
    new: Tensor,
    old: Tensor,
    reference: Tensor,
    advantages: Tensor,
    answer: Tensor,
    clip: float = 0.2,
    kl: float = 0.0,
) -> Tensor:
    """You multiply the advantage by the log-probability itself; there is no ratio, and nothing is cut.

    That is REINFORCE, which may take one step for each batch of answers. For several steps the ratio to `old` says
    which words have gone far enough.
    """
    return clipped_in_steps(
        new,
        old,
        reference,
        advantages,
        answer,
        clip,
        kl,
        relate=lambda now, before: now,
        decide=lambda log_p, cut, advantage: log_p * advantage,
    )


@exercise.misconception
def one_ratio_an_answer(
    new: Tensor,
    old: Tensor,
    reference: Tensor,
    advantages: Tensor,
    answer: Tensor,
    clip: float = 0.2,
    kl: float = 0.0,
) -> Tensor:
    """You take one ratio for a whole answer, from the mean over its words.

    That is GSPO. Here every word has a ratio of its own, and is cut by itself.
    """
    kept = answer.clone()
    kept[:, 0] = False
    count = kept.sum(1, keepdim=True).clamp(min=1)
    apart = (new - old.detach()).masked_fill(~kept, 0.0).sum(1, keepdim=True) / count
    return clipped_in_steps(
        torch.where(kept, apart, 0.0).expand_as(new),
        torch.zeros_like(old),
        torch.zeros_like(reference),
        advantages,
        kept,
        clip,
        0.0,
    ) + (kl * never_below_0(new, reference.detach())[kept].mean() if kl else 0.0)


@exercise.misconception
def old_and_reference_exchanged(
    new: Tensor,
    old: Tensor,
    reference: Tensor,
    advantages: Tensor,
    answer: Tensor,
    clip: float = 0.2,
    kl: float = 0.0,
) -> Tensor:
    """You have exchanged old and reference.

    The ratio compares with the model that *wrote* the answers, a few steps ago; the penalty with the one that all of
    this training started from.
    """
    return clipped_loss(new, reference, old, advantages, answer, clip, kl)


@exercise.misconception
def penalty_against_old(
    new: Tensor,
    old: Tensor,
    reference: Tensor,
    advantages: Tensor,
    answer: Tensor,
    clip: float = 0.2,
    kl: float = 0.0,
) -> Tensor:
    """Your penalty is for leaving `old`, the model that wrote the answers.

    That one moves along with every batch, and holds nothing back. The penalty is for leaving the reference.
    """
    return clipped_loss(new, old, old, advantages, answer, clip, kl)


ignores(exercise, "clip")
ignores(exercise, "kl")
