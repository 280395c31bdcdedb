"""Chapter 05: causal and padding masks, their combination, the masked softmax, cross-attention, pooling."""

from __future__ import annotations

import math
import operator
from functools import reduce
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.forbid import Family
from proctor.inside.inputs import booleans, distinct, integers, normal, whole
from proctor.inside.properties import DTYPES, gradients, same_in, usual
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
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
# what cannot be asked of a function without floating input
FLOATING = ("gradients", *(f"in_{str(dtype).removeprefix('torch.')}" for dtype in DTYPES))

# causal_mask ----------------------------------------------------------------------------------------------------------

causal = Exercise(
    causal_mask,
    section="The causal mask",
    minutes=5,
    difficulty=1,
    why="No word sees the next one: only so can all positions of a sentence be trained at once.",
    hints=[
        "Write the table for n = 3 by hand: three rows, one for each query. Which keys may query 0 see?",
        "Row i belongs to query i, column j to key j. What must hold between i and j?",
        "`torch.arange(n)` as a column, compared with itself as a row, gives the whole table at once.",
    ],
)


@causal.probe
def of_some(causal_mask: Any) -> Seen:
    """sequences of two lengths"""
    some, others = distinct(3, 12, 2, seed="some")
    return {"mask": causal_mask(some), "mask of another length": causal_mask(others)}


@causal.probe
def of_one(causal_mask: Any) -> Seen:
    """a single position, and some more"""
    return {f"mask {i}": causal_mask(n) for i, n in enumerate([1, *distinct(2, 9, 3, seed="more")])}


@causal.probe
def of_hundreds(causal_mask: Any) -> Seen:
    """some hundred positions"""
    return {"mask": causal_mask(whole(257, 400, seed="hundreds"))}


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
def large_numbers_to_add(mask: Tensor) -> Tensor:
    """You return numbers to be added to the scores, 0 and -1e9.

    Beside a score of the same size that hides nothing, and float16 has no such number. Here a mask is bool: it says who
    is hidden, and leaves it to others how.
    """
    return torch.zeros(mask.shape).masked_fill(~mask, -1e9)


@causal.instead_of("result")
def zeros_and_ones(mask: Tensor) -> Tensor:
    """You return zeros and ones as floating numbers.

    What is asked for is bool: `~mask` and `masked_fill` will not take anything else.
    """
    return mask.float()


@causal.instead_of("result")
def whole_numbers(mask: Tensor) -> Tensor:
    """You return zeros and ones as int64.

    What is asked for is bool. `~` means something else for numbers: ~1 is -2, which counts as true.
    """
    return mask.long()


@causal.instead_of("result")
def bytes_for_bools(mask: Tensor) -> Tensor:
    """You return zeros and ones as uint8.

    Before torch had bool, masks were bytes, and old code still shows it. `~` means something else for them: ~1 is 254,
    which counts as true.
    """
    return mask.byte()


@causal.instead_of("result")
def one_dimension_too_many(mask: Tensor) -> Tensor:
    """Your mask has a dimension for the batch: (1, n, n).

    It broadcasts as well without it. What is asked for is (n, n).
    """
    return mask[None]


@causal.instead_of("result")
def two_dimensions_too_many(mask: Tensor) -> Tensor:
    """Your mask has dimensions for batch and heads: (1, 1, n, n).

    It broadcasts as well without them. What is asked for is (n, n).
    """
    return mask[None, None]


@causal.instead_of("pattern")
def counted_from_the_last_key(n: int) -> Tensor:
    """Your triangle lies along the other diagonal: the first query sees the last key.

    Query i and key i are the same place. Row i should be True from column 0 up to column i.
    """
    return causal_mask(n).flip(1)


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
    minutes=5,
    difficulty=1,
    why="Sentences of different lengths share a batch, and the filling must not be heard.",
    hints=[
        "A sequence of length 3 in a batch of width 5: which of the positions 0 … 4 are real?",
        "Compare the positions (length,) with the lengths (batch,). Which one needs another dimension, and where?",
        "The result is (batch, 1, length): the 1 stands for the queries, since every query sees the same keys.",
    ],
)


@padding.probe
def several_lengths(padding_mask: Any) -> Seen:
    """four sequences in a batch wider than the longest"""
    return {"mask": padding_mask(torch.tensor(distinct(1, 7, 4, seed="lengths")), whole(7, 11, seed="width"))}


@padding.probe
def empty_and_full(padding_mask: Any) -> Seen:
    """an empty and a full sequence beside another one, in batches of two widths"""
    some, others = distinct(3, 12, 2, seed="widths")
    return {
        "mask": padding_mask(torch.tensor([0, some, whole(1, some, seed="one")]), some),
        "mask of another width": padding_mask(torch.tensor([whole(1, others, seed="other"), others, 0]), others),
    }


@padding.probe
def sizes_of_one_in_a_batch(padding_mask: Any) -> Seen:
    """a single sequence, and sequences of a single position"""
    return {
        "mask of one sequence": padding_mask(integers(1, 8, 1, seed="alone"), 9),
        "mask of one position": padding_mask(integers(0, 2, 12, seed="short"), 1),
        "mask of one of each": padding_mask(torch.tensor([1]), 1),
    }


