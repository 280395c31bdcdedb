"""Aligned: what is done to a language model after pre-training, and how its answers are counted.

Ouyang et al. 2022 (demonstrations, then preferences); Bradley and Terry 1952 (pairs); Rafailov et al. 2023 (DPO); Shao
et al. 2024 (group-relative rewards); Schulman et al. 2017 (the clipped ratio); Chen et al. 2021 (pass@k); Wang et al.
2023 (votes). Shapes: see model/__init__.py. In an answer mask the words of the answer are True, as targets: the word
at t is judged by the logits at t - 1, so nobody predicts the first word of a text, whatever the mask says there.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.expect import expects
from qkv.model.positions import also

Answer = TypeVar("Answer", bound=Hashable)


def no_such_word(logits: Tensor, ids: Tensor, answer: Tensor) -> str:
    vocab = logits.shape[-1]
    smallest, largest = int(ids.min()), int(ids.max())
    if smallest >= 0 and largest < vocab:
        return ""
    return f"ids has {smallest if smallest < 0 else largest}, expected words of the vocabulary, 0 to {vocab - 1}."


def no_answer(answer: Tensor) -> str:
    if answer[:, 1:].any():
        return ""
    return "answer has no True after its first column, so there is no word to judge. Mark the words of the answers."


def nothing_to_learn(logits: Tensor, ids: Tensor, answer: Tensor) -> str:
    return no_answer(answer) or no_such_word(logits, ids, answer)


def not_pairs(rewards: Tensor, pairs: Tensor) -> str:
    if pairs.shape[1] != 2:
        return f"pairs has {pairs.shape[1]} columns, expected 2: the winner and the loser."
    smallest, largest = int(pairs.min()), int(pairs.max())
    if smallest >= 0 and largest < len(rewards):
        return ""
    return f"pairs has {smallest if smallest < 0 else largest}, expected indices of rewards, 0 to {len(rewards) - 1}."


def no_group(rewards: Tensor, eps: float) -> str:
    if not isinstance(rewards, Tensor):
        return f"rewards is a {type(rewards).__name__}, expected a tensor of shape (..., group)."
    if rewards.dim() == 0 or rewards.shape[-1] == 0:
        return f"rewards has shape {tuple(rewards.shape)}, expected (..., group) with at least one answer in a group."
    return ""


def not_clippable(
    new: Tensor, old: Tensor, reference: Tensor, advantages: Tensor, answer: Tensor, clip: float, kl: float
) -> str:
    if reference is None:
        return "reference is None, expected log-probabilities (batch, seq). Where kl is 0, `old` will do."
    if not clip >= 0:
        return f"clip is {clip}, expected 0 or more."
    if not kl >= 0:
        return f"kl is {kl}, expected 0 or more."
    return no_answer(answer)


def impossible_counts(n: int, right: int, k: int) -> str:
    if right > n:
        return f"right is {right}, expected at most n = {n}: so many answers there are."
    if k > n:
        return f"k is {k}, expected at most n = {n}: answers are drawn without return. Sample more, or ask for less."
    return ""


def unfit_votes(answers: Sequence[Hashable | None], weights: Sequence[float] | None) -> str:
    if isinstance(answers, str):
        return "answers is a single string, expected a list of answers."
    for i, answer in enumerate(answers):
        if not isinstance(answer, Hashable):
            return f"answers[{i}] is a {type(answer).__name__}, expected something hashable. Use a tuple, or a string."
    if weights is None:
        return ""
    if len(weights) != len(answers):
        return f"weights has {len(weights)} entries, expected {len(answers)}: one for each answer, None included."
    for i, weight in enumerate(weights):
        if not weight >= 0:
            return f"weights[{i}] is {weight}, expected 0 or more."
    return ""


@expects(logits="batch seq vocab", ids="int: batch seq", answer="bool: batch seq")
@also.expects(nothing_to_learn)
def answer_loss(logits: Tensor, ids: Tensor, answer: Tensor) -> Tensor:
    """Say how surprised a model is by answers that it should imitate; requests are read, not learned.

    Args:
        logits: scores of the next word (batch, seq, vocab), as large as ±1e4:
            logits[b, t-1] predicts ids[b, t]. Where no word of an answer is
            predicted they may be any finite numbers, and have no effect.
        ids: requests, each followed by its answer (batch, seq), int64.
        answer: bool (batch, seq), True on the words of the answers, their
            `<end>` included. answer[:, 0] is ignored: nobody predicts the first
            word. At least one other is True.

    Returns:
        loss, a scalar: the mean of -log p over all words of all answers, every
        word counting alike, whatever text it is in.
    """
    kept = answer[:, 1:]  # as targets, (batch, seq - 1)
    predicted, said = logits[:, :-1][kept], ids[:, 1:][kept]  # (word, vocab), (word,)
    return F.cross_entropy(predicted, said)


@expects(logits="batch seq vocab", ids="int: batch seq", answer="bool: batch seq")
@also.expects(no_such_word)
def sequence_log_probability(logits: Tensor, ids: Tensor, answer: Tensor) -> Tensor:
    """Say how likely a model finds each answer as a whole: its words' log-probabilities, summed.

    Args:
        logits: scores of the next word (batch, seq, vocab), as large as ±1e4:
            logits[b, t-1] predicts ids[b, t]. Where no word of an answer is
            predicted they may be any finite numbers, and have no effect.
        ids: requests, each followed by its answer (batch, seq), int64.
        answer: bool (batch, seq), True on the words of the answers, their
            `<end>` included. answer[:, 0] is ignored.

    Returns:
        the sum of log p over the words of each answer (batch,). A row without
        an answer gives 0, and its gradient is 0.
    """
    log_p = logits[:, :-1].log_softmax(dim=-1)  # (batch, seq - 1, vocab)
    of_said = log_p.gather(-1, ids[:, 1:, None]).squeeze(-1)  # (batch, seq - 1)
    return of_said.masked_fill(~answer[:, 1:], 0.0).sum(dim=-1)


@expects(rewards="n", pairs="int: m columns")
@also.expects(not_pairs)
def bradley_terry_loss(rewards: Tensor, pairs: Tensor) -> Tensor:
    """Say how badly rewards explain who was preferred to whom.

    A difference of rewards is the log-odds that the winner wins.

    Args:
        rewards: a number for each answer (n,), of any size: differences of
            ±1e4 occur.
        pairs: int64 (m, 2), in each row the index of the winner and that of the
            loser. An answer may be in many pairs, or in none; m = 0 is
            undefined.

    Returns:
        loss, a scalar: the mean over all pairs of -log σ(winner - loser).
    """
    winners, losers = rewards[pairs[:, 0]], rewards[pairs[:, 1]]
    return -F.logsigmoid(winners - losers).mean()


@expects(chosen="batch", rejected="batch", reference_chosen="batch", reference_rejected="batch", beta="above 0")
def dpo_loss(
    chosen: Tensor,
    rejected: Tensor,
    reference_chosen: Tensor,
    reference_rejected: Tensor,
    beta: float = 0.1,
) -> Tensor:
    """Teach a model preferences directly: its own log-ratios are the rewards.

    The reward of an answer is beta times the log of how much likelier the model
    finds it than the reference does.

    Args:
        chosen: log-probability of each preferred answer (batch,), under the model
            that learns.
        rejected: that of the answer it was preferred to (batch,).
        reference_chosen: that of the preferred one (batch,) under the model that
            training started from; held: no gradient reaches it.
        reference_rejected: that of the other (batch,), held as well.
        beta: how much a log-ratio is worth, above 0.

    Returns:
        loss, a scalar: the mean over the batch of -log σ of the difference of
        the two rewards, finite for log-probabilities of ±1e4.
    """
    gain_of_chosen = chosen - reference_chosen.detach()  # log-ratios, (batch,)
    gain_of_rejected = rejected - reference_rejected.detach()
    return -F.logsigmoid(beta * (gain_of_chosen - gain_of_rejected)).mean()


@also.expects(no_group)
def group_advantages(rewards: Tensor, eps: float = 1e-4) -> Tensor:
    """Say how much better each answer is than the others to the same request.

    Args:
        rewards: one for each answer (..., group), floating, whole or bool.
        eps: added to the deviation before it divides.

    Returns:
        (reward - mean) / (deviation + eps) over each group (..., group), the
        deviation biased (divided by the size of the group, not one less). Equal
        rewards give 0, and a group of one gives 0. Whole and bool rewards give
        torch's default dtype. Held: no gradient reaches the rewards.
    """
    rewards = rewards.detach()
    if not rewards.is_floating_point():
        rewards = rewards.to(torch.get_default_dtype())
    mean = rewards.mean(dim=-1, keepdim=True)
    deviation = rewards.std(dim=-1, keepdim=True, correction=0)  # biased: 0, not NaN, for a group of one
    return (rewards - mean) / (deviation + eps)


@expects(new="batch seq", old="batch seq", reference="batch seq", advantages="batch", answer="bool: batch seq")
@also.expects(not_clippable)
def clipped_loss(
    new: Tensor,
    old: Tensor,
    reference: Tensor,
    advantages: Tensor,
    answer: Tensor,
    clip: float = 0.2,
    kl: float = 0.0,
) -> Tensor:
    """Make good answers likelier and bad ones less, in small steps and not far from where training started.

    Of a word of an answer with the advantage A, and with ρ = e^(new - old) and
    d = reference - new, it is
    -min(ρ·A, cut(ρ, 1 - clip, 1 + clip)·A) + kl·(e^d - d - 1).

    Args:
        new: log-probability of each word under the model that learns (batch, seq).
        old: the same under the model that wrote the answers (batch, seq).
        reference: the same (batch, seq) under the model that training started
            from. None is undefined, also where kl is 0.
        advantages: how much better each answer was than its like (batch,).
        answer: bool (batch, seq), True on the words of the answers. answer[:, 0]
            is ignored: nobody predicts the first word. At least one other is
            True. Outside of the answers log-probabilities may be any finite
            numbers, and have no effect.
        clip: how far from 1 a ratio is still followed, 0 or more.
        kl: what it costs to leave the reference, 0 or more.

    Returns:
        loss, a scalar to be made small: the mean over all words of all answers
        of the batch. Only `new` has a gradient, 0 outside of the answers; old,
        reference and advantages are held. Where new and old are so far apart
        inside an answer that e^ overflows, it is undefined.
    """
    kept = answer[:, 1:]  # (batch, seq - 1)
    now, before, start = new[:, 1:][kept], old.detach()[:, 1:][kept], reference.detach()[:, 1:][kept]  # (word,)
    advantage = advantages.detach()[:, None].expand_as(kept)[kept]  # each word has that of its answer
    ratio = (now - before).exp()
    loss = -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)
    if kl:  # 0 times what overflows would be NaN
        distance = start - now
        loss = loss + kl * (distance.exp() - distance - 1)
    return loss.mean()


@expects(n="positive", right="size", k="positive")
@also.expects(impossible_counts)
def pass_at_k(n: int, right: int, k: int) -> float:
    """Say how likely k answers have a right one among them, after n of them were judged.

    Args:
        n: how many answers were drawn.
        right: how many of these are right, 0 … n.
        k: how many one would draw, 1 … n, of these n and without return.

    Returns:
        1 - C(n - right, k) / C(n, k), exact to nine decimal places,
        for n = 10,000 as well.
    """
    return 1 - math.comb(n - right, k) / math.comb(n, k)


@also.expects(unfit_votes)
def majority_vote(answers: Sequence[Answer | None], weights: Sequence[float] | None = None) -> Answer | None:
    """Take the answer that most samples agree on.

    Args:
        answers: anything hashable, or None where a sample has no answer: None
            does not vote.
        weights: how much each vote counts, 0 or more, one for each answer; None
            counts each once. A vote of weight 0 counts as having come.

    Returns:
        the answer with the largest total; of equals the one that came first.
        None if nobody votes.
    """
    if weights is None:
        weights = [1] * len(answers)
    totals: dict[Answer, float] = {}  # in the order of their first votes
    for answer, weight in zip(answers, weights, strict=True):
        if answer is not None:
            totals[answer] = totals.get(answer, 0) + weight
    return max(totals, key=totals.__getitem__, default=None)  # of equals the first
