"""Theory: what attention and a feed-forward network can compute, shown by weights that are written by hand.

McCulloch and Pitts 1943 (a unit for each case); Hao et al. 2022 (averaging hard attention; Hahn 2020 has the unique
kind, in which ties do not share); Weiss et al. 2021 (RASP, and brackets in it); Olsson et al. 2022 (induction heads);
Dong et al. 2021 (rank collapse). Shapes: see model/__init__.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.model.expect import expects, is_integer
from qkv.model.lookup import similarity_scores
from qkv.model.masks import causal_mask
from qkv.model.positions import also, shift_matrix


def not_in_rows(queries: Any, keys: Any, values: Tensor, predicate: Any, default: float) -> str:
    for name, given in (("queries", queries), ("keys", keys)):
        if not isinstance(given, Tensor):
            return f"{name} is a {type(given).__name__}, expected a tensor."
    if keys.shape != values.shape:
        return (
            f"keys has shape {tuple(keys.shape)} and values has {tuple(values.shape)}, expected the same shape "
            "(..., key): one value for each key."
        )
    if queries.dim() == 0 or queries.shape[:-1] != values.shape[:-1]:
        return (
            f"queries has shape {tuple(queries.shape)}, expected (..., query) with the leading dimensions "
            f"{tuple(values.shape[:-1])} of keys and values."
        )
    return ""


def broken_step(k: Any, d_model: int, beta: float, base: float) -> str:
    return "" if is_integer(k) else f"k is {k!r}, expected an integer: a number of positions."


def unknown_ids(ids: Tensor, vocab: int) -> str:
    lowest, highest = int(ids.min()), int(ids.max())
    if lowest >= 0 and highest < vocab:
        return ""
    return f"ids has {lowest if lowest < 0 else highest}, expected ids from 0 to vocab - 1 = {vocab - 1}."


def not_a_truth_table(table: Tensor) -> str:
    cases = len(table)
    if cases >= 2 and cases & (cases - 1) == 0:
        return ""
    return f"table has {cases} entries, expected 2, 4, 8, …: 2**n for n ≥ 1 inputs."


@expects(q="... query d_k", k="... key d_k", v="... key d_v", mask="bool -> ... query key")
def hard_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Answer each query by its best key alone; keys that are equally good share.

    It is what softmax(β·q·k) comes to as β grows without end.

    Args:
        q: queries (..., query, d_k).
        k: keys (..., key, d_k).
        v: values (..., key, d_v).
        mask: bool, broadcastable to (..., query, key). True means "may attend";
            every query may attend somewhere.

    Returns:
        output (..., query, d_v) and weights (..., query, key). Each row of weights
        shares 1 equally among the allowed keys whose score equals, to the last
        digit, the largest allowed score; all other keys have weight 0.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """
    scores = similarity_scores(q, k)  # (..., query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    best = scores == scores.amax(dim=-1, keepdim=True)
    weights = best.to(v.dtype) / best.sum(dim=-1, keepdim=True)
    return weights @ v, weights


@expects(values="... key")
@also.expects(not_in_rows)
def select_aggregate(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    predicate: Callable[[Tensor, Tensor], Tensor],
    default: float = 0.0,
) -> Tensor:
    """Select keys by a question with the answer yes or no; average their values.

    These are the two verbs of RASP, a language of what attention can do.

    Args:
        queries: one entry for each query (..., query), of any dtype.
        keys: one entry for each key (..., key), of any dtype.
        values: floating (..., key), one for each key.
        predicate: predicate(query, key) says which pairs are selected: an
            elementwise function of two tensors that broadcast, such as torch.eq.
        default: the answer where no key is selected.

    Returns:
        means (..., query), each of the values whose key is selected.
    """
    answers = predicate(queries.unsqueeze(-1), keys.unsqueeze(-2))
    selected = answers.expand(*queries.shape, keys.shape[-1])  # it may look at one of the two alone
    precise = torch.promote_types(values.dtype, torch.float32)  # a sum overflows float16 before its mean does
    kept = torch.where(selected, values.to(precise).unsqueeze(-2), 0.0)  # (..., query, key)
    count = selected.sum(dim=-1)
    means = kept.sum(dim=-1) / count.clamp(min=1)
    return means.masked_fill(count == 0, default).to(values.dtype)