@padding.probe
def as_many_sequences_as_positions(padding_mask: Any) -> Seen:
    """as many sequences as positions, so that a wrong axis still fits"""
    return {"mask": padding_mask(torch.tensor(distinct(0, 8, 7, seed="square")), 7)}


@padding.probe
def long_sequences(padding_mask: Any) -> Seen:
    """sequences of some hundred tokens"""
    return {"mask": padding_mask(integers(257, 300, 3, seed="long"), 300)}


def some_lengths() -> tuple[Tensor, int]:
    return torch.tensor([2, 4, 0]), 5


usual(padding, some_lengths, without=FLOATING)


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


@padding.instead_of("place")
def a_place_for_heads_too(mask: Tensor) -> Tensor:
    """Your mask is (batch, 1, 1, length), with a dimension for heads.

    Here it is (batch, 1, length), which broadcasts to (batch, query, key). Whoever splits into heads adds theirs.
    """
    return mask[:, None]


@padding.instead_of("place")
def queries_hidden_as_well(mask: Tensor) -> Tensor:
    """Your mask hides padding twice, as keys and as queries, and is (batch, length, length).

    The row of a padding query then allows nothing, and the softmax of nothing is NaN. What padding asks does no harm.
    """
    return mask & mask.transpose(-2, -1)


@padding.instead_of("place")
def a_row_for_every_query(mask: Tensor) -> Tensor:
    """You repeat the same row for every query: your mask is (batch, length, length).

    The number of queries need not be that of the keys, and broadcasting repeats by itself. A 1 stands for all queries.
    """
    return mask.expand(-1, mask.shape[-1], -1)


@padding.instead_of("place")
def padding_as_numbers(mask: Tensor) -> Tensor:
    """You return zeros and ones as floating numbers.

    What is asked for is bool: `~mask` and `masked_fill` will not take anything else.
    """
    return mask.float()


@padding.instead_of("place")
def padding_as_whole_numbers(mask: Tensor) -> Tensor:
    """You return zeros and ones as int64.

    What is asked for is bool. `~` means something else for numbers: ~1 is -2, which counts as true.
    """
    return mask.long()


# combine_masks --------------------------------------------------------------------------------------------------------

combining = Exercise(
    combine_masks,
    section="Combining masks",
    minutes=10,
    difficulty=2,
    why="What may be seen is what every mask allows; broadcasting does the rest.",
    hints=[
        "A key is visible only if no mask hides it. Which logical operation is that?",
        "(batch, 1, key) and (query, key) broadcast to (batch, query, key) by themselves.",
        "What should come out if every argument is None, or if there is none?",
    ],
)


@combining.probe
def causal_and_padding(combine_masks: Any) -> Seen:
    """a causal mask (n, n) and a padding mask (3, 1, n)"""
    n = whole(5, 9, seed="n")
    return {"mask": combine_masks(torch.ones(n, n).tril().bool(), booleans(3, 1, n, seed="padding", p=0.6))}


@combining.probe
def a_single_mask(combine_masks: Any) -> Seen:
    """one mask alone"""
    return {"mask": combine_masks(booleans(5, 7, seed="alone"))}


@combining.probe
def four_masks(combine_masks: Any) -> Seen:
    """four masks of one shape"""
    return {"mask": combine_masks(*(booleans(6, 7, seed=i, p=0.8) for i in range(4)))}


@combining.probe
def none_in_any_place(combine_masks: Any) -> Seen:
    """two masks, and None before, between and after them"""
    calls = {
        "first": (None, "a", "b"),
        "between": ("a", None, "b"),
        "last": ("b", "a", None),
        "everywhere": (None, "b", None, None, "a", None),
        "before one mask": (None, "a"),
        "after one mask": ("b", None),
    }
    shapes = {"a": (4, 6), "b": (3, 1, 6)}
    return {
        f"mask with None {place}": combine_masks(*(m and booleans(*shapes[m], seed=m, p=0.6) for m in masks))
        for place, masks in calls.items()
    }


@combining.probe
def masks_that_broadcast(combine_masks: Any) -> Seen:
    """masks of different shapes, with sizes of 1 in every dimension"""
    row, column, batch, full, one = (7,), (5, 1), (3, 1, 1), (3, 5, 7), (1, 1)
    calls = [(row, column), (batch, column), (column, row, batch), (full, row), (batch, full), (one, full), (one, one)]
    return {
        f"mask from {' and '.join(map(str, shapes))}": combine_masks(
            *(booleans(*shape, seed=f"{i} {j}", p=0.7) for j, shape in enumerate(shapes))
        )
        for i, shapes in enumerate(calls)
    }


@combining.probe
def all_or_nothing_allowed(combine_masks: Any) -> Seen:
    """masks that allow everything, or nothing, beside an ordinary one"""
    return {
        "mask beside everything": combine_masks(torch.ones(4, 6).bool(), booleans(4, 6, seed="ordinary")),
        "mask beside nothing": combine_masks(booleans(4, 6, seed="other"), torch.zeros(4, 6).bool()),
        "mask of everything": combine_masks(torch.ones(3, 1, 6).bool(), torch.ones(4, 6).bool()),
    }


