"""The exercise `dpo_loss`."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import ignores
from proctor.inside.inputs import distinct, integers, normal, number, uniform
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.aligned.shared import FINITE
from qkv.model.aligned import (
    dpo_loss,
)

exercise = Exercise(
    dpo_loss,
    section="Preferences without a judge",
    minutes=10,
    difficulty=2,
    why="Much of what open models prefer was taught with this loss, and one sign in it teaches them the contrary.",
    hints=[
        "How much likelier does the model find an answer than the reference does? In logarithms that is a difference.",
        "There is one such difference for the preferred answer and one for the other. What does `bradley_terry_loss` "
        "make of two rewards?",
        "beta belongs to the rewards, so it stands inside of σ. And which of the four should learn nothing?",
    ],
)

Four = tuple[Tensor, Tensor, Tensor, Tensor]


def log_probabilities(batch: int, seed: str, spread: float = 1.5) -> Four:
    """Log-probabilities of whole answers under a model, and under the one that it came from."""
    chosen, rejected = (-uniform(batch, seed=f"{seed}: {who}", low=4.0, high=16.0) for who in ("chosen", "rejected"))
    return (
        chosen,
        rejected,
        chosen + spread * normal(batch, seed=f"{seed}: chosen before"),
        rejected + spread * normal(batch, seed=f"{seed}: rejected before"),
    )


def some_preferences() -> tuple[Tensor, Tensor, Tensor, Tensor, float]:
    (batch,) = distinct(4, 10, 1, seed="batch")
    return *log_probabilities(batch, "some"), number(0.4, 0.9, seed="beta")


@exercise.probe
def pairs_of_answers(dpo_loss: Any) -> Seen:
    """some pairs of answers"""
    return {"loss": dpo_loss(*some_preferences())}


@exercise.probe
def nothing_said_of_beta(dpo_loss: Any) -> Seen:
    """log-probabilities far from the reference's, and nothing said of beta"""
    (batch,) = distinct(4, 10, 1, seed="another batch")
    return {"loss": dpo_loss(*log_probabilities(batch, "far", spread=12.0))}


@exercise.probe
def beta_by_name(dpo_loss: Any) -> Seen:
    """one pair; a beta above 1, by name"""
    chosen, rejected, _, _ = log_probabilities(1, "one")
    gains = uniform(2, seed="gains of one", low=-0.6, high=0.6)  # a loss near 0 would have few digits of its own
    given = {"reference_chosen": chosen - gains[0], "reference_rejected": rejected - gains[1]}
    return {"loss": dpo_loss(chosen=chosen, rejected=rejected, **given, beta=number(1.5, 3.0, seed="large beta"))}


@exercise.probe
def a_model_against_its_preferences(dpo_loss: Any) -> Seen:
    """a model that has moved away from what is preferred"""
    (batch,) = distinct(3, 9, 1, seed="a third batch")
    chosen, rejected, _, _ = log_probabilities(batch, "against")
    gains = uniform(batch, seed="gains", low=2.0, high=5.0)
    return {"loss": dpo_loss(chosen, rejected, chosen + gains, rejected - 0.5 * gains, number(0.4, 0.9, seed="b"))}


def far_away(batch: int, seed: str) -> Four:
    """Log-probabilities down to -10,000; in the first pair the model has unlearned what is preferred."""
    four = [-uniform(batch, seed=f"{seed}: {i}", low=2000.0, high=1e4) for i in range(4)]
    four[0][0], four[1][0], four[2][0], four[3][0] = -1e4, -10.0, -20.0, -1e4
    chosen, rejected, ours, theirs = four
    return chosen, rejected, ours, theirs


@exercise.probe
def thousands(dpo_loss: Any) -> Seen:
    """log-probabilities down to -10,000"""
    (batch,) = distinct(3, 9, 1, seed="of thousands")
    return {"loss": dpo_loss(*far_away(batch, "far away"), number(0.5, 1.5, seed="beta of thousands"))}


@exercise.property
def not_moved_yet(dpo_loss: Any) -> Seen:
    """a model that is its reference still

    A model that equals its reference prefers nothing yet: every pair costs log 2, whatever beta is.
    """
    chosen, rejected, _, _ = log_probabilities(4, "still")
    return {"loss": dpo_loss(chosen, rejected, chosen.clone(), rejected.clone(), number(0.2, 2.0, seed="any beta"))}


@exercise.property
def reference_held(dpo_loss: Any) -> Seen:
    """a reference that asks for gradients itself

    A gradient reaches the reference. It is where training started, and has to stay there: it must be held even where
    its tensors ask for a gradient.
    """
    chosen, rejected, ours, theirs = log_probabilities(5, "held")
    for tensor in (ours, theirs):
        tensor.requires_grad_()
    result = dpo_loss(chosen, rejected, ours, theirs, 0.5)
    return {"a gradient reaches the reference": isinstance(result, Tensor) and result.requires_grad}


