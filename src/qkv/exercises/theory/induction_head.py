"""The exercise `induction_head`."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, integers, permutation, whole
from proctor.inside.properties import (
    FLOATING,
    default_dtype,
    follows_default_dtype,
    in_either_default,
    usual,
)
from proctor.inside.situations import Seen
from qkv.model.theory import (
    induction_head,
)

exercise = Exercise(
    induction_head,
    section="What followed it before",
    minutes=20,
    difficulty=3,
    why="This is how a language model repeats what it has read just now: a circuit of two heads, found in real models.",
    hints=[
        "First without tensors: for one t, which u are asked for, and which token does each of them vote for?",
        "Give each position j the token before it, ids[j-1]. The question at t is then: at which j is that token "
        "ids[t]?",
        "Both comparisons at once are a table (query, key) of True and False. Which part of it lies in the future?",
        "The table, as numbers, times the one-hot rows of the tokens counts the votes. Divide by how many there are, "
        "but never by 0.",
    ],
    equivalents={
        "nothing = torch.full_like(ids[..., :1], -1)  ->  nothing = torch.full_like(ids[..., :1], -2)": (
            "no id is negative, so that either is like none of them"
        ),
    },
)


def repeating(*shape: int, vocab: int, seed: str = "ids") -> Tensor:
    return integers(0, vocab, *shape, seed=seed)


def repeating_texts() -> tuple[Tensor, int]:
    batch, seq = distinct(8, 16, 2, seed="sizes")
    vocab = whole(3, 6, seed="vocab")
    return repeating(batch, seq, vocab=vocab), vocab


@exercise.probe
def texts_of_few_tokens(induction_head: Any) -> Seen:
    """some texts of few tokens, which repeat them"""
    return {"predictions": induction_head(*repeating_texts())}


@exercise.probe
def one_text(induction_head: Any) -> Seen:
    """one text, no leading dimension, with tokens of the vocabulary that do not occur"""
    vocab, more = whole(4, 7, seed="vocab"), whole(2, 6, seed="more")
    return {"predictions": induction_head(repeating(whole(14, 20, seed="n"), vocab=vocab), vocab + more)}


@exercise.probe
def nothing_repeated(induction_head: Any) -> Seen:
    """a text in which no token occurs twice, and then two of them again"""
    n = whole(5, 10, seed="n")
    ids = permutation(n, seed="ids")
    again = ids[torch.tensor(distinct(0, n - 1, 2, seed="again"))]
    return {
        "predictions": induction_head(ids, n),
        "predictions with two again": induction_head(torch.cat([ids, again]), n),
    }


@exercise.probe
def runs_of_a_token(induction_head: Any) -> Seen:
    """tokens that follow themselves at once"""
    vocab = whole(3, 6, seed="vocab")
    runs = integers(1, 4, 6, seed="runs")
    runs[whole(0, 6, seed="a run")] = 3
    return {"predictions": induction_head(repeating(6, vocab=vocab).repeat_interleave(runs), vocab)}


@exercise.probe
def several_followers(induction_head: Any) -> Seen:
    """one token that is followed by several others, by some of them more often"""
    followers = 1 + integers(0, 3, 3, 8, seed="followers")
    ids = torch.stack([torch.zeros_like(followers), followers], -1).flatten(-2)
    return {"predictions": induction_head(torch.cat([ids, torch.zeros(3, 1).long()], -1), 4)}


@exercise.probe
def many_texts_and_sizes_of_one(induction_head: Any) -> Seen:
    """two leading dimensions; a text of one token; a vocabulary of one"""
    a, b, n = distinct(2, 8, 3, seed="sizes")
    vocab = whole(3, 6, seed="vocab")
    return {
        "predictions of many": induction_head(repeating(a, b, n + 6, vocab=vocab), vocab),
        "predictions of one token": induction_head(repeating(a, 1, vocab=vocab), vocab),
        "predictions of one kind": induction_head(torch.zeros(b, n).long(), 1),
    }


usual(exercise, repeating_texts, without=FLOATING)


@exercise.property
def predictions_in_the_default_dtype(induction_head: Any) -> Seen:
    """float64 as torch's default dtype

    With float64 as torch's default dtype your result is neither float64 nor float32, or its numbers are not right.
    """
    with default_dtype(torch.float64):
        result = in_either_default(induction_head(*repeating_texts()))
    return {"the result has the right dtype": result.dtype == torch.float64, "predictions": result.float()}


def some_predictions(induction_head: Any) -> Tensor:
    return induction_head(*repeating_texts())


exercise.remark(follows_default_dtype(some_predictions))


def as_rows(ids: Tensor, vocab: int) -> Tensor:
    return F.one_hot(ids, vocab).to(torch.get_default_dtype())


def earlier_and_equal(ids: Tensor) -> Tensor:
    """(..., t, u): is u before t, and is the token the same?"""
    return (ids.unsqueeze(-1) == ids.unsqueeze(-2)).tril(-1)


def equal_before_the_last(ids: Tensor) -> Tensor:
    """(..., t, u): is the token the same, whatever the order? After the last one nothing came."""
    last = torch.arange(ids.shape[-1], device=ids.device) == ids.shape[-1] - 1
    return (ids.unsqueeze(-1) == ids.unsqueeze(-2)) & ~last


def what_came_next(rows: Tensor) -> Tensor:
    return torch.cat([rows[..., 1:, :], torch.zeros_like(rows[..., :1, :])], -2)


def mean_of_votes(matches: Tensor, votes: Tensor) -> Tensor:
    return counted_votes(matches, votes) / matches.sum(-1, keepdim=True).clamp(min=1)


@exercise.assembled
def induction_in_steps(
    ids: Tensor,
    vocab: int,
    *,
    match: Any = earlier_and_equal,
    follow: Any = what_came_next,
    average: Any = mean_of_votes,
) -> Tensor:
    return average(match(ids), follow(as_rows(ids, vocab)))


@exercise.instead_of("match")
def itself_matched_too(ids: Tensor) -> Tensor:
    """The position itself counts as an occurrence, so the token after it is seen: that which is to be predicted.

    u is before t. With u = t the answer ids[t+1] leaks from the future.
    """
    return equal_before_the_last(ids).tril()


@exercise.instead_of("match")
def future_matched_too(ids: Tensor) -> Tensor:
    """Later occurrences count as well.

    At t only what was read before is known: u < t.
    """
    return equal_before_the_last(ids)


@exercise.instead_of("match")
def neighbour_left_out(ids: Tensor) -> Tensor:
    """You leave out u = t-1, so a token that follows itself at once is not noticed.

    Its follower ids[u+1] is the token at t itself, which is known. All u < t count.
    """
    return (ids.unsqueeze(-1) == ids.unsqueeze(-2)).tril(-2)


@exercise.instead_of("match")
def latest_match_alone(ids: Tensor) -> Tensor:
    """Only the latest earlier occurrence counts.

    All of them have a vote, and count alike.
    """
    matches = earlier_and_equal(ids)
    later = matches.long().flip(-1).cumsum(-1).flip(-1)
    return matches & (later == 1)


@exercise.instead_of("match")
def first_match_alone(ids: Tensor) -> Tensor:
    """Only the first occurrence counts.

    All of them have a vote, and count alike.
    """
    matches = earlier_and_equal(ids)
    return matches & (matches.long().cumsum(-1) == 1)


@exercise.instead_of("match")
def all_earlier_ones(ids: Tensor) -> Tensor:
    """Every earlier position has a vote, whichever token stands there.

    Only those count where the token of t stood before.
    """
    return torch.ones_like(earlier_and_equal(ids)).tril(-1)


@exercise.instead_of("follow")
def the_match_itself(rows: Tensor) -> Tensor:
    """You copy the token that was found, not the one after it.

    What was found is the token that stands here anyway. The prediction is what followed it.
    """
    return rows


@exercise.instead_of("follow")
def what_came_before(rows: Tensor) -> Tensor:
    """You copy the token before the earlier occurrence, not the one after it.

    The shift goes the other way: u votes for ids[u+1].
    """
    return torch.cat([torch.zeros_like(rows[..., :1, :]), rows[..., :-1, :]], -2)


@exercise.instead_of("follow")
def two_steps_on(rows: Tensor) -> Tensor:
    """You copy the token two places after the earlier occurrence.

    One shift is enough: if the keys are moved by one already, the values stay where they are.
    """
    return what_came_next(what_came_next(rows))


@exercise.instead_of("average")
def counted_votes(matches: Tensor, votes: Tensor) -> Tensor:
    """You return how often each token followed; it should be the average.

    Where something was found the row sums to 1, as attention's weights do.
    """
    return matches.to(votes.dtype) @ votes


@exercise.instead_of("average")
def each_follower_once(matches: Tensor, votes: Tensor) -> Tensor:
    """You count whether a token followed, not how often.

    A token that followed three times out of four has a share of 3/4. Every occurrence is one vote.
    """
    followed = (counted_votes(matches, votes) > 0).to(votes.dtype)
    return followed / followed.sum(-1, keepdim=True).clamp(min=1)


@exercise.instead_of("average")
def divided_by_all_earlier(matches: Tensor, votes: Tensor) -> Tensor:
    """You divide by the number of earlier positions.

    The average is over those where the token was found.
    """
    earlier = torch.arange(matches.shape[-1], device=matches.device).clamp(min=1)
    return counted_votes(matches, votes) / earlier.unsqueeze(-1)


@exercise.instead_of("average")
def nothing_found_is_nan(matches: Tensor, votes: Tensor) -> Tensor:
    """Where the token has not occurred before, your rows are NaN.

    It is 0 divided by 0, or a softmax over nothing. Who has found nothing predicts nothing: zeros.
    """
    return counted_votes(matches, votes) / matches.sum(-1, keepdim=True)


@exercise.instead_of("average")
def nothing_found_is_anything(matches: Tensor, votes: Tensor) -> Tensor:
    """Where the token has not occurred before, you predict all tokens alike.

    Here such a row is 0: the head adds nothing to what the rest of the model knows.
    """
    nothing = ~matches.any(-1, keepdim=True)
    return torch.where(nothing, 1 / votes.shape[-1], mean_of_votes(matches, votes))


@exercise.instead_of("average")
def one_vote_too_many(matches: Tensor, votes: Tensor) -> Tensor:
    """You divide by one more than was found.

    It avoids the division by 0, and makes every row too small. Only a count of 0 needs help.
    """
    return counted_votes(matches, votes) / (matches.sum(-1, keepdim=True) + 1)


@exercise.instead_of("average")
def only_the_winner(matches: Tensor, votes: Tensor) -> Tensor:
    """You predict the most frequent follower alone.

    All followers have their share, as often as they came.
    """
    winner = F.one_hot(counted_votes(matches, votes).argmax(-1), votes.shape[-1]).to(votes.dtype)
    return winner * matches.any(-1, keepdim=True)


@exercise.misconception
def one_position_late(ids: Tensor, vocab: int) -> Tensor:
    """Your rows are one position late: at t stands what belongs to t-1.

    The row at t predicts the token after t, from the token at t.
    """
    rows = induction_head(ids, vocab)
    return torch.cat([torch.zeros_like(rows[..., :1, :]), rows[..., :-1, :]], -2)


squeezes(exercise)
unpacks(exercise, "ids", "batch", "seq")