@combining.probe
def nothing_to_combine(combine_masks: Any) -> Seen:
    """None alone, two times None, and no argument at all; then two masks"""
    return {
        "of None is None": combine_masks(None) is None,
        "of two None is None": combine_masks(None, None) is None,
        "of nothing is None": combine_masks() is None,
        "mask": combine_masks(booleans(4, 6, seed="one"), booleans(4, 6, seed="two")),
    }


def masks_of_two_shapes() -> tuple[Tensor | None, ...]:
    return booleans(4, 5, seed="a"), None, booleans(2, 1, 5, seed="b")


def masks_of_one_shape() -> tuple[Tensor | None, ...]:
    return booleans(4, 5, seed="a"), None, booleans(4, 5, seed="b"), booleans(4, 5, seed="c")


usual(combining, masks_of_two_shapes, alike=masks_of_one_shape, without=FLOATING)


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
def only_the_first_two_arguments(*masks: Tensor | None) -> Tensor | None:
    """You look at the first two arguments only.

    There may be any number of masks, and None among them: what comes third may forbid something too.
    """
    return combine_masks(*masks[:2])


@combining.misconception
def none_ends_the_list(*masks: Tensor | None) -> Tensor | None:
    """You stop at the first None; masks after it have no say.

    None means "no restriction from this one"; those that follow still restrict.
    """
    return combine_masks(*takewhile(lambda mask: mask is not None, masks))


@combining.misconception
def none_not_skipped(*masks: Tensor | None) -> Tensor | None:
    """Your code fails where one of the masks is None: None is combined like a mask.

    None means "no restriction from this one". Leave it out before you combine the others.
    """
    return reduce(operator.and_, masks) if masks else None


@combining.misconception
def one_shape_only(*masks: Tensor | None) -> Tensor | None:
    """Your masks must all have one shape: you stack them.

    A causal mask is (query, key), a padding mask (batch, 1, key). Let them broadcast: `&` does it by itself, stacking
    does not.
    """
    found = [m for m in masks if m is not None]
    return torch.stack(found).all(dim=0) if found else None


@combining.misconception
def everything_where_nothing_is_left(*masks: Tensor | None) -> Tensor | None:
    """Where there is nothing to combine you return a mask that allows everything.

    It restricts nothing, which is what None says too. But None is asked for: who gets it need not look at any mask.
    """
    found = combine_masks(*masks)
    return torch.tensor(True) if found is None else found


@combining.misconception
def the_first_one(*masks: Tensor | None) -> Tensor | None:
    """Only your first mask counts.

    Each mask may forbid something; they should all have a say.
    """
    return next((m for m in masks if m is not None), None)


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

MASKED_SOFTMAX = Family.of("torch's own masked softmax", "masked_softmax")

softmax_of_allowed = Exercise(
    masked_softmax,
    section="A softmax with a mask",
    minutes=15,
    difficulty=2,
    why="A row in which nothing may be seen is where many published implementations give NaN.",
    hints=[
        "Hide before you weigh: which score becomes the weight 0 after the exponential?",
        "If a row hides everything its largest score is -inf, and -inf - (-inf) is NaN. "
        "Which finite number may stand in for that maximum?",
        "Its sum is 0, so 0/0 follows. Every other row's sum is at least exp(0) = 1: what may a smaller sum become?",
    ],
    forbid=[MASKED_SOFTMAX, FUSED_ATTENTION],
)


def scores_and_mask() -> tuple[Tensor, Tensor]:
    mask = booleans(2, 3, 5, seed="mask")
    mask[..., 2], mask[..., 4] = True, False  # each row allows something, and hides something
    return normal(2, 3, 5, seed="scores", std=2.0), mask


def with_a_closed_row() -> tuple[Tensor, Tensor]:
    mask = booleans(2, 4, 6, seed="mask")
    mask[..., 1] = True
    mask[0, 2] = mask[1, 0] = False
    mask[:, 3] = True  # and one row is open: it is the closed one for whoever reads the mask the other way round
    return normal(2, 4, 6, seed="scores"), mask


def beside_huge_hidden_ones() -> tuple[Tensor, Tensor]:
    mask = booleans(3, 6, seed="mask")
    mask[:, 0], mask[:, 1] = True, False
    hidden = torch.tensor([1e30, -1e30, -3e38])[integers(0, 3, 3, 6, seed="hidden")]
    hidden[:, 1] = 3e38
    return torch.where(mask, normal(3, 6, seed="scores"), hidden), mask


def in_sixty_fourths(numbers: Tensor) -> Tensor:
    """Multiples of 1/64: float32 holds them beside 1e4 as well, so whoever computes in float32 inside loses nothing."""
    return (64 * numbers).round() / 64


@softmax_of_allowed.probe
def some_hidden(masked_softmax: Any) -> Seen:
    """three rows of five scores, some of them hidden"""
    return {"weights": masked_softmax(*scores_and_mask())}