def in_eighths() -> tuple[Tensor, Tensor, Tensor, Tensor, float]:
    """Log-probabilities whose differences every dtype holds exactly, in whichever order they are taken."""
    chosen, rejected = (-integers(8, 32, 5, seed=f"eighths of {who}") / 8 for who in ("chosen", "rejected"))
    ours, theirs = (integers(-8, 9, 5, seed=f"steps of {who}") / 8 for who in ("chosen", "rejected"))
    return chosen, rejected, chosen + ours, rejected + theirs, 0.5


usual(exercise, in_eighths)


@exercise.property
def gradients_of_thousands(dpo_loss: Any) -> Seen:
    """the gradient, with log-probabilities down to -10,000

    With log-probabilities of -10,000 your gradient is not right. It is at most beta in size; an exponential of a large
    number on the way makes it NaN.
    """
    chosen, rejected, ours, theirs = far_away(5, "steep")
    inputs = chosen.requires_grad_(), rejected.requires_grad_()
    result = dpo_loss(chosen, rejected, ours, theirs, 1.0)
    if not isinstance(result, Tensor) or not result.requires_grad:
        return {FINITE: True, "of chosen": torch.zeros_like(chosen), "of rejected": torch.zeros_like(chosen)}
    found = torch.autograd.grad(result.sum(), inputs, allow_unused=True)
    a, b = (torch.zeros_like(chosen) if g is None else g for g in found)
    finite = bool(a.isfinite().all() and b.isfinite().all())
    return {FINITE: finite, "of chosen": a.nan_to_num(0.0, 0.0, 0.0), "of rejected": b.nan_to_num(0.0, 0.0, 0.0)}


def as_a_constant(reference: Tensor) -> Tensor:
    return reference.detach()


def log_ratio(ours: Tensor, reference: Tensor) -> Tensor:
    return ours - reference


def chosen_less_rejected(chosen: Tensor, rejected: Tensor) -> Tensor:
    return chosen - rejected


def times_beta(margins: Tensor, beta: float) -> Tensor:
    return beta * margins


def minus_log_sigmoid(logits: Tensor) -> Tensor:
    return -F.logsigmoid(logits)


def mean_of_pairs(losses: Tensor) -> Tensor:
    return losses.mean()


@exercise.assembled
def dpo_in_steps(
    chosen: Tensor,
    rejected: Tensor,
    reference_chosen: Tensor,
    reference_rejected: Tensor,
    beta: float = 0.1,
    *,
    hold: Any = as_a_constant,
    relate: Any = log_ratio,
    compare: Any = chosen_less_rejected,
    weigh: Any = times_beta,
    lose: Any = minus_log_sigmoid,
    average: Any = mean_of_pairs,
) -> Tensor:
    liked = relate(chosen, hold(reference_chosen))
    disliked = relate(rejected, hold(reference_rejected))
    return average(lose(weigh(compare(liked, disliked), beta)))


@exercise.instead_of("hold")
def reference_trained(reference: Tensor) -> Tensor:
    """The reference gets a gradient as well.

    It says where training started. If it may move, the loss falls by making the *reference* worse. Hold it.
    """
    return reference


@exercise.instead_of("relate")
def reference_forgotten(ours: Tensor, reference: Tensor) -> Tensor:
    """You compare the model's log-probabilities alone; the reference has no effect.

    An answer that was unlikely from the start would count as disliked. What counts is how much likelier it has become.
    """
    return ours


@exercise.instead_of("relate")
def reference_added(ours: Tensor, reference: Tensor) -> Tensor:
    """You add the reference's log-probability instead of subtracting it.

    A sum of logarithms is a product of probabilities. The ratio of the two is a difference.
    """
    return ours + reference


@exercise.instead_of("relate")
def ratios_without_logarithm(ours: Tensor, reference: Tensor) -> Tensor:
    """You use the ratio of the probabilities itself; its logarithm is the reward.

    The exponential of a large difference is infinite, and a small one is lost. Stay with differences of logarithms.
    """
    return torch.exp(ours - reference)


@exercise.instead_of("compare")
def rejected_less_chosen(chosen: Tensor, rejected: Tensor) -> Tensor:
    """What stands inside of your σ has the opposite sign.

    So the model learns to prefer what was rejected. Either a difference is turned round, or a minus is missing: the
    logarithm of σ(x) is -softplus(-x).
    """
    return rejected - chosen


@exercise.instead_of("compare")
def rejected_forgotten(chosen: Tensor, rejected: Tensor) -> Tensor:
    """You look at the preferred answers alone.

    A preference is about two answers: what counts is how far the preferred one is ahead of the other.
    """
    return chosen