@expects(d_model="even", beta="above 0", base="above 0")
@also.expects(broken_step)
def offset_head(
    k: int,
    d_model: int,
    beta: float,
    base: float = 10000.0,
) -> tuple[Tensor, Tensor]:
    """Write the weights of a head that looks k positions back.

    They are for sinusoidal codes P (seq, d_model), as `sinusoidal_positions` has
    them: queries are P @ w_q.T, keys P @ w_k.T, and scores are not scaled.

    Args:
        k: how many positions back; negative looks ahead.
        d_model: width of a code, even.
        beta: how sharply positions are told apart, above 0.
        base: the base of the codes.

    Returns:
        w_q and w_k, both (d_model, d_model). The score of query i with key j is
        beta·PE(i-k)·PE(j), largest at j = i-k. PE has its formula also before
        position 0.
    """
    w_q = beta * shift_matrix(-k, d_model, base)  # turns the code of i into that of i-k
    return w_q, torch.eye(d_model)


@expects(ids="int: ... seq", vocab="positive")
@also.expects(unknown_ids)
def induction_head(ids: Tensor, vocab: int) -> Tensor:
    """Predict that what followed this token before will follow it again.

    Args:
        ids: tokens (..., seq), int64, from 0 to vocab - 1.
        vocab: how many different tokens there are.

    Returns:
        predictions (..., seq, vocab). At position t it is the average of
        onehot(ids[u+1]) over all u < t with ids[u] = ids[t], or zeros if there
        is no such u.
    """
    nothing = torch.full_like(ids[..., :1], -1)
    before = torch.cat([nothing, ids[..., :-1]], dim=-1)  # a first head: each token learns which one it follows
    matches = ids.unsqueeze(-1) == before.unsqueeze(-2)  # a second head: (..., query, key)
    matches = matches & causal_mask(ids.shape[-1]).to(ids.device)
    onehot = torch.eye(vocab, device=ids.device)[ids]  # (..., seq, vocab)
    return matches.to(onehot.dtype) @ onehot / matches.sum(dim=-1, keepdim=True).clamp(min=1)


@expects(ids="int: ... seq")
def bracket_state(ids: Tensor) -> Tensor:
    """Say after each token whether the brackets so far are balanced.

    Args:
        ids: tokens (..., seq), int64: 1 opens, 2 closes, all else is no bracket.

    Returns:
        states int64 (..., seq), after each token: 0 balanced, 1 not balanced but
        can still be completed, 2 lost, since more were closed than opened, now or
        before.
    """
    depth = ((ids == 1).long() - (ids == 2).long()).cumsum(dim=-1)
    lowest = depth.cummin(dim=-1).values  # up to each token
    return torch.where(lowest < 0, 2, (depth > 0).long())


@expects(table="cases")
@also.expects(not_a_truth_table)
def boolean_ffn(table: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Write the weights of a feed-forward network that knows a table by heart.

    Args:
        table: the answers (2**n,), floating, for n ≥ 1 inputs that are 0 or 1. The
            inputs, read as a binary number with x[0] as the highest bit, say which
            entry is the answer.

    Returns:
        up (2**n, n), bias (2**n,) and down (2**n,), such that
        relu(x @ up.T + bias) @ down is the answer to every x of zeros and ones.
    """
    n = len(table).bit_length() - 1
    case = torch.arange(2**n, device=table.device)
    place = torch.arange(n - 1, -1, -1, device=table.device)
    bits = (case[:, None] >> place) & 1  # (2**n, n)
    # A unit for each case: 1 at its own, and at most 0 at every other, where relu silences it.
    up = 2 * bits - 1
    bias = 1 - bits.sum(dim=-1)
    return up.to(table.dtype), bias.to(table.dtype), table.clone()


@expects(x="... seq d")
def rank_residual(x: Tensor) -> Tensor:
    """Measure how much the vectors of a sequence still differ from each other.

    Args:
        x: a sequence of vectors (..., seq, d), not all 0.

    Returns:
        residual (...), from 0 (all vectors are equal) to 1 (their mean is 0): the
        length of x minus its mean row, divided by the length of x. Lengths are
        Frobenius norms.
    """
    precise = x.to(torch.promote_types(x.dtype, torch.float32))  # a mean in bfloat16 would differ by its rounding
    rest = precise - precise.mean(dim=-2, keepdim=True)
    return (torch.linalg.matrix_norm(rest) / torch.linalg.matrix_norm(precise)).to(x.dtype)