@softmax_of_allowed.probe
def masks_that_broadcast_to_scores(masked_softmax: Any) -> Seen:
    """masks of all shapes that broadcast to the scores"""
    keys = booleans(5, seed="keys")
    keys[1], keys[3] = True, False
    padding = booleans(2, 1, 5, seed="padding")
    padding[..., 0], padding[..., 4] = True, False
    masks = {
        "(5,)": keys,
        "(1, 5)": ~keys[None],
        "(3, 1)": torch.tensor([[True], [False], [True]]),
        "(2, 1, 1)": torch.tensor([False, True])[:, None, None],
        "(2, 1, 5)": padding,
        "True everywhere": torch.ones(3, 5).bool(),
    }
    seen = {f"weights under {shape}": masked_softmax(normal(2, 3, 5, seed=shape), m) for shape, m in masks.items()}
    by_head = masked_softmax(normal(2, 4, 3, 5, seed="by head"), padding[:, None].clone())
    return {**seen, "weights of heads under (2, 1, 1, 5)": by_head}


@softmax_of_allowed.probe
def scores_with_sizes_of_one(masked_softmax: Any) -> Seen:
    """a single row, a single query, a single key"""
    keys = booleans(6, seed="keys")
    keys[2] = True
    return {
        "weights of a row": masked_softmax(normal(6, seed="row"), keys.clone()),
        "weights of one query": masked_softmax(normal(2, 1, 6, seed="query"), keys),
        "weights of one key": masked_softmax(normal(3, 1, seed="key"), torch.tensor([[True], [False], [True]])),
        "weights of one of each": masked_softmax(normal(1, 1, 1, seed="one"), torch.ones(1, 1, 1).bool()),
    }


@softmax_of_allowed.probe
def nothing_allowed(masked_softmax: Any) -> Seen:
    """a row in which nothing is allowed, beside ordinary ones"""
    return {"weights": masked_softmax(*with_a_closed_row())}


@softmax_of_allowed.probe
def nothing_allowed_anywhere(masked_softmax: Any) -> Seen:
    """a mask that allows nothing at all, and one that allows something"""
    scores, mask = scores_and_mask()
    return {
        "weights where nothing is allowed": masked_softmax(-scores, torch.zeros(3, 5).bool()),
        "weights where something is": masked_softmax(scores, mask),
    }


@softmax_of_allowed.probe
def huge_scores(masked_softmax: Any) -> Seen:
    """scores of thousands, positive and negative, in float64"""
    offset = torch.tensor([[1e4], [-1e4], [3e3]])
    mask = booleans(5, seed="mask")
    mask[0], mask[1], mask[2] = True, True, False
    return {"weights": masked_softmax(in_sixty_fourths(normal(3, 5, seed="huge", dtype=torch.float64)) + offset, mask)}


@softmax_of_allowed.probe
def far_below_the_hidden(masked_softmax: Any) -> Seen:
    """allowed scores of about -10,000 beside hidden ones of about 10,000, and the other way round, in float64"""
    mask = booleans(3, 5, seed="mask")
    mask[:, 0], mask[:, 1], mask[:, 2] = True, True, False
    scores = in_sixty_fourths(normal(3, 5, seed="low", dtype=torch.float64))
    offset = torch.where(mask, -1e4, 1e4)
    return {
        "weights": masked_softmax(scores + offset, mask.clone()),
        "weights far above the hidden": masked_softmax(scores - offset, mask),
    }


@softmax_of_allowed.probe
def huge_hidden_scores(masked_softmax: Any) -> Seen:
    """hidden scores of 1e30 and more beside small ones"""
    return {"weights": masked_softmax(*beside_huge_hidden_ones())}


@softmax_of_allowed.probe
def minus_infinity_allowed(masked_softmax: Any) -> Seen:
    """scores of -inf that the mask allows, beside finite ones"""
    scores = normal(3, 5, seed="s")
    scores[0, 1] = scores[2, 3] = -math.inf
    return {"weights": masked_softmax(scores, torch.tensor([True, True, False, True, True]))}


@softmax_of_allowed.probe
def gradients_beside_huge_hidden_scores(masked_softmax: Any) -> Seen:
    """the gradients of small scores beside hidden ones of 1e30 and more"""
    scores, mask = beside_huge_hidden_ones()
    scores.requires_grad_()
    total = (masked_softmax(scores, mask) * normal(3, 6, seed="towards")).sum()
    gradient = torch.autograd.grad(total, scores)[0] if total.requires_grad else torch.zeros_like(scores)
    return {"gradient of scores": gradient}


softmax_of_allowed.probe(gradients(with_a_closed_row))
usual(softmax_of_allowed, with_a_closed_row, without=["gradients"])


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
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def infinity_added(scores: Tensor, mask: Tensor) -> Tensor:
    return scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)


@softmax_of_allowed.instead_of("weigh_allowed")
def closed_rows_become_nan_backwards_too(scores: Tensor, mask: Tensor) -> Tensor:
    """A row in which nothing is allowed becomes NaN, and so does its gradient.

    Its maximum is -inf, and -inf - (-inf) is NaN. A sum like scores + (-inf) hands every gradient on, the NaN too, and
    one is enough to spoil every weight of the model in the next update. The row should be 0, its gradient as well.
    """
    return infinity_added(scores, mask).softmax(-1)


@softmax_of_allowed.instead_of("weigh_allowed")
def repaired_after_the_fact(scores: Tensor, mask: Tensor) -> Tensor:
    """Your values are right, but you replace the NaN afterwards, and its gradient is still NaN.

    `nan_to_num` mends the forward pass alone: backward, 0 times NaN is NaN. The NaN must not arise.
    """
    return infinity_added(scores, mask).softmax(-1).nan_to_num(0.0)