@exercise.instead_of("compare")
def both_added(chosen: Tensor, rejected: Tensor) -> Tensor:
    """You add the two rewards instead of comparing them.

    Then both answers are made likelier, the rejected one too.
    """
    return chosen + rejected


@exercise.instead_of("weigh")
def divided_by_beta(margins: Tensor, beta: float) -> Tensor:
    """You divide by beta.

    beta is what a log-ratio is worth: a small one lets the model move far before a pair is settled.
    """
    return margins / beta


@exercise.instead_of("weigh")
def beta_unused(margins: Tensor, beta: float) -> Tensor:
    """You do not use beta.

    It says how much a log-ratio is worth, and so how far the model may go from its reference.
    """
    return margins


@exercise.instead_of("lose")
def sigmoid_before_the_logarithm(logits: Tensor) -> Tensor:
    """You form σ, or an exponential, before you take the logarithm; where the model is far on the wrong side nothing
    finite is left.

    σ(-1000) is smaller than any float above 0, and exp(1000) larger than any. Get log σ without forming either.
    """
    return -torch.log(torch.sigmoid(logits))


@exercise.instead_of("lose")
def probability_alone(logits: Tensor) -> Tensor:
    """You average the chance that the rejected answer wins; the logarithm is missing.

    A pair that the model has very wrong then hardly pulls any more, since σ is flat there. The loss is -log σ.
    """
    return 1 - torch.sigmoid(logits)


@exercise.instead_of("lose")
def margin_alone(logits: Tensor) -> Tensor:
    """You average the differences of the rewards; the -log σ is missing.

    Such a loss has no end: it falls for ever as the model moves away. -log σ is content once a pair is settled.
    """
    return -logits


@exercise.instead_of("lose")
def hinge(logits: Tensor) -> Tensor:
    """You use a hinge: a pair whose rewards are 1 apart costs nothing.

    That is another loss. Here a pair costs -log σ of the difference.
    """
    return F.relu(1 - logits)


@exercise.instead_of("lose")
def sign_forgotten(logits: Tensor) -> Tensor:
    """The minus is missing: your loss is negative, and grows as the model follows the preferences.

    The logarithm of a probability is never above 0. The loss is -log σ.
    """
    return F.logsigmoid(logits)


@exercise.instead_of("average")
def summed(losses: Tensor) -> Tensor:
    """You add the pairs up and do not divide.

    Then every step grows with the batch. The mean over the pairs is asked for.
    """
    return losses.sum()


@exercise.instead_of("average")
def one_for_each_pair(losses: Tensor) -> Tensor:
    """You return a number for each pair.

    A loss is one number: the mean over the batch.
    """
    return losses


@exercise.misconception
def margins_averaged_first(
    chosen: Tensor,
    rejected: Tensor,
    reference_chosen: Tensor,
    reference_rejected: Tensor,
    beta: float = 0.1,
) -> Tensor:
    """You average the margins and take -log σ of their mean.

    Then one pair that is right by far makes up for many that are wrong. Each pair has its own -log σ, and these are
    averaged.
    """
    margins = (chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach())
    return -F.logsigmoid(beta * margins.mean())


@exercise.misconception
def divided_outside(
    chosen: Tensor, rejected: Tensor, reference_chosen: Tensor, reference_rejected: Tensor, beta: float = 0.1
) -> Tensor:
    """You divide the loss by beta; it should multiply what stands inside of σ.

    Outside it only scales the steps. Inside it decides when a pair is settled.
    """
    return dpo_loss(chosen, rejected, reference_chosen, reference_rejected, 1.0) / beta


@exercise.misconception
def beta_outside(
    chosen: Tensor, rejected: Tensor, reference_chosen: Tensor, reference_rejected: Tensor, beta: float = 0.1
) -> Tensor:
    """You multiply the loss by beta; it should multiply what stands inside of σ.

    Outside it only scales the steps. Inside it decides when a pair is settled.
    """
    return beta * dpo_loss(chosen, rejected, reference_chosen, reference_rejected, 1.0)


@exercise.misconception
def squared_to_a_target(
    chosen: Tensor, rejected: Tensor, reference_chosen: Tensor, reference_rejected: Tensor, beta: float = 0.1
) -> Tensor:
    """You square the distance of the margin from 1 / (2·beta).

    That is IPO, a loss of its own, which pulls a margin back that has gone too far. DPO's is -log σ(beta·margin).
    """
    margin = chosen - reference_chosen.detach() - (rejected - reference_rejected.detach())
    return (margin - 1 / (2 * beta)).square().mean()


ignores(exercise, "beta")
