"""Chapter 05: causal and padding masks, their combination, the masked softmax, cross-attention, pooling."""

from __future__ import annotations

import math
import operator
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.forbid import FUSED_ATTENTION, MULTIHEAD, SOFTMAX
from proctor.inputs import booleans, integers, normal
from proctor.properties import gradients, keeps_inputs, other_device, same_in
from qkv.model.masks import (
    causal_mask,
    combine_masks,
    cross_attention,
    masked_mean,
    masked_softmax,
    padding_mask,
    zero_padding,
)

Seen = dict[str, Any]

# causal_mask ----------------------------------------------------------------------------------------------------------

causal = Exercise(
    causal_mask,
    section="The causal mask",
    hints=[
        "Write the table for n = 3 by hand: three rows, one for each query. Which keys may query 0 see?",
        "Row i belongs to query i, column j to key j. What must hold between i and j?",
        "`torch.arange(n)` as a column, compared with itself as a row, gives the whole table at once.",
    ],
)


@causal.probe
def of_five(causal_mask: Any) -> Seen:
    """five positions"""
    return {"mask": causal_mask(5)}


@causal.probe
def of_one(causal_mask: Any) -> Seen:
    """a single position"""
    return {"mask": causal_mask(1)}


@causal.probe
def of_some(causal_mask: Any) -> Seen:
    """a sequence of a length that changes from check to check"""
    return {"mask": causal_mask(int(integers(6, 12, 1, seed="n")))}


@causal.property
def of_none(causal_mask: Any) -> Seen:
    """an empty sequence

    Your mask does not have the shape (0, 0) for n = 0.
    """
    return {"mask": causal_mask(0)}


def visible(n: int) -> Tensor:
    return causal_mask(n)


def unchanged(mask: Any) -> Any:
    return mask


@causal.assembled
def causal_in_steps(n: int, *, pattern: Any = visible, polarity: Any = unchanged, result: Any = unchanged) -> Tensor:
    return result(polarity(pattern(n)))


@causal.instead_of("pattern")
def future_shown(n: int) -> Tensor:
    """Your mask is the other triangle: it hides the past and shows the future.

    A model that sees the token it has to predict has nothing left to learn; its loss goes to 0 and it can generate
    nothing.
    """
    return causal_mask(n).T


@causal.instead_of("pattern")
def itself_hidden(n: int) -> Tensor:
    """Your mask hides each position from itself.

    Row 0 then allows nothing at all, and the softmax of nothing is NaN. A position may see its own input; what it
    predicts is the next one.
    """
    return torch.ones(n, n).tril(-1).bool()


@causal.instead_of("pattern")
def next_shown(n: int) -> Tensor:
    """Your mask also shows the next position: it is off by one.

    The next token is just what the model has to predict.
    """
    return torch.ones(n, n).tril(1).bool()


@causal.instead_of("polarity")
def true_means_hidden(mask: Tensor) -> Tensor:
    """Your mask has True where attention is *not* allowed.

    Both conventions exist, and torch itself uses both. In this course True means "may attend".
    """
    return ~mask


@causal.instead_of("result")
def numbers_to_add(mask: Tensor) -> Tensor:
    """You return numbers to be added to the scores, 0 and -inf.

    That is one way to apply a mask. Here a mask is bool, so that masks can be combined before they are applied.
    """
    return torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


@causal.instead_of("result")
def zeros_and_ones(mask: Tensor) -> Tensor:
    """You return zeros and ones as floating numbers.

    The pattern is right, the dtype is not: a mask is bool, or `~mask` and `masked_fill` will not take it.
    """
    return mask.float()


@causal.instead_of("pattern")
def nothing_hidden(n: int) -> Tensor:
    """Your mask allows everything.

    Then every position sees the tokens that it should predict.
    """
    return torch.ones(n, n).bool()


# padding_mask ---------------------------------------------------------------------------------------------------------

