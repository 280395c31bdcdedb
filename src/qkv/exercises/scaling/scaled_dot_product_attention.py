"""The exercise `scaled_dot_product_attention`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, if_it_runs, one_of_each
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.lookup import similarity_scores, softmax
from qkv.model.scaling import scaled_dot_product_attention

exercise = Exercise(
    scaled_dot_product_attention,
    section="Scaled dot-product attention",
    minutes=15,
    difficulty=2,
    why="The formula of the paper: BERT, GPT-2 and Llama compute it in every layer.",
    hints=[
        "Write each tensor's shape beside it. Which product gives (query, key), and what is to be done with it before "
        "the softmax?",
        "By which number do you have to divide a score whose variance is d_k to get variance 1? Which size of which "
        "tensor is d_k?",
        "What should one query's weights over the keys it may see add up to? Then the hidden keys have to be out "
        "before the softmax shares the weight out.",
        "Which score becomes a weight of exactly 0 after the softmax? `scores.masked_fill(where, value)` writes it; "
        "mind which of True and False is to be filled.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def named(results: Any) -> Seen:
    """Output and weights by name; the weights are missing where only a tensor, or nothing, came back."""
    if results is None or isinstance(results, Tensor):
        return {"output": results}
    output, weights = results
    return {"weights": weights, "output": output}


def drawn(query: int, key: int, d_k: int, d_v: int, *leading: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    shapes = {"q": (query, d_k), "k": (key, d_k), "v": (key, d_v)}
    return [normal(*leading, *shape, seed=name, dtype=dtype) for name, shape in shapes.items()]


def stripes(query: int, key: int, batch: int = 1) -> Tensor:
    """A mask (batch, query, key) that hides something from every query, and shows every key to some: no row is all one
    value, however it is read."""
    b, i, j = torch.arange(batch)[:, None, None], torch.arange(query)[:, None], torch.arange(key)
    return (b + i + 2 * j) % 3 != 0


def queries_keys_values_mask() -> tuple[Tensor, ...]:
    return (*drawn(4, 6, 7, 5, 2), stripes(4, 6, batch=2))


@exercise.probe
def three_queries_over_five_keys(attend: Any) -> Seen:
    """three queries over five keys, d_k = 7, d_v = 4, no mask"""
    return named(attend(*drawn(3, 5, 7, 4, 2)))


@exercise.probe
def under_a_mask(attend: Any) -> Seen:
    """four queries over six keys, d_k = 7, d_v = 5, with a mask for each of the two in the batch"""
    return named(attend(*queries_keys_values_mask()))


def of_one_shape() -> tuple[Tensor, ...]:
    return (*drawn(4, 4, 4, 4, 4), stripes(4, 4, batch=4))


@exercise.probe
def all_sizes_alike(attend: Any) -> Seen:
    """a batch of four, four queries, four keys, d_k = d_v = 4 and a mask, so that a wrong axis still fits"""
    return named(attend(*of_one_shape()))


@exercise.probe
def with_sizes_of_one(attend: Any) -> Seen:
    """a batch of one, one query, one key, d_k = 1, d_v = 1, each in turn"""
    found: Seen = {}
    for words, (batch, query, key, d_k, d_v) in one_of_each(sequence=2, query=3, key=5, component=7, column=4):
        mask = None if 1 in (query, key) else stripes(query, key, batch)  # a mask of one column could only be all True
        seen = named(attend(*drawn(query, key, d_k, d_v, batch), mask))
        found |= {f"{name} with {words}": tensor for name, tensor in seen.items()}
    return found


@exercise.probe
def of_loud_keys(attend: Any) -> Seen:
    """float64 scores around 10,000 and around -10,000, and a hidden key that is louder still"""
    # eighths, and a width whose root is whole: all scores are exact in float32 too
    q, k, v = ((8 * t).round() / 8 for t in drawn(4, 6, 4, 5, 2, dtype=torch.float64))
    q[..., 0] = torch.tensor([128.0, -128.0, 0.0, 128.0])
    k[..., 0] = 160.0
    k[..., 0, 0] = 320.0  # in the first of the batch, `stripes` hides key 0 from queries 0 and 3
    seen = named(attend(q, k, v, stripes(4, 6, batch=2)))
    return {name: tensor.double() for name, tensor in seen.items()}  # whether float64 comes back is asked elsewhere


@exercise.probe
def in_a_window(attend: Any) -> Seen:
    """six positions that see themselves and the two before, without a batch dimension"""
    distance = torch.arange(6)[:, None] - torch.arange(6)
    return if_it_runs(lambda: named(attend(*drawn(6, 6, 5, 3), mask=(distance >= 0) & (distance < 3))))


@exercise.probe
def of_a_single_query(attend: Any) -> Seen:
    """one query over six keys, d_k = 3, d_v = 2, without a batch dimension"""
    return if_it_runs(lambda: named(attend(*drawn(1, 6, 3, 2), None)))


@exercise.probe
def in_several_heads(attend: Any) -> Seen:
    """two batch dimensions, and one mask for all three heads"""
    return if_it_runs(lambda: named(attend(*drawn(4, 5, 8, 6, 2, 3), stripes(4, 5, batch=2).unsqueeze(1))))


@exercise.property
def under_a_padding_mask(attend: Any) -> Seen:
    """a mask of shape (batch, 1, key), which hides the same keys from every query

    A mask of shape (batch, 1, key) is not understood. A mask need not have the scores' shape; it has to broadcast to
    it, as torch's own operations do.
    """
    lengths = torch.tensor([[[4]], [[6]]])
    return named(attend(*drawn(4, 6, 7, 5, 2), torch.arange(6) < lengths))


@exercise.property
def under_one_row_of_a_mask(attend: Any) -> Seen:
    """a mask of shape (key,), one row for every query

    A mask of shape (key,) is not understood. A mask need not have the scores' shape; it has to broadcast to it, as
    torch's own operations do.
    """
    return named(attend(*drawn(3, 5, 7, 4, 2), torch.tensor([True, False, True, True, False])))


@exercise.property
def under_a_mask_that_hides_nothing(attend: Any) -> Seen:
    """masks that are True everywhere, of several shapes, and for a single key

    Under a mask that is True everywhere the result should be that without a mask.
    """
    found: Seen = {}
    shapes = [(4, 6, (2, 4, 6)), (4, 6, (4, 1)), (4, 6, (6,)), (4, 6, ()), (3, 1, (3, 1)), (1, 5, (2, 1, 5))]
    for query, key, shape in shapes:
        seen = named(attend(*drawn(query, key, 7, 5, 2), torch.ones(shape, dtype=torch.bool)))
        found |= {f"{name} under {shape}": tensor for name, tensor in seen.items()}
    return found


@exercise.property
def under_masks_of_every_shape(attend: Any) -> Seen:
    """masks of fewer dimensions than the scores, and of size 1 in some, over two batch dimensions

    Some mask that broadcasts to (..., query, key) is not understood. Sizes of 1 are stretched, and missing dimensions
    are those in front: torch's own operations do both by themselves.
    """
    full = stripes(4, 6, batch=6).unflatten(0, (2, 3))  # (batch, head, query, key)
    masks = [full[0, 0, 0], full[0, 0, :1], full[0, 0], full[0, :1], full[0], full[0, :, :1], full[:1], full[:, :1]]
    masks += [full[:, :1, :1], full[:, :, :1], full[:1, :, :1], full]
    found: Seen = {}
    for mask in masks:
        seen = named(attend(*drawn(4, 6, 7, 5, 2, 3), mask))
        found |= {f"{name} under a mask {tuple(mask.shape)}": tensor for name, tensor in seen.items()}
    return found


usual(exercise, queries_keys_values_mask, alike=of_one_shape)


def by_the_root_of_d_k(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    return scores / math.sqrt(q.shape[-1])


def true_may_attend(mask: Tensor | None) -> Tensor | None:
    return mask


def softmax_of_what_is_allowed(scores: Tensor, allowed: Tensor | None) -> Tensor:
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    return softmax(scores, -1)


def output_and_weights(output: Tensor, weights: Tensor, scores: Tensor, allowed: Tensor | None) -> Any:
    return output, weights


@exercise.assembled
def attention_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    compare: Any = similarity_scores,
    scale: Any = by_the_root_of_d_k,
    read: Any = true_may_attend,
    weights_of: Any = softmax_of_what_is_allowed,
    answer: Any = output_and_weights,
) -> Any:
    scores = scale(compare(q, k), q, v)
    allowed = read(mask)
    weights = weights_of(scores, allowed)
    return answer(weights @ v, weights, scores, allowed)


@exercise.instead_of("compare")
def for_one_batch_dimension(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for exactly one batch dimension.

    `...` stands for any number of dimensions, and for none: heads will need two. `bmm`, dimensions counted from the
    front, and shapes that are unpacked into three names fix their number; `@` and dimensions counted from the back do
    not.
    """
    return torch.bmm(q, k.transpose(1, 2))


