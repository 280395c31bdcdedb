"""The exercise `bracket_state`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import booleans, distinct, integers, permutation, whole
from proctor.inside.properties import (
    FLOATING,
    usual,
)
from proctor.inside.situations import Seen
from qkv.model.theory import (
    bracket_state,
)

exercise = Exercise(
    bracket_state,
    section="Do the brackets close?",
    minutes=10,
    difficulty=1,
    why="A language with nesting, read without recursion: two counts and a minimum, which attention can do.",
    hints=[
        "Count +1 for an opening, -1 for a closing bracket, 0 for all else. What does the running sum say?",
        "A text is lost as soon as that sum was below 0 once. What do you have to know of all sums so far?",
        "`cumsum` gives the sum up to each token, `cummin(…).values` the smallest so far.",
    ],
    equivalents={
        "return torch.where(lowest < 0, 2, (depth > 0).long())  ->  return torch.where(lowest < 0, 2, depth > 0)": (
            "beside a whole number a bool becomes int64"
        ),
    },
)


A_TEXT = (1, 1, 1, 1, 2, 2, 0, 3)  # which more often opens than closes, so that not all are lost


def bracket_text(*shape: int, seed: str = "text") -> Tensor:
    return torch.tensor(A_TEXT)[integers(0, len(A_TEXT), *shape, seed=seed)]


def some_texts() -> tuple[Tensor]:
    return (bracket_text(*distinct(4, 14, 2, seed="sizes")),)


@exercise.probe
def texts_with_brackets(bracket_state: Any) -> Seen:
    """several texts, with tokens between the brackets"""
    return {"states": bracket_state(*some_texts())}


@exercise.probe
def one_text_of_brackets(bracket_state: Any) -> Seen:
    """one text, no leading dimension: brackets alone, as often closed as opened"""
    half = whole(5, 9, seed="half")
    return {"states": bracket_state(1 + permutation(2 * half, seed="order") % 2)}


@exercise.probe
def lost_and_opened_again(bracket_state: Any) -> Seen:
    """texts that close too much, and then open again"""
    before, after = distinct(2, 7, 2, seed="sizes")
    lost = torch.tensor([[1, 2, 2], [2, 1, 0], [0, 2, 1]])
    parts = [bracket_text(3, before, seed="before"), lost, torch.ones(3, 3).long(), bracket_text(3, after)]
    return {"states": bracket_state(torch.cat(parts, -1)), "states at once": bracket_state(torch.cat(parts[1:], -1))}


@exercise.probe
def pairs_that_close(bracket_state: Any) -> Seen:
    """texts of pieces that are balanced, such as () and (()), never lost"""
    pieces = ([1, 2], [1, 1, 2, 2], [1, 0, 2], [3], [1, 2, 1, 2], [1, 1, 2, 1, 2, 2])
    drawn = integers(0, len(pieces), 8, seed="pieces").tolist()
    text = [token for i in drawn for token in pieces[i]]
    return {"states": bracket_state(torch.tensor([1, *text, 2, *text]))}


@exercise.probe
def tokens_that_are_no_brackets(bracket_state: Any) -> Seen:
    """ids that are negative, 0, 3, 4 or large between the brackets"""
    ids = bracket_text(5, whole(7, 15, seed="n"))
    others = torch.tensor([-2, -1, 0, 3, 4, 50_000])[integers(0, 6, *ids.shape, seed="others")]
    ids = torch.where(booleans(*ids.shape, seed="where", p=0.4), others, ids)
    return {"states": bracket_state(ids), "states without brackets": bracket_state(others)}


@exercise.probe
def deeply_nested(bracket_state: Any) -> Seen:
    """some hundred brackets that are opened, then as many closed, and one more"""
    deep = whole(260, 300, seed="deep")
    return {"states": bracket_state(torch.tensor([1] * deep + [2] * (deep + 1)))}


@exercise.probe
def many_texts_and_short_ones(bracket_state: Any) -> Seen:
    """two leading dimensions; texts of one token"""
    a, b, n = distinct(2, 8, 3, seed="sizes")
    return {
        "states of many": bracket_state(bracket_text(a, b, n)),
        "states of one token": bracket_state(torch.cat([bracket_text(a, 1), torch.tensor([[2], [1], [5]])])),
    }


usual(exercise, some_texts, without=FLOATING)


def up_and_down(ids: Tensor) -> Tensor:
    return (ids == 1).long() - (ids == 2).long()


def running_sum(steps: Tensor) -> Tensor:
    return steps.cumsum(-1)


def ever_below_zero(depth: Tensor) -> Tensor:
    return depth.cummin(-1).values < 0


def three_states(depth: Tensor, lost: Tensor) -> Tensor:
    return torch.where(lost, 2, (depth > 0).long())


@exercise.assembled
def brackets_in_steps(
    ids: Tensor,
    *,
    step: Any = up_and_down,
    add: Any = running_sum,
    losing: Any = ever_below_zero,
    state: Any = three_states,
) -> Tensor:
    depth = add(step(ids))
    return state(depth, losing(depth))


@exercise.instead_of("step")
def closing_opens(ids: Tensor) -> Tensor:
    """You take 2 for opening and 1 for closing.

    1 opens, 2 closes.
    """
    return -up_and_down(ids)


@exercise.instead_of("step")
def all_else_closes(ids: Tensor) -> Tensor:
    """Whatever does not open counts as closing.

    There are other tokens, too: they change nothing.
    """
    return torch.where(ids == 1, 1, -1)


@exercise.instead_of("step")
def larger_ids_close(ids: Tensor) -> Tensor:
    """Every id from 2 on counts as closing.

    2 closes; 3 and all above are no brackets.
    """
    return (ids == 1).long() - (ids >= 2).long()


@exercise.instead_of("add")
def whole_text_judged(steps: Tensor) -> Tensor:
    """You judge the whole text and say the same at every token.

    The state is asked for after each token, from what has been read so far.
    """
    return steps.sum(-1, keepdim=True).expand(steps.shape)


@exercise.instead_of("add")
def one_token_late(steps: Tensor) -> Tensor:
    """Your state is the one before each token.

    The token itself counts: after a first opening bracket something is open.
    """
    return steps.cumsum(-1) - steps


@exercise.instead_of("add")
def along_the_first_dimension(steps: Tensor) -> Tensor:
    """You count along the first dimension, from one text to the next.

    A text runs along the last dimension; each is read by itself.
    """
    return steps.cumsum(0)


@exercise.instead_of("losing")
def loss_forgiven(depth: Tensor) -> Tensor:
    """You look only at how many are open now, so a text that was lost recovers.

    A closing bracket without a partner stays without one, whatever is opened later. ")(" is not balanced.
    """
    return depth < 0


@exercise.instead_of("losing")
def lost_before_it_happens(depth: Tensor) -> Tensor:
    """A text that is lost somewhere is lost from its first token on.

    You take the smallest depth of the whole text. Before the fatal token everything could still have become right.
    """
    return (depth.amin(-1, keepdim=True) < 0).expand(depth.shape)


@exercise.instead_of("losing")
def lost_at_the_end_only(depth: Tensor) -> Tensor:
    """A text counts as lost if more is closed than opened at its end.

    It is lost as soon as that was so once, even if the numbers are equal in the end.
    """
    return (depth[..., -1:] < 0).expand(depth.shape)


@exercise.instead_of("losing")
def never_lost(depth: Tensor) -> Tensor:
    """You never say that a text is lost.

    More closed than opened can't be mended: that is state 2.
    """
    return torch.zeros_like(depth, dtype=torch.bool)


@exercise.instead_of("state")
def depth_for_state(depth: Tensor, lost: Tensor) -> Tensor:
    """Where brackets are open you return how many.

    One state stands for all of them: 1.
    """
    return torch.where(lost, 2, depth)


@exercise.instead_of("state")
def balanced_is_one(depth: Tensor, lost: Tensor) -> Tensor:
    """You return 1 for balanced and 0 for open.

    It is the other way round: 0 is balanced, 1 is open.
    """
    return torch.where(lost, 2, (depth == 0).long())


@exercise.instead_of("state")
def lost_is_minus_one(depth: Tensor, lost: Tensor) -> Tensor:
    """You return -1 where a text is lost.

    The sign of the depth is near, but the third state is called 2.
    """
    return torch.where(lost, -1, (depth > 0).long())


@exercise.instead_of("state")
def parity_of_the_depth(depth: Tensor, lost: Tensor) -> Tensor:
    """You return whether the depth is odd.

    Two brackets that are open are not balanced either: what counts is whether the depth is above 0.
    """
    return torch.where(lost, 2, depth % 2)


@exercise.misconception
def closing_nothing_ignored(ids: Tensor) -> Tensor:
    """A closing bracket that has no partner is passed over in silence.

    As with a stack that is not popped when it is empty. Such a bracket loses the text for good.
    """
    depth = running_sum(up_and_down(ids))
    return (depth > depth.cummin(-1).values.clamp(max=0)).long()


@exercise.misconception
def last_token_alone(ids: Tensor) -> Tensor:
    """You look at the last token alone: open after 1, balanced otherwise.

    A closing bracket closes one; more may still be open, and none may have been.
    """
    return (ids == 1).long()


@exercise.misconception
def state_of_the_end_alone(ids: Tensor) -> Tensor:
    """You return one state for each text: that after its last token.

    The state is asked for after every token: (..., seq).
    """
    return bracket_state(ids)[..., -1]


squeezes(exercise)
unpacks(exercise, "ids", "batch", "seq")