padding = Exercise(
    padding_mask,
    section="The padding mask",
    hints=[
        "A sequence of length 3 in a batch of width 5: which of the positions 0 … 4 are real?",
        "Compare the positions (length,) with the lengths (batch,). Which one needs another dimension, and where?",
        "The result is (batch, 1, length): the 1 stands for the queries, since every query sees the same keys.",
    ],
)


@padding.probe
def three_lengths(padding_mask: Any) -> Seen:
    """three sequences of 2, 4 and 6 tokens in a batch of width 6"""
    return {"mask": padding_mask(torch.tensor([2, 4, 6]), 6)}


@padding.probe
def empty_and_full(padding_mask: Any) -> Seen:
    """an empty and a full sequence in a batch of width 3"""
    return {"mask": padding_mask(torch.tensor([0, 3]), 3)}


@padding.probe
def width_beyond_the_longest(padding_mask: Any) -> Seen:
    """lengths drawn at random, in a batch wider than the longest"""
    return {"mask": padding_mask(integers(1, 6, 5, seed="lengths"), 8)}


def some_lengths() -> tuple[Tensor, int]:
    return torch.tensor([2, 4, 1]), 5


padding.property(keeps_inputs(some_lengths))
padding.property(other_device(some_lengths))


@padding.assembled
def padding_in_steps(
    lengths: Tensor, length: int, *, real: Any = padding_mask, polarity: Any = unchanged, place: Any = unchanged
) -> Tensor:
    return place(polarity(real(lengths, length)))


@padding.instead_of("polarity")
def true_for_padding(mask: Tensor) -> Tensor:
    """Your mask has True for padding.

    In this course True means "may attend", so real tokens are True.
    """
    return ~mask


@padding.instead_of("real")
def one_too_many(lengths: Tensor, length: int) -> Tensor:
    """Your mask lets the first padding position through.

    Positions count from 0: a sequence of 3 tokens fills the positions 0, 1 and 2.
    """
    return padding_mask(lengths + 1, length)


@padding.instead_of("real")
def one_too_few(lengths: Tensor, length: int) -> Tensor:
    """Your mask hides the last real token.

    Positions count from 0: the last of 3 tokens is at position 2.
    """
    return padding_mask(lengths - 1, length)


@padding.instead_of("place")
def queries_hidden(mask: Tensor) -> Tensor:
    """Your mask hides rows, that is queries, where it should hide columns, that is keys.

    What padding asks does no harm; what it answers does. A hidden row leaves its query with nothing to look at.
    """
    return mask.transpose(-2, -1)


@padding.instead_of("place")
def no_place_for_queries(mask: Tensor) -> Tensor:
    """Your mask is (batch, length), without a dimension for the queries.

    Against scores (batch, query, key) it would be read as (query, key), and the batch mistaken for the queries.
    """
    return mask.squeeze(-2)


@padding.instead_of("real")
def padded_on_the_left(lengths: Tensor, length: int) -> Tensor:
    """Your mask expects the padding before the tokens.

    Here sequences start at position 0 and padding follows them.
    """
    return padding_mask(lengths, length).flip(-1)


@padding.instead_of("real")
def as_wide_as_the_longest(lengths: Tensor, length: int) -> Tensor:
    """Your mask is only as wide as the longest sequence.

    The batch may be wider than its longest sequence; `length` says how wide.
    """
    return padding_mask(lengths, int(lengths.max()))


# combine_masks --------------------------------------------------------------------------------------------------------

combining = Exercise(
    combine_masks,
    section="Combining masks",
    hints=[
        "A key is visible only if no mask hides it. Which logical operation is that?",
        "(batch, 1, key) and (query, key) broadcast to (batch, query, key) by themselves.",
        "What should come out if every argument is None, or if there is none?",
    ],
)


@combining.probe
def causal_and_padding(combine_masks: Any) -> Seen:
    """a causal mask (4, 4) and a padding mask (3, 1, 4)"""
    return {"mask": combine_masks(torch.ones(4, 4).tril().bool(), booleans(3, 1, 4, seed="padding", p=0.6))}