@softmax_of_allowed.instead_of("weigh_allowed")
def a_large_number_for_infinity(scores: Tensor, mask: Tensor) -> Tensor:
    """You hide with a large negative number instead of -inf, so a row in which all is hidden becomes uniform.

    Then a token that may see nothing sees all, the hidden ones included, in equal shares. Such a row should be 0.
    """
    return scores.masked_fill(~mask, max(-1e9, torch.finfo(scores.dtype).min)).softmax(-1)


@softmax_of_allowed.instead_of("weigh_allowed")
def ten_thousand_for_infinity(scores: Tensor, mask: Tensor) -> Tensor:
    """You replace hidden scores by about -10,000, and scores may lie below that.

    Beside allowed scores of -10,000 what you hide is seen. A row in which all is hidden becomes uniform, where it
    should be 0. Only -inf lies below every score.
    """
    return scores.masked_fill(~mask, -1e4).softmax(-1)


@softmax_of_allowed.instead_of("weigh_allowed")
def ten_thousand_added(scores: Tensor, mask: Tensor) -> Tensor:
    """You add -10,000 to the hidden scores.

    BERT's code does so, and with small scores it works. A large score is still there after the sum, and where all is
    hidden all move alike: the row comes out as if nothing were hidden. It should be 0.
    """
    return (scores + (~mask).to(scores.dtype) * -1e4).softmax(-1)


@softmax_of_allowed.instead_of("weigh_allowed")
def a_billion_added(scores: Tensor, mask: Tensor) -> Tensor:
    """You add a number like -1e9 to the hidden scores.

    A larger score is still there after the sum, and where all is hidden the row is not 0: all its scores have moved
    alike. Replace what is hidden; a sum keeps it.
    """
    return (scores + (~mask).to(scores.dtype) * max(-1e9, torch.finfo(scores.dtype).min)).softmax(-1)


@softmax_of_allowed.instead_of("weigh_allowed")
def hidden_after_the_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """You set the hidden weights to 0 after the softmax, so rows no longer sum to 1.

    The hidden keys have already taken their share.
    """
    return scores.softmax(-1) * mask


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
    return (scores * mask).softmax(-1)


@softmax_of_allowed.instead_of("weigh_allowed")
def multiplied_and_renormalised(scores: Tensor, mask: Tensor) -> Tensor:
    """You multiply the scores by the mask, take the softmax, multiply again and divide by what is left.

    The hidden scores are 0 in that softmax. Beside allowed ones of some hundred below 0 they take everything, what is
    left is 0, and the row vanishes. Hidden scores should have no effect.
    """
    weights = (scores * mask).softmax(-1) * mask
    return weights / (weights.sum(-1, keepdim=True) + 1e-13)


@softmax_of_allowed.instead_of("weigh_allowed")
def renormalised_afterwards(scores: Tensor, mask: Tensor) -> Tensor:
    """You let the hidden scores into the softmax, or into its maximum, and divide by what is left without them.

    A large hidden score then pushes every allowed weight to 0, and the row vanishes. The hidden scores should have
    no effect.
    """
    weights = scores.softmax(-1) * mask
    return weights / (weights.sum(-1, keepdim=True) + 1e-9)


@softmax_of_allowed.instead_of("weigh_allowed")
def renormalised_to_nan(scores: Tensor, mask: Tensor) -> Tensor:
    """You let the hidden scores into the softmax and divide by what is left without them, which may be 0/0: NaN.

    It is 0/0 where nothing is allowed, and also where a large hidden score takes everything. Hide before you weigh.
    """
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


@softmax_of_allowed.instead_of("weigh_allowed")
def replaced_and_renormalised_to_nan(scores: Tensor, mask: Tensor) -> Tensor:
    """You let the hidden scores into the softmax, replace their weights by 0 and divide by the rest: 0/0 may be NaN.

    It is 0/0 where nothing is allowed, and also where a large hidden score takes everything. Hide before you weigh.
    """
    weights = scores.softmax(-1).masked_fill(~mask, 0)
    return weights / weights.sum(-1, keepdim=True)


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
def exponentiated_as_they_are(scores: Tensor, mask: Tensor) -> Tensor:
    """You take the exponentials of the scores as they are, without subtracting the largest.

    exp(10,000) is inf and exp(-10,000) is 0, so the row becomes NaN or vanishes. Shifted by its largest allowed score,
    a row has the same weights and no such numbers.
    """
    powers = scores.masked_fill(~mask, -math.inf).exp()
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-9)


@softmax_of_allowed.instead_of("weigh_allowed")
def closed_rows_opened(scores: Tensor, mask: Tensor) -> Tensor:
    """In a row where nothing is allowed you allow everything.

    Then a token that may see nothing sees all, the hidden ones included. Its weights should be 0.
    """
    return masked_softmax(scores, mask | ~mask.any(-1, keepdim=True))