@exercise.instead_of("compare")
def for_no_batch_dimension(q: Tensor, k: Tensor) -> Tensor:
    """Your code works only without a batch.

    `...` stands for any number of dimensions before the last two. `mm` and `t` know matrices alone; `@` multiplies the
    last two dimensions and carries the others along.
    """
    return torch.mm(q, k.transpose(-2, -1))


@exercise.instead_of("compare")
def for_two_batch_dimensions(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for exactly two batch dimensions, as (batch, head) would be.

    `...` stands for any number of dimensions, and for none. Count the two that you turn from the back.
    """
    return q @ k.transpose(2, 3)


@exercise.instead_of("compare")
def the_batch_turned_too(q: Tensor, k: Tensor) -> Tensor:
    """You turn all dimensions of k, and the batch with them.

    Without a batch that is right. With one, the batch dimension ends up last, where the keys belong.
    """
    return q @ k.permute(*reversed(range(k.dim())))


@exercise.instead_of("compare")
def cosines_compared(q: Tensor, k: Tensor) -> Tensor:
    """You compare directions only: your scores are cosines, before you divide them.

    The dot product keeps the lengths of query and key. A cosine is at most 1, and divided by the square root of d_k all
    weights are nearly equal.
    """
    return similarity_scores(q / q.norm(dim=-1, keepdim=True), k / k.norm(dim=-1, keepdim=True))


@exercise.instead_of("scale")
def unscaled(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """Your scores are not divided by the square root of d_k.

    The variance of q·k grows with d_k; large scores push the softmax towards one-hot weights, where its gradient
    vanishes.
    """
    return scores


@exercise.instead_of("scale")
def divided_by_d_k(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """You divide the scores by d_k, without the root.

    That makes their variance 1/d_k: at d_k = 64 all weights are nearly equal, and no query can prefer a key. It is the
    deviation that has to be divided out.
    """
    return scores / q.shape[-1]


@exercise.instead_of("scale")
def multiplied_by_the_root(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """You multiply the scores by the square root of d_k instead of dividing.

    Wide vectors give large scores as it is; this makes them larger still.
    """
    return scores * math.sqrt(q.shape[-1])


@exercise.instead_of("scale")
def by_the_number_of_keys(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """You divide by the square root of the number of keys.

    A score is a sum over the components of one query and one key. How many keys there are does not enter it.
    """
    return scores / math.sqrt(scores.shape[-1])


@exercise.instead_of("scale")
def by_the_number_of_queries(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """You divide by the square root of the number of queries.

    In q the width is the last dimension; the one before it counts queries. A score is a sum over the width.
    """
    return scores / math.sqrt(q.shape[-2])


@exercise.instead_of("scale")
def by_the_width_of_the_values(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """You divide by the square root of d_v, the width of the values.

    The values take no part in the scores. Often d_v equals d_k, and then this goes unnoticed; here it does not.
    """
    return scores / math.sqrt(v.shape[-1])


@exercise.instead_of("read")
def mask_reversed(mask: Tensor | None) -> Tensor | None:
    """You read the mask the wrong way round: you hide what is allowed.

    In this course True means "may attend". Both conventions exist, even within torch, so it is worth a look at the
    documentation every time.
    """
    return None if mask is None else ~mask


@exercise.instead_of("read")
def mask_ignored(mask: Tensor | None) -> Tensor | None:
    """You do not use the mask.

    Every query then sees every key, also those that it must not see.
    """
    return None


@exercise.instead_of("read")
def mask_turned(mask: Tensor | None) -> Tensor | None:
    """You turn the mask: its rows meet the keys and its columns the queries.

    A row of the mask belongs to a query and says which keys it may see, as a row of the scores does.
    """
    return None if mask is None else mask.transpose(-2, -1)


@exercise.instead_of("weights_of")
def too_large_for_float16(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Your hidden scores are a number that float16 cannot hold, and torch refuses it there.

    The largest number of float16 is 65,504. -inf exists in every dtype, and so does `torch.finfo(scores.dtype).min`.
    """
    return softmax(scores if allowed is None else scores.masked_fill(~allowed, -1e9), -1)


@exercise.instead_of("weights_of")
def a_large_number_for_infinity(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You set the hidden scores to a number that is not below every score.

    It may be as low as -10,000: where all visible scores are lower still, the hidden keys get the weight. Which number
    is below all others?
    """
    return softmax(scores if allowed is None else scores.masked_fill(~allowed, -1e4), -1)


@exercise.instead_of("weights_of")
def a_large_number_added(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You lower the hidden scores by a number such as 10,000, and a hidden key that is loud enough is still heard.

    The score of a hidden key should not matter at all. Which number, added to any score, leaves nothing of it?
    """
    return softmax(scores if allowed is None else scores - 1e4 * (~allowed).to(scores.dtype), -1)


@exercise.instead_of("weights_of")
def mask_of_the_very_shape(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Your code takes a mask only if it has the very shape of the scores.

    A mask has to broadcast to (..., query, key): it may be one for all heads, or one row for all queries. An index
    `scores[mask]` and a `reshape` do not broadcast; `masked_fill` and `torch.where` do.
    """
    if allowed is not None:
        scores = scores.clone()
        scores[~allowed] = -math.inf
    return softmax(scores, -1)


@exercise.instead_of("weights_of")
def future_hidden(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You hide later keys from every query, asked or not.

    That is the causal mask, which chapter 5 builds. Here the caller says what is hidden, and without a mask nothing is.
    """
    past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    return softmax_of_what_is_allowed(scores, past if allowed is None else past & allowed)


@exercise.instead_of("weights_of")
def softmax_over_dimension_one(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Your softmax runs over dimension 1, which are the keys only if there is no batch.

    With one batch dimension it is the queries that compete. Counted from the back, the keys are always the last.
    """
    return softmax(scores if allowed is None else scores.masked_fill(~allowed, -math.inf), 1)


@exercise.instead_of("weights_of")
def softmax_over_dimension_two(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Your softmax runs over dimension 2, which are the keys only if there is exactly one batch dimension.

    `...` stands for any number of dimensions, and for none. Counted from the back, the keys are always the last.
    """
    return softmax(scores if allowed is None else scores.masked_fill(~allowed, -math.inf), 2)


@exercise.instead_of("weights_of")
def masked_after_softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You zero the masked weights after the softmax, so rows no longer sum to 1.

    The hidden keys have already taken their share.
    """
    weights = softmax(scores, -1)
    return weights if allowed is None else weights * allowed


@exercise.instead_of("weights_of")
def renormalised_after_softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You zero the masked weights after the softmax and divide by what is left. Sometimes nothing is left.

    If a hidden key is loud enough, it takes all the weight first, and the others are rounded to 0; then 0/0 is NaN. A
    hidden key should not take part at all.
    """
    weights = softmax(scores, -1)
    if allowed is None:
        return weights
    return weights * allowed / (weights * allowed).sum(dim=-1, keepdim=True)


@exercise.instead_of("weights_of")
def hidden_scores_set_to_zero(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You set the hidden scores to 0, or to a number near it.

    A score of 0 is an ordinary score: exp(0) = 1 is a full share. Which score has no share at all?
    """
    return softmax(scores if allowed is None else scores * allowed, -1)


@exercise.instead_of("weights_of")
def mask_added(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You add the mask to the scores as a number: True counts 1, False counts 0.

    That prefers the allowed keys a little, by a factor of e, and hides nothing.
    """
    return softmax(scores if allowed is None else scores + allowed, -1)


@exercise.instead_of("weights_of")
def softmax_over_queries(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Your softmax runs over the queries, so the weights of one query do not sum to 1.

    Each query distributes its own attention over the keys; the queries do not compete with each other.
    """
    return softmax_of_what_is_allowed(scores.transpose(-2, -1), None if allowed is None else turned(allowed)).transpose(
        -2, -1
    )


def turned(mask: Tensor) -> Tensor:
    return torch.atleast_2d(mask).transpose(-2, -1)


@exercise.instead_of("weights_of")
def no_softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You weigh the values by the scores themselves, without a softmax; hidden ones count 0.

    Scores may be negative and do not sum to 1, so the output is no average of the values.
    """
    return scores if allowed is None else scores * allowed


@exercise.instead_of("weights_of")
def overflowing_softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Your weights become NaN when scores are large.

    The exponential of a large score is inf, and inf/inf is NaN. Use the stable softmax of the last chapter, yours or
    torch's.
    """
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    powers = scores.exp()
    return powers / powers.sum(dim=-1, keepdim=True)


@exercise.instead_of("answer")
def output_alone(output: Tensor, weights: Tensor, scores: Tensor, allowed: Tensor | None) -> Any:
    """You return the output alone.

    The weights are asked for as well: they are what the figures show. Return both, output first.
    """
    return output


@exercise.instead_of("answer")
def weights_first(output: Tensor, weights: Tensor, scores: Tensor, allowed: Tensor | None) -> Any:
    """You return weights and output in the wrong order.

    The output comes first, then the weights.
    """
    return weights, output


@exercise.instead_of("answer")
def scores_for_weights(output: Tensor, weights: Tensor, scores: Tensor, allowed: Tensor | None) -> Any:
    """Your output is right, but what you return beside it are the scores.

    The weights are asked for: what the softmax made of the scores, and what the values are averaged with.
    """
    return output, scores if allowed is None else scores.masked_fill(~allowed, -math.inf)


@exercise.misconception
def divided_after_softmax(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """You divide the weights by the square root of d_k, after the softmax.

    By then the softmax has saturated already, and the rows no longer sum to 1. It is the scores that are too large.
    """
    weights = softmax_of_what_is_allowed(similarity_scores(q, k), mask) / math.sqrt(q.shape[-1])
    return weights @ v, weights


@exercise.misconception
def always_float32(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """You convert to float32, whatever dtype comes in.

    A caller who works in float64 wants its digits, one in bfloat16 its memory. Results have the dtype of the inputs.
    """
    return scaled_dot_product_attention(q.float(), k.float(), v.float(), mask)


@exercise.misconception
def keys_averaged(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """You average the keys; the values are never used.

    Keys say where to look, values say what is found there.
    """
    _, weights = scaled_dot_product_attention(q, k, v, mask)
    return weights @ k, weights


squeezes(exercise)
unpacks(exercise, "q", "batch", "query", "d_k")