@combining.probe
def three_masks(combine_masks: Any) -> Seen:
    """three masks, of which one is None"""
    return {"mask": combine_masks(booleans(2, 5, seed="a"), None, booleans(3, 1, 5, seed="b"))}


@combining.probe
def a_single_mask(combine_masks: Any) -> Seen:
    """one mask alone"""
    return {"mask": combine_masks(booleans(3, 4, seed="a"))}


@combining.probe
def four_masks(combine_masks: Any) -> Seen:
    """four masks of one shape"""
    return {"mask": combine_masks(*(booleans(3, 7, seed=i, p=0.8) for i in range(4)))}


@combining.probe
def nothing_to_combine(combine_masks: Any) -> Seen:
    """two times None, and no argument at all"""
    return {"of two None is None": combine_masks(None, None) is None, "of nothing is None": combine_masks() is None}


def two_masks() -> tuple[Tensor, ...]:
    return booleans(4, 5, seed="a"), booleans(2, 1, 5, seed="b")


combining.property(keeps_inputs(two_masks))
combining.property(other_device(two_masks))


@combining.misconception
def any_allows(*masks: Tensor | None) -> Tensor | None:
    """You allow what any of the masks allows.

    Then the causal mask lets padding through, and the padding mask the future. Each mask must be able to forbid.
    """
    found = [m for m in masks if m is not None]
    return reduce(operator.or_, found) if found else None


@combining.misconception
def none_hides_everything(*masks: Tensor | None) -> Tensor | None:
    """You return None as soon as one mask is None.

    None means "no restriction from this one"; the others still restrict.
    """
    return None if any(m is None for m in masks) else combine_masks(*masks)


@combining.misconception
def only_the_first_two(*masks: Tensor | None) -> Tensor | None:
    """You combine the first two masks only.

    A decoder with a window has three: causal, padding, window.
    """
    return combine_masks(*[m for m in masks if m is not None][:2])


@combining.misconception
def added_up(*masks: Tensor | None) -> Tensor | None:
    """You add the masks, which makes numbers of them.

    Counts are not a mask: 1 + 0 is still "true". Each entry should be True only where all are.
    """
    found = [m.long() for m in masks if m is not None]
    return sum(found[1:], found[0]) if found else None


@combining.misconception
def exclusive(*masks: Tensor | None) -> Tensor | None:
    """You keep what exactly one mask allows.

    `^` is "either, not both". What both allow should stay allowed.
    """
    found = [m for m in masks if m is not None]
    return reduce(operator.xor, found) if found else None


@combining.misconception
def the_last_one(*masks: Tensor | None) -> Tensor | None:
    """Only your last mask counts.

    Each mask overwrites the one before it; they should all have a say.
    """
    found = [m for m in masks if m is not None]
    return found[-1] if found else None


# masked_softmax -------------------------------------------------------------------------------------------------------

softmax_of_allowed = Exercise(
    masked_softmax,
    section="A softmax with a mask",
    hints=[
        "Hide before you weigh: which score becomes the weight 0 after the exponential?",
        "If a row hides everything its largest score is -inf, and -inf - (-inf) is NaN. "
        "Which finite number may stand in for that maximum?",
        "Its sum is 0, so 0/0 follows. Every other row's sum is at least exp(0) = 1: what may a smaller sum become?",
    ],
    forbid=[SOFTMAX],
)


def scores_and_mask() -> tuple[Tensor, Tensor]:
    mask = booleans(2, 3, 5, seed="mask")
    mask[..., 2] = True  # each row allows something
    return normal(2, 3, 5, seed="scores", std=2.0), mask


def with_a_closed_row() -> tuple[Tensor, Tensor]:
    mask = booleans(4, 6, seed="mask")
    mask[:, 1] = True
    mask[2] = False
    mask[3] = True  # and one row is open: it is the closed one for whoever reads the mask the other way round
    return normal(4, 6, seed="scores"), mask