@softmax_of_allowed.instead_of("weigh_allowed")
def over_the_queries(scores: Tensor, mask: Tensor) -> Tensor:
    """Your weights sum to 1 over the queries, not over the keys.

    Keys are the last dimension: each query shares out its attention among them.
    """
    everywhere = mask.expand(scores.shape)
    return masked_softmax(scores.transpose(-2, -1), everywhere.transpose(-2, -1)).transpose(-2, -1)


@softmax_of_allowed.instead_of("weigh_allowed")
def only_with_three_dimensions(scores: Tensor, mask: Tensor) -> Tensor:
    """You count dimensions from the front: `dim=2` is the last one of three only.

    Scores may have any number of dimensions before the keys, or none. Counted from the end, the keys are always -1.
    """
    return scores.masked_fill(~mask, -math.inf).softmax(2).nan_to_num(0.0)


@softmax_of_allowed.instead_of("weigh_allowed")
def always_in_float32(scores: Tensor, mask: Tensor) -> Tensor:
    """Your weights are float32, whatever the scores are.

    Computing in float32 inside is fine. The result should have the dtype of the scores.
    """
    return masked_softmax(scores.float(), mask)


@softmax_of_allowed.instead_of("weigh_allowed")
def no_gradient_for_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Your values are right, but no gradient comes back to the scores.

    Something on the way cuts the graph: `.detach()`, `.data`, `torch.tensor(…)` of a tensor, `torch.no_grad()`.
    """
    return masked_softmax(scores.detach(), mask)


@softmax_of_allowed.instead_of("weigh_allowed")
def hidden_in_place(scores: Tensor, mask: Tensor) -> Tensor:
    """You write into the scores that you were given.

    The caller still needs them, and where their gradient is wanted torch refuses. `masked_fill` without the underscore
    makes a new tensor.
    """
    return masked_softmax(scores.masked_fill_(~mask, -math.inf), mask)


# zero_padding ---------------------------------------------------------------------------------------------------------

zeroing = Exercise(
    zero_padding,
    section="Zeroing padding",
    minutes=10,
    difficulty=2,
    why="What stands behind the end of a sentence should not leak into what comes after.",
    hints=[
        "Which positions of sequence b are padding, in terms of lengths[b]?",
        "`padding_mask` gives (batch, 1, seq). x is (batch, seq, d_model): along which dimension should the mask run?",
        "Do not write into x: make a new tensor.",
    ],
)


def padded() -> tuple[Tensor, Tensor]:
    return normal(4, 5, 3, seed="x"), torch.tensor([2, 5, 0, whole(1, 5, seed="length")])


@zeroing.probe
def some_empty_some_full(zero_padding: Any) -> Seen:
    """sequences of 2, 5, 0 and another number of tokens in a batch of width 5"""
    return {"x": zero_padding(*padded())}


@zeroing.probe
def as_wide_as_long(zero_padding: Any) -> Seen:
    """a batch in which every size is 4, so that a wrong axis still fits"""
    return {"x": zero_padding(normal(4, 4, 4, seed="x"), torch.tensor(distinct(0, 5, 4, seed="square")))}


@zeroing.probe
def random_lengths(zero_padding: Any) -> Seen:
    """lengths drawn at random, in a batch wider than the longest"""
    return {"x": zero_padding(normal(6, 7, 2, seed="x"), torch.tensor(distinct(0, 6, 6, seed="lengths")))}


@zeroing.probe
def sizes_of_one_among_vectors(zero_padding: Any) -> Seen:
    """a single sequence, sequences of a single position, vectors of a single number"""
    return {
        "x of one sequence": zero_padding(normal(1, 6, 3, seed="alone"), integers(1, 6, 1, seed="one")),
        "x of one position": zero_padding(normal(4, 1, 3, seed="short"), torch.tensor([1, 0, 1, 0])),
        "x of one number": zero_padding(normal(3, 5, 1, seed="thin"), torch.tensor([3, 0, 5])),
        "x of one of each": zero_padding(normal(1, 1, 1, seed="least"), torch.tensor([1])),
    }


@zeroing.probe
def full_batch(zero_padding: Any) -> Seen:
    """sequences without any padding"""
    return {"x": zero_padding(normal(3, 4, 2, seed="full"), torch.tensor([4, 4, 4]))}


@zeroing.probe
def loud_padding_to_zero(zero_padding: Any) -> Seen:
    """padding that holds numbers of 1e30"""
    x = normal(2, 6, 3, seed="loud")
    x[0, 2:], x[1, 5:] = 1e30, -1e30
    return {"x": zero_padding(x, torch.tensor([2, 5]))}


def long_and_padded() -> tuple[Tensor, Tensor]:
    return normal(2, 300, 2, seed="long"), 1 + 4 * integers(64, 74, 2, seed="hundreds")


usual(zeroing, padded, without=["in_bfloat16"])
zeroing.property(same_in(torch.bfloat16, long_and_padded))  # which has no 257, 261, 265, …: they are rounded down


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


@zeroing.instead_of("zero")
def padded_in_front(x: Tensor, lengths: Tensor) -> Tensor:
    """You zero the first positions, as if padding came before the tokens.

    Here sequences start at position 0 and padding follows them.
    """
    return zero_padding(x.flip(1), lengths).flip(1)


@zeroing.instead_of("zero")
def cut_off_after_the_longest(x: Tensor, lengths: Tensor) -> Tensor:
    """Your result is only as wide as the longest sequence.

    The rest of the model goes on with the width that the batch has. Zero what is beyond; do not cut it off.
    """
    return zero_padding(x, lengths)[:, : int(lengths.max())]


@zeroing.instead_of("zero")
def filled_with_minus_infinity(x: Tensor, lengths: Tensor) -> Tensor:
    """You fill the padding with -inf.

    That is for scores before a softmax. A vector of -inf makes everything infinite, or NaN, that touches it. Here
    padding becomes 0.
    """
    return x.masked_fill(~padding_mask(lengths, x.shape[1]).transpose(-2, -1), -math.inf)


@zeroing.instead_of("until")
def the_first_length_for_all(lengths: Tensor) -> Tensor:
    """You use the first sequence's length for all of them.

    Each sequence has a length of its own.
    """
    return lengths[:1].expand_as(lengths)


# cross_attention ------------------------------------------------------------------------------------------------------

crossing = Exercise(
    cross_attention,
    section="Cross-attention",
    minutes=15,
    difficulty=2,
    why="Queries from one sequence, keys and values from another: how a decoder reads its source.",
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


def drawn_mask(*shape: int, seed: str) -> Tensor:
    """A mask in which every row allows something and hides something."""
    mask = booleans(*shape, seed=seed)
    mask[..., 0], mask[..., -1] = True, False
    return mask


def decoder_and_memory() -> tuple[Tensor, Tensor, Any]:
    return normal(2, 3, 4, seed="decoder"), normal(2, 5, 4, seed="memory"), plain_attention


def decoder_memory_and_mask() -> tuple[Tensor, Tensor, Any, Tensor]:
    return *decoder_and_memory(), drawn_mask(2, 1, 5, seed="padding")


def of_one_shape() -> tuple[Tensor, Tensor, Any, Tensor]:
    decoder, memory = normal(4, 4, seed="decoder"), normal(4, 4, seed="memory")
    return decoder, memory, plain_attention, drawn_mask(4, 4, seed="mask")


@crossing.probe
def without_a_mask(cross_attention: Any) -> Seen:
    """three decoder positions over a memory of five, no mask"""
    return {"output": cross_attention(*decoder_and_memory())}


@crossing.probe
def with_a_mask(cross_attention: Any) -> Seen:
    """three decoder positions over a memory of five, with a padding mask"""
    return {"output": cross_attention(*decoder_memory_and_mask())}


@crossing.probe
def with_a_mask_by_name(cross_attention: Any) -> Seen:
    """two batch dimensions, and a mask for every pair that is given by its name"""
    decoder, memory = normal(2, 3, 4, 6, seed="decoder"), normal(2, 3, 5, 6, seed="memory")
    mask = drawn_mask(4, 5, seed="pairs")
    return {"output": cross_attention(decoder, memory, plain_attention, memory_mask=mask)}


@crossing.probe
def as_long_as_its_memory(cross_attention: Any) -> Seen:
    """a decoder as long as its memory, so that exchanged roles still fit"""
    return {"output": cross_attention(*of_one_shape())}


@crossing.probe
def sizes_of_one_on_both_sides(cross_attention: Any) -> Seen:
    """a single decoder position, a memory of a single position, a single sequence, vectors of a single number"""
    sizes = {
        "one position": ((2, 1, 4), (2, 5, 4), (2, 1, 5)),
        "one position of the memory": ((2, 5, 4), (2, 1, 4), None),
        "one sequence": ((1, 3, 4), (1, 5, 4), (1, 1, 5)),
        "one number": ((2, 3, 1), (2, 5, 1), (3, 5)),
    }
    return {
        f"output of {name}": cross_attention(
            normal(*decoder, seed="decoder"),
            normal(*memory, seed="memory"),
            plain_attention,
            mask and drawn_mask(*mask, seed="mask"),
        )
        for name, (decoder, memory, mask) in sizes.items()
    }


@crossing.probe
def what_attend_is_given(cross_attention: Any) -> Seen:
    """what `attend` receives, without a mask and with one"""
    received: dict[str, Any] = {}
    call = "without a mask"

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        received.update({f"query {call}": query, f"key {call}": key, f"value {call}": value})
        received[f"mask is None {call}"] = mask is None
        if mask is not None:
            received[f"mask {call}"] = mask
        return query

    cross_attention(*decoder_and_memory()[:2], attend)
    call = "with a mask"
    decoder, memory, _, mask = decoder_memory_and_mask()
    cross_attention(decoder, memory, attend, mask)
    return received


usual(crossing, decoder_memory_and_mask, alike=of_one_shape)


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


@crossing.instead_of("roles")
def query_last(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You hand the decoder over in third place, where the values belong.

    Some code has the order (value, key, query). Here `attend` takes query, key, value, mask.
    """
    return memory, memory, decoder


