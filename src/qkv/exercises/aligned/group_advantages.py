"""The exercise `group_advantages`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import ignores, squeezes, unpacks
from proctor.inside.inputs import booleans, distinct, integers, normal, number, permutation, whole
from proctor.inside.properties import follows_default_dtype, in_either_default, usual
from proctor.inside.situations import Seen, if_it_runs
from qkv.model.aligned import (
    group_advantages,
)

exercise = Exercise(
    group_advantages,
    section="Rewards that can be checked",
    minutes=8,
    difficulty=2,
    why="It takes the place of a second network: the other answers to the same request say what was to be expected.",
    hints=[
        "Eight answers to one request, three of them right: what is the mean reward, and who is above it?",
        "Mean and deviation belong to a group, the last dimension; every leading dimension keeps its own.",
        "What is the deviation of a group of one, divided by the size of the group? And divided by one less?",
        "True and False have no mean. Turn what is not floating into torch's default dtype first.",
    ],
)


def some_rewards() -> tuple[Tensor, float]:
    requests, group = distinct(3, 9, 2, seed="sizes")
    return normal(requests, group, seed="rewards"), number(0.1, 0.3, seed="eps")


@exercise.probe
def rewards_of_requests(group_advantages: Any) -> Seen:
    """a group of rewards for each of several requests"""
    return {"advantages": group_advantages(*some_rewards())}


@exercise.probe
def a_group_or_many(group_advantages: Any) -> Seen:
    """a single group, and groups in two leading dimensions"""
    a, b, group = distinct(2, 7, 3, seed="leading")
    return {
        "of one group": group_advantages(normal(group, seed="one group"), 0.02),
        "of many": group_advantages(normal(a, b, group, seed="many groups"), eps=0.02),
    }


@exercise.probe
def nothing_said_of_eps(group_advantages: Any) -> Seen:
    """rewards that hardly differ, and nothing said of eps"""
    requests, group = distinct(3, 9, 2, seed="sizes of near ones")
    return {"advantages": group_advantages(2e-4 * normal(requests, group, seed="near"))}


@exercise.probe
def right_and_wrong(group_advantages: Any) -> Seen:
    """rewards that are 0 or 1, as floats"""
    requests, group = distinct(4, 10, 2, seed="sizes of checked ones")
    return {"advantages": group_advantages(booleans(requests, group, seed="checked").float())}


@exercise.probe
def as_bools(group_advantages: Any) -> Seen:
    """rewards that are True or False"""
    requests, group = distinct(4, 10, 2, seed="sizes of bools")
    rewards = booleans(requests, group, seed="bools")
    rewards[0, :2] = torch.tensor([True, False])
    return if_it_runs(lambda: {"advantages": in_either_default(group_advantages(rewards))})


@exercise.probe
def as_whole_numbers(group_advantages: Any) -> Seen:
    """rewards that are whole numbers, some below 0"""
    requests, group = distinct(4, 10, 2, seed="sizes of whole ones")
    rewards = integers(-3, 5, requests, group, seed="whole")
    return if_it_runs(lambda: {"advantages": in_either_default(group_advantages(rewards, eps=0.1))})


@exercise.probe
def alike_among_others(group_advantages: Any) -> Seen:
    """groups in which all rewards are 0, 0.5 or 1, among others"""
    (group,) = distinct(3, 9, 1, seed="size of equal ones")
    rewards = normal(6, group, seed="others")
    for value, row in zip((0.0, 0.5, 1.0), permutation(6, seed="rows")[:3].tolist(), strict=True):
        rewards[row] = value
    return {"advantages": group_advantages(rewards)}


@exercise.property
def nobody_to_compare_with(group_advantages: Any) -> Seen:
    """groups of one, and groups in which all are right

    Where no answer is better than another, none has an advantage: a group of one gives 0, and equal rewards give 0.
    """
    a, b = distinct(2, 6, 2, seed="groups of one")
    return {
        "of one": group_advantages(normal(a, b, 1, seed="alone")),
        "of all right": in_either_default(group_advantages(torch.ones(a, b).bool())),
    }


@exercise.property
def rewards_held(group_advantages: Any) -> Seen:
    """rewards that ask for a gradient themselves

    A gradient leads from your advantages back to the rewards. They say how good an answer was, and nothing should
    improve them: hold them, even where they ask for a gradient.
    """
    result = group_advantages(normal(2, whole(3, 7, seed="held group"), seed="held").requires_grad_())
    return {"a gradient reaches the rewards": isinstance(result, Tensor) and result.requires_grad}


usual(exercise, some_rewards, without=("gradients",))
exercise.remark(follows_default_dtype(lambda function: function(booleans(2, 4, seed="for the default"))))


def as_floats(rewards: Tensor) -> Tensor:
    return rewards if rewards.is_floating_point() else rewards.to(torch.get_default_dtype())


def held(rewards: Tensor) -> Tensor:
    return rewards.detach()


def mean_of_the_group(rewards: Tensor) -> Tensor:
    return rewards.mean(-1, keepdim=True)


def better_than(rewards: Tensor, base: Tensor) -> Tensor:
    return rewards - base


def biased(rewards: Tensor) -> Tensor:
    return (rewards - rewards.mean(-1, keepdim=True)).square().mean(-1, keepdim=True).sqrt()


def divided(better: Tensor, deviation: Tensor, eps: float) -> Tensor:
    return better / (deviation + eps)


@exercise.assembled
def advantages_in_steps(
    rewards: Tensor,
    eps: float = 1e-4,
    *,
    convert: Any = as_floats,
    hold: Any = held,
    expect: Any = mean_of_the_group,
    compare: Any = better_than,
    spread: Any = biased,
    scale: Any = divided,
) -> Tensor:
    rewards = hold(convert(rewards))
    return scale(compare(rewards, expect(rewards)), spread(rewards), eps)


@exercise.instead_of("convert")
def floats_only(rewards: Tensor) -> Tensor:
    """Your code fails for rewards that are not floating.

    A checker says True or False, and torch takes no mean of these. Turn them into torch's default dtype first.
    """
    if not rewards.is_floating_point():
        raise RuntimeError("mean(): could not infer output dtype")
    return rewards


@exercise.instead_of("hold")
def rewards_trained(rewards: Tensor) -> Tensor:
    """A gradient leads from your advantages back to the rewards.

    If rewards come out of a network, the policy's loss would train that too. Hold them.
    """
    return rewards


@exercise.instead_of("expect")
def mean_of_everything(rewards: Tensor) -> Tensor:
    """You subtract the mean of all rewards, over all groups.

    Then every answer to an easy request looks good. What was to be expected is the mean of the answers to the *same*
    request.
    """
    return rewards.mean()


@exercise.instead_of("expect")
def best_of_the_group(rewards: Tensor) -> Tensor:
    """You subtract the best reward of each group.

    Then nobody is ever better than expected. What is expected is the mean.
    """
    return rewards.amax(-1, keepdim=True)


@exercise.instead_of("expect")
def mean_of_the_others(rewards: Tensor) -> Tensor:
    """You compare each answer with the mean of the *others* in its group.

    That is leave-one-out, another baseline; a group of one has no others. Here the mean is over the whole group.
    """
    size = rewards.shape[-1]
    return (rewards.sum(-1, keepdim=True) - rewards) / (size - 1)


@exercise.instead_of("expect")
def middle_of_the_group(rewards: Tensor) -> Tensor:
    """You subtract the median of the group.

    The mean is asked for: with it the advantages of a group sum to 0.
    """
    return rewards.median(-1, keepdim=True).values


@exercise.instead_of("compare")
def never_centred(rewards: Tensor, base: Tensor) -> Tensor:
    """You divide the rewards without subtracting their mean.

    Then every answer that is not punished is made likelier, also one that is worse than its like.
    """
    return rewards


@exercise.instead_of("compare")
def mean_less_reward(rewards: Tensor, base: Tensor) -> Tensor:
    """You subtract the reward from the mean.

    Then the worst answer has the largest advantage.
    """
    return base - rewards


@exercise.instead_of("spread")
def one_less(rewards: Tensor) -> Tensor:
    """You divide by one less than the size of the group in the deviation.

    That is torch's default, and for a group of one it would be 0/0. The biased deviation is asked for.
    """
    return rewards.std(-1, keepdim=True)


@exercise.instead_of("spread")
def variance(rewards: Tensor) -> Tensor:
    """You divide by the variance; its root is missing.

    The variance has the unit of the reward squared: with rewards twice as large, advantages would be half as large.
    """
    return biased(rewards).square()


@exercise.instead_of("spread")
def spread_of_everything(rewards: Tensor) -> Tensor:
    """You take one deviation of all rewards, over all groups.

    Each group has a deviation of its own.
    """
    return rewards.std(correction=0)


@exercise.instead_of("spread")
def length_of_the_group(rewards: Tensor) -> Tensor:
    """You divide by the length of the vector of differences; the mean inside the root is missing.

    Then answers of a large group have small advantages.
    """
    return (rewards - rewards.mean(-1, keepdim=True)).norm(dim=-1, keepdim=True)


@exercise.instead_of("spread")
def mean_distance(rewards: Tensor) -> Tensor:
    """You divide by the mean distance from the mean.

    The deviation is the root of the mean *square*.
    """
    return (rewards - rewards.mean(-1, keepdim=True)).abs().mean(-1, keepdim=True)


@exercise.instead_of("scale")
def never_divided(better: Tensor, deviation: Tensor, eps: float) -> Tensor:
    """You do not divide by the deviation.

    There are good reasons to leave it out, which the chapter measures. The exercise asks for it.
    """
    return better


@exercise.instead_of("scale")
def without_eps(better: Tensor, deviation: Tensor, eps: float) -> Tensor:
    """You do not use eps, and a group of equal rewards gives 0/0.

    Where all answers are right, or all wrong, the deviation is 0. eps is added to it before it divides.
    """
    return better / deviation


@exercise.instead_of("scale")
def eps_under_the_root(better: Tensor, deviation: Tensor, eps: float) -> Tensor:
    """You add eps to the variance, under the root.

    In a norm it stands there. Here it is added to the deviation itself, where it has the unit of a reward.
    """
    return better / (deviation.square() + eps).sqrt()


@exercise.instead_of("scale")
def eps_as_a_floor(better: Tensor, deviation: Tensor, eps: float) -> Tensor:
    """You use eps only where the deviation is smaller.

    It is added to every deviation, large or small.
    """
    return better / deviation.clamp(min=eps)


@exercise.instead_of("scale")
def multiplied(better: Tensor, deviation: Tensor, eps: float) -> Tensor:
    """You multiply by the deviation where you should divide.

    Dividing makes groups comparable, whatever the unit of their rewards is.
    """
    return better * (deviation + eps)


@exercise.misconception
def over_the_requests(rewards: Tensor, eps: float = 1e-4) -> Tensor:
    """You take mean and deviation over the first dimension.

    The answers to one request are the *last* dimension. The first holds requests, which have nothing to do with each
    other.
    """
    return group_advantages(rewards.movedim(0, -1), eps).movedim(-1, 0)


ignores(exercise, "eps")
squeezes(exercise)
unpacks(exercise, "rewards", "requests", "group")