@softmax_of_allowed.probe
def some_hidden(masked_softmax: Any) -> Seen:
    """three rows of five scores, some of them hidden"""
    return {"weights": masked_softmax(*scores_and_mask())}


@softmax_of_allowed.probe
def broadcast_mask(masked_softmax: Any) -> Seen:
    """a mask (1, 4) for scores (2, 3, 4)"""
    return {"weights": masked_softmax(normal(2, 3, 4, seed="s"), torch.tensor([[True, False, True, True]]))}


@softmax_of_allowed.probe
def nothing_allowed(masked_softmax: Any) -> Seen:
    """a row in which nothing is allowed, beside ordinary ones"""
    return {"weights": masked_softmax(*with_a_closed_row())}


@softmax_of_allowed.probe
def huge_scores(masked_softmax: Any) -> Seen:
    """scores of thousands, positive and negative, in float64"""
    offset = torch.tensor([[1e4], [-1e4], [3e3]])
    mask = torch.tensor([True, True, False, True, False])
    return {"weights": masked_softmax(normal(3, 5, seed="huge", dtype=torch.float64) + offset, mask)}


@softmax_of_allowed.probe
def huge_hidden_scores(masked_softmax: Any) -> Seen:
    """hidden scores of 1e30 beside small ones"""
    mask = torch.tensor([True, False, True, False])
    scores = normal(2, 4, seed="s")
    return {"weights": masked_softmax(torch.where(mask, scores, 1e30), mask)}


@softmax_of_allowed.probe
def far_below_the_hidden(masked_softmax: Any) -> Seen:
    """allowed scores far below every usual stand-in for minus infinity"""
    mask = torch.tensor([True, True, False, True])
    return {"weights": masked_softmax(normal(3, 4, seed="s") * 1e9 - 1e12, mask)}


@softmax_of_allowed.probe
def minus_infinity_allowed(masked_softmax: Any) -> Seen:
    """scores of -inf that the mask allows, beside finite ones"""
    scores = normal(3, 5, seed="s")
    scores[0, 1] = scores[2, 3] = -math.inf
    return {"weights": masked_softmax(scores, torch.tensor([True, True, False, True, True]))}


@softmax_of_allowed.probe
def gradients_beside_huge_hidden_scores(masked_softmax: Any) -> Seen:
    """the gradients of small scores beside hidden ones of 1e30"""
    mask = torch.tensor([True, False, True, False, True])
    scores = torch.where(mask, normal(2, 5, seed="s"), 1e30).requires_grad_()
    total = (masked_softmax(scores, mask) * normal(2, 5, seed="towards")).sum()
    (gradient,) = torch.autograd.grad(total, scores)
    return {"gradient of scores": gradient}


softmax_of_allowed.probe(gradients(with_a_closed_row))
softmax_of_allowed.property(keeps_inputs(scores_and_mask))
softmax_of_allowed.property(same_in(torch.float64, with_a_closed_row))
softmax_of_allowed.property(same_in(torch.float16, with_a_closed_row))
softmax_of_allowed.property(same_in(torch.bfloat16, with_a_closed_row))
softmax_of_allowed.property(other_device(scores_and_mask))


def weigh(scores: Tensor) -> Tensor:
    """The plain softmax over the last dimension, without what the exercise forbids."""
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


@softmax_of_allowed.assembled
def softmax_in_steps(
    scores: Tensor, mask: Tensor, *, polarity: Any = unchanged, weigh_allowed: Any = masked_softmax
) -> Tensor:
    return weigh_allowed(scores, polarity(mask))


@softmax_of_allowed.instead_of("weigh_allowed")
def closed_rows_become_nan(scores: Tensor, mask: Tensor) -> Tensor:
    """A row in which nothing is allowed becomes NaN.

    Its maximum is -inf, -inf - (-inf) is NaN, and one NaN is enough to spoil every weight of the model in the next
    update. The whole row should be 0.
    """
    return weigh(scores.masked_fill(~mask, -math.inf))