@crossing.instead_of("roles")
def memory_beside_the_decoder(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You let the decoder look at itself and at the memory together: keys and values are both, one after the other.

    A layer looks at the two in turn, and the mask is for the memory alone.
    """
    both = torch.cat([memory, decoder], dim=-2)
    return decoder, both, both


@crossing.instead_of("hand_on")
def mask_negated(memory_mask: Tensor | None) -> Tensor | None:
    """You hand on the opposite of the mask.

    Both conventions exist. In this course True means "may attend", for `attend` too: hand the mask on as it is.
    """
    return None if memory_mask is None else ~memory_mask


@crossing.misconception
def mask_only_if_there_is_one(
    decoder: Tensor, memory: Tensor, attend: Any, memory_mask: Tensor | None = None
) -> Tensor:
    """You call `attend` with three arguments where there is no mask.

    It wants four: query, key, value, mask. Pass the mask always, also when it is None.
    """
    if memory_mask is None:
        return attend(decoder, memory, memory)
    return attend(decoder, memory, memory, memory_mask)


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
    minutes=10,
    difficulty=1,
    why="An average over real words only; with the filling in it, long batches would change short sentences.",
    hints=[
        "A mean is a sum divided by a count. Which of the two does padding spoil? Both?",
        "Zero the padding, sum over positions, and divide: by how many?",
        "A length of 0 gives 0/0. The sum is 0 already; which divisor keeps it 0?",
    ],
)


@pooling.probe
def three_means(masked_mean: Any) -> Seen:
    """sequences of different lengths in a batch wider than the longest"""
    return {"means": masked_mean(normal(4, 6, 3, seed="x"), torch.tensor(distinct(1, 6, 4, seed="lengths")))}


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
    return {"means": masked_mean(normal(4, 4, 4, seed="x"), torch.tensor(distinct(1, 5, 4, seed="square")))}


@pooling.probe
def sizes_of_one_to_average(masked_mean: Any) -> Seen:
    """a single sequence, sequences of a single position, vectors of a single number"""
    return {
        "means of one sequence": masked_mean(normal(1, 6, 3, seed="alone"), integers(2, 6, 1, seed="one")),
        "means of one position": masked_mean(normal(4, 1, 3, seed="short"), torch.tensor([1, 0, 1, 0])),
        "means of one number": masked_mean(normal(3, 5, 1, seed="thin"), torch.tensor([3, 0, 5])),
        "means of one of each": masked_mean(normal(1, 1, 1, seed="least"), torch.tensor([1])),
    }


@pooling.probe
def means_of_a_full_batch(masked_mean: Any) -> Seen:
    """sequences without any padding"""
    return {"means": masked_mean(normal(3, 4, 2, seed="full"), torch.tensor([4, 4, 4]))}


pooling.probe(gradients(padded))
usual(pooling, padded, without=["gradients"])


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


@pooling.instead_of("count")
def count_of_the_whole_batch(x: Tensor, lengths: Tensor) -> Any:
    """You divide every sum by the number of real tokens of the whole batch.

    Each sequence has a count of its own: count along the positions, not over everything.
    """
    return lengths.sum()


@pooling.misconception
def one_mean_for_the_whole_batch(x: Tensor, lengths: Tensor) -> Tensor:
    """You average the real vectors of all sequences together: one mean for the whole batch.

    Each sequence should have its own, so the result is (batch, d_model).
    """
    return x[padding_mask(lengths, x.shape[1])[:, 0]].mean(0)


@pooling.misconception
def the_same_mean_for_every_sequence(x: Tensor, lengths: Tensor) -> Tensor:
    """You average the real vectors of all sequences together, and every sequence gets that mean.

    Sequences of a batch know nothing of each other: each should have its own mean.
    """
    return one_mean_for_the_whole_batch(x, lengths).expand(x.shape[0], -1)


@pooling.instead_of("total")
def padding_in_front(x: Tensor, lengths: Tensor) -> Tensor:
    """You sum the last positions, as if padding came before the tokens.

    Here sequences start at position 0 and padding follows them.
    """
    return zero_padding(x.flip(1), lengths).sum(1)


@pooling.instead_of("count")
def divided_by_the_root(x: Tensor, lengths: Tensor) -> Any:
    """You divide by the square root of the length.

    Some code pools that way, to keep the spread of a sum. A mean is divided by the length itself.
    """
    return number_of_real(x, lengths).sqrt().to(x.dtype)


@pooling.misconception
def no_gradient_for_vectors(x: Tensor, lengths: Tensor) -> Tensor:
    """Your values are right, but no gradient comes back to x.

    Something on the way cuts the graph: `.detach()`, `.data`, `.tolist()`, `torch.tensor(…)` of a tensor,
    `torch.no_grad()`.
    """
    return masked_mean(x.detach(), lengths)


@pooling.misconception
def written_into_x(x: Tensor, lengths: Tensor) -> Tensor:
    """You write zeros into the x that you were given.

    The caller still needs it, and where its gradient is wanted torch refuses. Make a new tensor.
    """
    x[~padding_mask(lengths, x.shape[1])[:, 0]] = 0
    return masked_mean(x, lengths)


@pooling.misconception
def written_into_sequences_of_x(x: Tensor, lengths: Tensor) -> Tensor:
    """You write zeros into the sequences of the x that you were given.

    A slice such as x[b, n:] is a window on x, and the caller still needs what is there. Where its gradient is wanted
    torch refuses. Make a new tensor.
    """
    for b, length in enumerate(lengths.tolist()):
        x[b, length:] = 0
    return masked_mean(x, lengths)