@softmax_of_allowed.instead_of("weigh_allowed")
def repaired_after_the_fact(scores: Tensor, mask: Tensor) -> Tensor:
    """Your values are right, but you replace the NaN afterwards, and its gradient is still NaN.

    `nan_to_num` mends the forward pass alone: backward, 0 times NaN is NaN. The NaN must not arise.
    """
    weights = weigh(scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf))
    return torch.where(weights.isnan(), torch.zeros_like(weights), weights)


@softmax_of_allowed.instead_of("weigh_allowed")
def a_large_number_for_infinity(scores: Tensor, mask: Tensor) -> Tensor:
    """You hide with a large negative number instead of -inf.

    A row in which all is hidden then becomes uniform, as if all were allowed; and scores may lie below your number.
    """
    return weigh(scores.masked_fill(~mask, max(-1e9, torch.finfo(scores.dtype).min)))


@softmax_of_allowed.instead_of("weigh_allowed")
def hidden_after_the_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """You set the hidden weights to 0 after the softmax, so rows no longer sum to 1.

    The hidden keys have already taken their share.
    """
    return weigh(scores) * mask


@softmax_of_allowed.instead_of("polarity")
def polarity_reversed(mask: Tensor) -> Tensor:
    """You hide what the mask allows.

    True means "may attend". `masked_fill` fills where its mask is True, so it wants the opposite.
    """
    return ~mask


@softmax_of_allowed.instead_of("weigh_allowed")
def scores_multiplied(scores: Tensor, mask: Tensor) -> Tensor:
    """You multiply the scores by the mask, which makes hidden scores 0.

    A score of 0 is an ordinary score, and its weight is not 0. Only -inf becomes a weight of exactly 0.
    """
    return weigh(scores * mask)


@softmax_of_allowed.instead_of("weigh_allowed")
def a_small_number_in_the_denominator(scores: Tensor, mask: Tensor) -> Tensor:
    """You multiply the powers by the mask, but shift by the maximum of all scores, hidden ones included.

    A large hidden score then pushes every allowed power to 0, and the row vanishes. The hidden scores should have
    no effect.
    """
    powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    return powers / (powers.sum(-1, keepdim=True) + 1e-9)


@softmax_of_allowed.instead_of("weigh_allowed")
def hidden_after_the_exponential(scores: Tensor, mask: Tensor) -> Tensor:
    """Your values are right, but you exponentiate the hidden scores too, and a large one spoils the gradient.

    `torch.where` picks the right values, yet backward it multiplies the inf that it did not pick by 0, and that is
    NaN. Hide the scores before the exponential.
    """
    highest = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
    powers = torch.where(mask, (scores - highest).exp(), torch.zeros_like(scores))
    return powers / powers.sum(-1, keepdim=True).clamp(min=1)


@softmax_of_allowed.instead_of("weigh_allowed")
def closed_rows_uniform(scores: Tensor, mask: Tensor) -> Tensor:
    """In a row where nothing is allowed you allow everything.

    Then a token that may see nothing sees all, the hidden ones included. Its weights should be 0.
    """
    return masked_softmax(scores, mask | ~mask.any(-1, keepdim=True))


# zero_padding ---------------------------------------------------------------------------------------------------------

zeroing = Exercise(
    zero_padding,
    section="Zeroing padding",
    hints=[
        "Which positions of sequence b are padding, in terms of lengths[b]?",
        "`padding_mask` gives (batch, 1, seq). x is (batch, seq, d_model): along which dimension should the mask run?",
        "Do not write into x: make a new tensor.",
    ],
)


def padded() -> tuple[Tensor, Tensor]:
    return normal(3, 5, 4, seed="x"), torch.tensor([2, 5, 0])


@zeroing.probe
def three_sequences(zero_padding: Any) -> Seen:
    """three sequences of 2, 5 and 0 tokens in a batch of width 5"""
    return {"x": zero_padding(*padded())}


@zeroing.probe
def as_wide_as_long(zero_padding: Any) -> Seen:
    """a batch in which every size is 4, so that a wrong axis still fits"""
    return {"x": zero_padding(normal(4, 4, 4, seed="x"), torch.tensor([1, 3, 4, 2]))}


@zeroing.probe
def random_lengths(zero_padding: Any) -> Seen:
    """lengths drawn at random, in a batch wider than the longest"""
    return {"x": zero_padding(normal(6, 7, 2, seed="x"), integers(0, 6, 6, seed="lengths"))}


zeroing.property(gradients(padded))
zeroing.property(keeps_inputs(padded))
zeroing.property(same_in(torch.float64, padded))
zeroing.property(same_in(torch.bfloat16, padded))
zeroing.property(other_device(padded))


@zeroing.assembled
def zeroing_in_steps(x: Tensor, lengths: Tensor, *, until: Any = unchanged, zero: Any = zero_padding) -> Tensor:
    return zero(x, until(lengths))


@zeroing.instead_of("zero")
def real_tokens_zeroed(x: Tensor, lengths: Tensor) -> Tensor:
    """You zero the real tokens and keep the padding.

    The mask is True for real tokens; zero where it is not.
    """
    return x - zero_padding(x, lengths)


@zeroing.instead_of("until")
def one_padding_kept(lengths: Tensor) -> Tensor:
    """You keep the first padding vector.

    Positions count from 0: with 3 tokens, position 3 is padding already.
    """
    return lengths + 1


@zeroing.instead_of("until")
def last_token_zeroed(lengths: Tensor) -> Tensor:
    """You zero the last real token too.

    Positions count from 0: the last of 3 tokens is at position 2.
    """
    return lengths - 1


@zeroing.instead_of("zero")
def features_zeroed(x: Tensor, lengths: Tensor) -> Tensor:
    """You zero features instead of positions.

    The mask runs along the last dimension of x, where the features are; positions are the dimension before.
    """
    return zero_padding(x.transpose(1, 2), lengths).transpose(1, 2)


@zeroing.instead_of("until")
def cut_to_the_longest(lengths: Tensor) -> Tensor:
    """You zero everything beyond the longest sequence only.

    Each sequence has a length of its own.
    """
    return lengths.max().expand_as(lengths)


@zeroing.instead_of("zero")
def zeroed_in_place(x: Tensor, lengths: Tensor) -> Tensor:
    """You write the zeros into the x that you were given.

    The caller still needs it, and autograd may too. Make a new tensor.
    """
    with torch.no_grad():
        x.copy_(zero_padding(x, lengths))
    return x * 1.0


# cross_attention ------------------------------------------------------------------------------------------------------

crossing = Exercise(
    cross_attention,
    section="Cross-attention",
    hints=[
        "The decoder asks, the memory answers. Who gives the queries?",
        "What is looked up, and what is returned, comes from the same place.",
        "`attend` wants four arguments: query, key, value, mask. None is a mask too.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def plain_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """A small attention in which query, key and value cannot be exchanged."""
    scores = (2 * query + 1) @ (key - 0.5).transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e4)
    return scores.softmax(-1) @ (3 * value)


def decoder_and_memory() -> tuple[Tensor, Tensor, Any]:
    return normal(2, 3, 4, seed="decoder"), normal(2, 5, 4, seed="memory"), plain_attention


@crossing.probe
def without_a_mask(cross_attention: Any) -> Seen:
    """three decoder positions over a memory of five, no mask"""
    return {"output": cross_attention(*decoder_and_memory())}


@crossing.probe
def with_a_mask(cross_attention: Any) -> Seen:
    """three decoder positions over a memory of five, with a padding mask"""
    mask = torch.tensor([[[True, True, True, False, False]], [[True, True, False, True, True]]])
    return {"output": cross_attention(*decoder_and_memory(), mask)}


@crossing.probe
def as_long_as_its_memory(cross_attention: Any) -> Seen:
    """a decoder as long as its memory, so that exchanged roles still fit"""
    mask = torch.ones(4, 4).tril().bool()
    return {"output": cross_attention(normal(4, 6, seed="decoder"), normal(4, 6, seed="memory"), plain_attention, mask)}


@crossing.probe
def what_attend_is_given(cross_attention: Any) -> Seen:
    """what `attend` receives"""
    received: dict[str, Any] = {}

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        received.update(query=query, key=key, value=value)
        received["mask is None"] = mask is None
        return query

    cross_attention(normal(2, 3, 4, seed="decoder"), normal(2, 5, 4, seed="memory"), attend)
    return received


crossing.property(gradients(decoder_and_memory))
crossing.property(keeps_inputs(decoder_and_memory))
crossing.property(other_device(decoder_and_memory))


def asked_and_answered(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return decoder, memory, memory


@crossing.assembled
def crossing_in_steps(
    decoder: Tensor,
    memory: Tensor,
    attend: Any,
    memory_mask: Tensor | None = None,
    *,
    roles: Any = asked_and_answered,
    hand_on: Any = unchanged,
) -> Tensor:
    return attend(*roles(decoder, memory), hand_on(memory_mask))


@crossing.instead_of("roles")
def roles_exchanged(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You let the memory ask and the decoder answer.

    There is one result for each query: asked by the memory, it has the length of the source, and the decoder learns
    nothing about it.
    """
    return memory, decoder, decoder


@crossing.instead_of("roles")
def self_attention_again(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You let the decoder look at itself; the memory is never used.

    That is the layer's self-attention. Cross-attention takes keys and values from the memory.
    """
    return decoder, decoder, decoder


@crossing.instead_of("roles")
def values_from_the_decoder(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You take the values from the decoder.

    Keys and values belong together: what is found at a key is the value of the same position.
    """
    return decoder, memory, decoder


@crossing.instead_of("roles")
def keys_from_the_decoder(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You take the keys from the decoder.

    The query is then compared with the decoder's own positions, and values are picked from the memory by the wrong
    ones.
    """
    return decoder, decoder, memory


@crossing.instead_of("hand_on")
def mask_forgotten(memory_mask: Tensor | None) -> None:
    """You do not hand the mask on.

    Then the decoder looks at the padding of the source.
    """
    return None


@crossing.misconception
def mask_left_out(decoder: Tensor, memory: Tensor, attend: Any, memory_mask: Tensor | None = None) -> Tensor:
    """You call `attend` with three arguments.

    It wants four: query, key, value, mask. Pass the mask always, also when it is None.
    """
    return attend(decoder, memory, memory)


@crossing.misconception
def everything_together(decoder: Tensor, memory: Tensor, attend: Any, memory_mask: Tensor | None = None) -> Tensor:
    """You add the decoder to what was found.

    The residual connection is the layer's business and comes in a later chapter. Here only the answer is asked for.
    """
    return decoder + attend(decoder, memory, memory, memory_mask)


# masked_mean ----------------------------------------------------------------------------------------------------------

pooling = Exercise(
    masked_mean,
    section="Pooling over padding",
    hints=[
        "A mean is a sum divided by a count. Which of the two does padding spoil? Both?",
        "Zero the padding, sum over positions, and divide: by how many?",
        "A length of 0 gives 0/0. The sum is 0 already; which divisor keeps it 0?",
    ],
)


@pooling.probe
def three_means(masked_mean: Any) -> Seen:
    """three sequences of 2, 5 and 1 tokens in a batch of width 5"""
    return {"means": masked_mean(normal(3, 5, 4, seed="x"), torch.tensor([2, 5, 1]))}


@pooling.probe
def an_empty_sequence(masked_mean: Any) -> Seen:
    """an empty sequence beside full ones"""
    return {"means": masked_mean(normal(3, 4, 2, seed="x"), torch.tensor([4, 0, 3]))}


@pooling.probe
def loud_padding(masked_mean: Any) -> Seen:
    """padding that holds large numbers"""
    x = normal(2, 6, 3, seed="x")
    x[0, 2:], x[1, 5:] = 1e4, -1e4
    return {"means": masked_mean(x, torch.tensor([2, 5]))}


@pooling.probe
def equal_sizes(masked_mean: Any) -> Seen:
    """a batch in which every size is 4, so that a wrong axis still fits"""
    return {"means": masked_mean(normal(4, 4, 4, seed="x"), torch.tensor([1, 3, 4, 2]))}


pooling.probe(gradients(padded))
pooling.property(keeps_inputs(padded))
pooling.property(same_in(torch.float64, padded))
pooling.property(same_in(torch.bfloat16, padded))
pooling.property(other_device(padded))


def sum_of_real(x: Tensor, lengths: Tensor) -> Tensor:
    return zero_padding(x, lengths).sum(1)


def number_of_real(x: Tensor, lengths: Tensor) -> Tensor:
    return lengths.clamp(min=1).unsqueeze(-1)


@pooling.assembled
def pooling_in_steps(x: Tensor, lengths: Tensor, *, total: Any = sum_of_real, count: Any = number_of_real) -> Tensor:
    return total(x, lengths) / count(x, lengths)


@pooling.misconception
def padding_averaged_too(x: Tensor, lengths: Tensor) -> Tensor:
    """You average over all positions, padding included.

    The result then depends on how much padding the batch happened to need.
    """
    return x.mean(1)


@pooling.instead_of("count")
def divided_by_the_width(x: Tensor, lengths: Tensor) -> Any:
    """You zero the padding, but divide by the width of the batch.

    A short sequence in a wide batch is then shrunk towards 0. Divide by what was summed.
    """
    return x.shape[1]


@pooling.instead_of("count")
def divided_by_zero(x: Tensor, lengths: Tensor) -> Any:
    """An empty sequence gives 0/0, which is NaN.

    One NaN in a batch spoils the gradient of all. The mean of nothing is defined as 0 here.
    """
    return lengths.unsqueeze(-1)


@pooling.instead_of("count")
def summed_only(x: Tensor, lengths: Tensor) -> Any:
    """You sum the real vectors but do not divide.

    A long sequence then counts for more than a short one.
    """
    return 1


@pooling.instead_of("total")
def not_zeroed(x: Tensor, lengths: Tensor) -> Tensor:
    """You divide by the length, but the padding is still in the sum.

    The count is right, the sum is not: zero the padding first.
    """
    return x.sum(1)


@pooling.instead_of("count")
def a_small_number_added(x: Tensor, lengths: Tensor) -> Any:
    """You divide by the length plus one.

    That avoids 0/0 but makes every other mean too small.
    """
    return (lengths + 1).unsqueeze(-1)


@pooling.misconception
def repaired_mean(x: Tensor, lengths: Tensor) -> Tensor:
    """Your values are right, but the NaN of the empty sequence is replaced afterwards, and its gradient is not finite.

    Backward, the division by 0 is still there: 0 times inf is NaN. Divide by something that is never 0.
    """
    real = padding_mask(lengths, x.shape[1]).transpose(-2, -1)
    return ((x * real).sum(1) / lengths.unsqueeze(-1)).nan_to_num(0.0)


@pooling.misconception
def averaged_over_features(x: Tensor, lengths: Tensor) -> Tensor:
    """You average over the features, not over the positions.

    The result should keep d_model numbers for each sequence; the positions are what disappears.
    """
    return zero_padding(x, lengths).sum(2) / lengths.clamp(min=1).unsqueeze(-1)
