"""Chapter 15's reference against plain loops in float64, and against the limits that it stands for."""

from __future__ import annotations

import inspect
import itertools
import math
import re

import pytest
import torch
from torch import Tensor

from qkv.model.positions import sinusoidal_positions
from qkv.model.theory import (
    boolean_ffn,
    bracket_state,
    hard_attention,
    induction_head,
    offset_head,
    rank_residual,
    select_aggregate,
)

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 8e-3, torch.bfloat16: 6e-2}
LEADING = [(), (2,), (2, 5)]


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def whole(*shape: int, seed: int, below: int, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.randint(below, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def refuses(error: type[Exception], words: str, function: object, *args: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args)  # type: ignore[operator]


# hard_attention


def asked(*leading: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys of small whole numbers, so that scores are exact and many are equal."""
    q, k = whole(*leading, 4, 3, seed=0, below=3, dtype=dtype), whole(*leading, 6, 3, seed=1, below=3, dtype=dtype)
    return q, k, drawn(*leading, 6, 7, seed=2, dtype=dtype)


def hard_loop(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    weights = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=torch.float64)
    output = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=torch.float64)
    for row in itertools.product(*(range(n) for n in q.shape[:-1])):
        batch, query = row[:-1], q[row].tolist()
        scores = [sum(a * b for a, b in zip(query, key, strict=True)) for key in k[batch].tolist()]
        allowed = [j for j in range(len(scores)) if mask[row][j]]
        best = [j for j in allowed if scores[j] == max(scores[j] for j in allowed)]
        for j in best:
            weights[row][j] = 1 / len(best)
            output[row] += v[batch][j].double() / len(best)
    return output, weights


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("dtype", FLOATS)
def test_hard_attention_is_shared_by_the_best_keys(leading, dtype):
    q, k, v = asked(*leading, dtype=dtype)
    everything = torch.ones(4, 6, dtype=torch.bool)
    for mask in (None, drawn(*leading, 4, 6, seed=3) > -0.5, everything.tril(), torch.arange(6) != 2):
        allowed = everything if mask is None else mask
        expected = hard_loop(q, k, v, allowed.expand(*leading, 4, 6))
        found = hard_attention(q, k, v, mask)
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == dtype
            torch.testing.assert_close(one.double(), other, rtol=0, atol=2 * FLOATS[dtype])


def test_the_queries_of_these_tests_have_one_best_key_or_several():
    _, weights = hard_attention(*asked(2, 5))
    assert {round(1 / w) for w in weights.flatten().tolist() if w} >= {1, 2, 3}


def test_hard_attention_is_the_limit_of_the_softmax():
    q, k, v = asked(2)
    mask = torch.ones(4, 6).tril(1).bool()
    scores = torch.einsum("bqd,bkd->bqk", q, k).masked_fill(~mask, -math.inf)
    apart = []
    for beta in (1, 4, 16, 64):
        soft = torch.softmax(beta * scores, dim=-1)
        apart.append((soft - hard_attention(q, k, v, mask)[1]).abs().max().item())
    assert apart == sorted(apart, reverse=True)
    assert apart[0] > 0.1
    assert apart[-1] < 1e-12
    torch.testing.assert_close(hard_attention(q, k, v, mask)[0], torch.softmax(64 * scores, dim=-1) @ v)


def test_nearly_the_best_is_not_the_best():
    k = torch.tensor([[1.0], [1.0 + 2**-20], [1.0 + 2**-20], [-5.0]])
    _, weights = hard_attention(torch.ones(1, 1), k, torch.ones(4, 2))
    assert weights.tolist() == [[0.0, 0.5, 0.5, 0.0]]


def test_a_hidden_key_neither_wins_nor_shares():
    q, k, v = (
        torch.ones(1, 1),
        torch.tensor([[-3.0], [7.0], [-3.0], [-4.0]]),
        torch.tensor([[2.0], [100.0], [4.0], [8.0]]),
    )
    output, weights = hard_attention(q, k, v, torch.tensor([True, False, True, True]))
    assert weights.tolist() == [[0.5, 0.0, 0.5, 0.0]]
    assert output.tolist() == [[3.0]]


def test_the_values_of_hard_attention_learn():
    q, k, v = asked(2)
    torch.autograd.gradcheck(lambda values: hard_attention(q, k, values)[0], (v.requires_grad_(),))


def test_hard_attention_refuses_other_widths_and_masks_of_numbers():
    words = "hard_attention: k has shape (6, 2), so d_k = 2; expected d_k = 3, as q has it. k is (..., key, d_k)."
    refuses(ValueError, words, hard_attention, torch.ones(4, 3), torch.ones(6, 2), torch.ones(6, 7))
    words = (
        'hard_attention: mask is float32, expected bool, where True means "may attend". '
        'Use mask != 0, or mask == 0 if your zeros mean "allowed".'
    )
    refuses(TypeError, words, hard_attention, torch.ones(4, 3), torch.ones(6, 3), torch.ones(6, 7), torch.ones(4, 6))


# select_aggregate


def select_loop(queries: Tensor, keys: Tensor, values: Tensor, predicate: object, default: float) -> Tensor:
    found = torch.zeros(queries.shape, dtype=torch.float64)
    for row in itertools.product(*(range(n) for n in queries.shape)):
        batch = row[:-1]
        pairs = zip(keys[batch].tolist(), values[batch].tolist(), strict=True)
        chosen = [value for key, value in pairs if predicate(queries[row].item(), key)]  # type: ignore[operator]
        found[row] = sum(chosen) / len(chosen) if chosen else default
    return found


PREDICATES = {
    "eq": (torch.eq, lambda q, k: q == k),
    "lt": (torch.lt, lambda q, k: q < k),
    "a difference": (lambda q, k: q - k == 1, lambda q, k: q - k == 1),
    "queries alone": (lambda q, k: q > 1, lambda q, k: q > 1),
    "keys alone": (lambda q, k: k > 1, lambda q, k: k > 1),
}


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("name", PREDICATES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_select_aggregate_averages_what_is_selected(leading, name, dtype):
    predicate, of_numbers = PREDICATES[name]
    queries, keys = whole(*leading, 4, seed=10, below=4), whole(*leading, 6, seed=11, below=4)
    values = drawn(*leading, 6, seed=12, dtype=dtype)
    for default in (0.0, -7.5):
        found = select_aggregate(queries, keys, values, predicate, default)
        assert found.dtype == dtype
        expected = select_loop(queries, keys, values, of_numbers, default)
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=FLOATS[dtype])


def test_the_default_of_the_default_is_0():
    found = select_aggregate(torch.tensor([3, 4]), torch.tensor([4, 5, 4]), torch.tensor([1.0, 9.0, 2.0]), torch.eq)
    assert found.tolist() == [0.0, 1.5]


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.float64])
def test_what_is_compared_may_be_of_any_dtype(dtype):
    queries, keys = torch.tensor([0, 1]).to(dtype), torch.tensor([1, 0, 1]).to(dtype)
    found = select_aggregate(queries, keys, torch.tensor([2.0, 3.0, 5.0]), torch.eq)
    assert found.tolist() == [3.0, 3.5]


def test_what_is_not_selected_does_not_count_even_if_it_is_infinite():
    values = torch.tensor([2.0, math.inf, 5.0, math.nan], requires_grad=True)
    found = select_aggregate(torch.tensor([1, 0]), torch.tensor([1, 2, 1, 3]), values, torch.eq, default=4.0)
    assert found.tolist() == [3.5, 4.0]
    (gradient,) = torch.autograd.grad(found.sum(), values)
    assert gradient.tolist() == [0.5, 0.0, 0.5, 0.0]


def test_where_nothing_is_selected_no_nan_arises_on_the_way_back():
    values = drawn(3, seed=14).requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        found = select_aggregate(torch.tensor([1, 9]), torch.tensor([1, 2, 1]), values, torch.eq)
        (gradient,) = torch.autograd.grad(found.sum(), values)
    assert gradient.tolist() == [0.5, 0.0, 0.5]


def test_a_mean_is_exact_where_its_values_are_whole_and_alike():
    # programs compare means by ==; 49 times a rounded 1/49 is not 1
    found = select_aggregate(torch.zeros(1), torch.zeros(49), torch.ones(49), torch.eq)
    assert found.tolist() == [1.0]


def test_a_sum_that_float16_cannot_hold():
    values = torch.full((100,), 1000.0, dtype=torch.float16)
    assert select_aggregate(torch.zeros(1), torch.zeros(100), values, torch.eq).tolist() == [1000.0]


def test_a_text_is_reversed_in_two_steps():
    place = torch.arange(5)
    values = drawn(5, seed=13)
    length = 1 / select_aggregate(place, place, (place == 0).double(), lambda q, k: k >= 0)
    opposite = length.round().long() - 1 - place
    assert torch.equal(select_aggregate(opposite, place, values, torch.eq), values.flip(0))


def test_select_aggregate_refuses_what_has_no_rows():
    one, three = torch.zeros(2, 4), torch.zeros(2, 6)
    words = "select_aggregate: queries is a list, expected a tensor."
    refuses(ValueError, words, select_aggregate, [1, 2], three, three, torch.eq)
    words = "select_aggregate: keys is a int, expected a tensor."
    refuses(ValueError, words, select_aggregate, one, 3, three, torch.eq)
    words = (
        "select_aggregate: keys has shape (2, 4) and values has (2, 6), expected the same shape (..., key): "
        "one value for each key."
    )
    refuses(ValueError, words, select_aggregate, one, one, three, torch.eq)
    for queries in (torch.zeros(3, 4), torch.zeros(4)):
        words = (
            f"select_aggregate: queries has shape {tuple(queries.shape)}, expected (..., query) with the leading "
            "dimensions (2,) of keys and values."
        )
        refuses(ValueError, words, select_aggregate, queries, three, three, torch.eq)
    words = (
        "select_aggregate: queries has shape (), expected (..., query) with the leading dimensions () of keys and "
        "values."
    )
    refuses(ValueError, words, select_aggregate, torch.tensor(1), three[0], three[0], torch.eq)
    words = "select_aggregate: values is int64, expected a floating dtype. Use values.float()."
    refuses(TypeError, words, select_aggregate, one, three, three.long(), torch.eq)


# offset_head


def code(t: int, d_model: int, base: float) -> list[float]:
    angles = [t * base ** (-2 * i / d_model) for i in range(d_model // 2)]
    return [f(a) for a in angles for f in (math.sin, math.cos)]


@pytest.mark.parametrize("k", [0, 1, 3, -2, 40])
@pytest.mark.parametrize("d_model", [2, 6])
@pytest.mark.parametrize("base", [10000.0, 50.0])
def test_offset_head_scores_by_the_distance_to_k_back(k, d_model, base):
    beta, seq = 1.7, 9
    w_q, w_k = offset_head(k, d_model, beta, base)
    assert w_q.shape == w_k.shape == (d_model, d_model)
    assert w_q.dtype == w_k.dtype == torch.get_default_dtype()
    positions = sinusoidal_positions(seq, d_model, base)
    found = (positions @ w_q.T) @ (positions @ w_k.T).T
    expected = torch.zeros(seq, seq)
    for i, j in itertools.product(range(seq), repeat=2):
        wanted, there = code(i - k, d_model, base), code(j, d_model, base)
        expected[i, j] = beta * sum(a * b for a, b in zip(wanted, there, strict=True))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_the_base_of_offset_head_is_that_of_the_positions():
    for one, other in zip(offset_head(3, 6, 2.0), offset_head(3, 6, 2.0, 10000.0), strict=True):
        assert torch.equal(one, other)


def test_offset_head_has_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        weights = offset_head(2, 4, 1.0)
    finally:
        torch.set_default_dtype(torch.float32)
    assert [w.dtype for w in weights] == [torch.float64] * 2


@pytest.mark.parametrize("k", [1, 4, -3])
def test_a_sharp_offset_head_copies_what_stands_k_back(k):
    seq, values = 12, drawn(12, 5, seed=20, dtype=torch.float32)
    positions = sinusoidal_positions(seq, 16)
    w_q, w_k = offset_head(k, 16, 200.0)
    copied = torch.softmax((positions @ w_q.T) @ (positions @ w_k.T).T, dim=-1) @ values
    there = torch.arange(seq) - k
    inside = (there >= 0) & (there < seq)
    torch.testing.assert_close(copied[inside], values[there[inside]], rtol=0, atol=1e-4)


def test_offset_head_refuses_odd_widths_broken_steps_and_no_sharpness():
    refuses(ValueError, "offset_head: d_model is 5, expected a positive even integer.", offset_head, 1, 5, 1.0)
    refuses(ValueError, "offset_head: k is 1.5, expected an integer: a number of positions.", offset_head, 1.5, 4, 1.0)
    refuses(ValueError, "offset_head: beta is 0.0, expected a number above 0.", offset_head, 1, 4, 0.0)
    refuses(ValueError, "offset_head: base is -2.0, expected a number above 0.", offset_head, 1, 4, 1.0, -2.0)


# induction_head


def induction_loop(ids: Tensor, vocab: int) -> Tensor:
    found = torch.zeros(*ids.shape, vocab)
    for batch in itertools.product(*(range(n) for n in ids.shape[:-1])):
        text = ids[batch].tolist()
        for t in range(len(text)):
            followers = [text[u + 1] for u in range(t) if text[u] == text[t]]
            for follower in followers:
                found[batch][t, follower] += 1 / len(followers)
    return found


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("seq", "vocab"), [(1, 3), (2, 1), (4, 9), (11, 3), (11, 7)])
def test_induction_head_averages_what_followed(leading, seq, vocab):
    ids = whole(*leading, seq, seed=30, below=vocab)
    found = induction_head(ids, vocab)
    assert found.dtype == torch.get_default_dtype()
    torch.testing.assert_close(found, induction_loop(ids, vocab), rtol=0, atol=1e-6)


def test_a_token_that_repeats_itself_at_once_predicts_itself():
    assert induction_head(torch.tensor([2, 2]), 3).tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def test_every_earlier_occurrence_counts_alike():
    # 0 was followed by 1, 2, 2 and 1, in this order
    found = induction_head(torch.tensor([0, 1, 0, 2, 0, 2, 0, 1, 0]), 3)
    assert found[-1].tolist() == [0.0, 0.5, 0.5]
    assert found[0].tolist() == found[1].tolist() == [0.0, 0.0, 0.0]


def test_what_comes_later_is_not_seen():
    ids = whole(2, 11, seed=31, below=3)
    torch.testing.assert_close(induction_head(ids, 3)[:, :7], induction_head(ids[:, :7], 3))


def test_induction_head_has_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        found = induction_head(torch.tensor([0, 1, 0, 2, 0, 1, 0]), 3)
    finally:
        torch.set_default_dtype(torch.float32)
    expected = torch.tensor([0, 2 / 3, 1 / 3], dtype=torch.float64)
    torch.testing.assert_close(found[-1], expected)


def test_induction_head_refuses_unknown_ids():
    for ids, wrong in (([0, 5, 2], 5), ([0, -1, 2], -1)):
        words = f"induction_head: ids has {wrong}, expected ids from 0 to vocab - 1 = 4."
        refuses(ValueError, words, induction_head, torch.tensor(ids), 5)
    words = "induction_head: ids is float32, expected int64 (token ids, positions, lengths). Use ids.long()."
    refuses(TypeError, words, induction_head, torch.ones(4), 5)
    refuses(
        ValueError, "induction_head: vocab is 0, expected a positive integer.", induction_head, torch.tensor([0]), 0
    )


# bracket_state


def bracket_loop(text: list[int]) -> list[int]:
    states, depth, lost = [], 0, False
    for token in text:
        depth += {1: 1, 2: -1}.get(token, 0)
        lost = lost or depth < 0
        states.append(2 if lost else int(depth > 0))
    return states


@pytest.mark.parametrize("seq", [1, 2, 3, 6])
def test_brackets_of_every_short_text(seq):
    texts = list(itertools.product(range(4), repeat=seq))
    found = bracket_state(torch.tensor(texts))
    assert found.dtype == torch.int64
    assert found.tolist() == [bracket_loop(list(text)) for text in texts]


def test_brackets_of_texts_in_a_batch_of_batches():
    ids = whole(3, 2, 9, seed=32, below=4)
    assert bracket_state(ids).tolist() == [[bracket_loop(text) for text in texts] for texts in ids.tolist()]


def test_brackets_once_lost_are_lost_for_good():
    assert bracket_state(torch.tensor([1, 2, 2, 1, 1, 2, 0])).tolist() == [1, 0, 2, 2, 2, 2, 2]


def test_ids_that_are_no_brackets_change_nothing():
    assert bracket_state(torch.tensor([-1, 3, 1, 0, 99, 2, -2])).tolist() == [0, 0, 1, 1, 1, 0, 0]


def test_brackets_are_ids():
    words = "bracket_state: ids is bool, expected int64 (token ids, positions, lengths). Use ids.long()."
    refuses(TypeError, words, bracket_state, torch.ones(4, dtype=torch.bool))


# boolean_ffn


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", FLOATS)
def test_boolean_ffn_answers_every_corner_with_its_entry(n, dtype):
    table = drawn(2**n, seed=40, dtype=dtype)
    up, bias, down = boolean_ffn(table)
    assert (up.shape, bias.shape, down.shape) == ((2**n, n), (2**n,), (2**n,))
    assert up.dtype == bias.dtype == down.dtype == dtype
    for bits in itertools.product([0, 1], repeat=n):
        answer = torch.relu(torch.tensor(bits, dtype=dtype) @ up.T + bias) @ down
        assert answer.dtype == dtype
        assert answer == table[int("".join(map(str, bits)), 2)]  # zeros and ones are exact in every dtype


def test_boolean_ffn_reads_the_first_input_as_the_highest_bit():
    up, bias, down = boolean_ffn(torch.tensor([0.0, 0.0, 1.0, 0.0]))  # x[0] and not x[1]
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert (torch.relu(x @ up.T + bias) @ down).tolist() == [0.0, 0.0, 1.0, 0.0]


def test_the_table_of_boolean_ffn_learns():
    corners = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)), dtype=torch.float64)

    def answers(table: Tensor) -> Tensor:
        up, bias, down = boolean_ffn(table)
        return torch.relu(corners @ up.T + bias) @ down

    torch.autograd.gradcheck(answers, (drawn(8, seed=41).requires_grad_(),))


def test_the_weights_of_boolean_ffn_are_not_the_table_itself():
    table = drawn(4, seed=42)
    boolean_ffn(table)[2].zero_()
    assert torch.equal(table, drawn(4, seed=42))


@pytest.mark.parametrize("cases", [1, 3, 6, 12])
def test_boolean_ffn_refuses_a_table_of_another_length(cases):
    words = f"boolean_ffn: table has {cases} entries, expected 2, 4, 8, …: 2**n for n ≥ 1 inputs."
    refuses(ValueError, words, boolean_ffn, torch.ones(cases))


def test_boolean_ffn_refuses_two_dimensions_and_ids():
    words = "boolean_ffn: table has shape (2, 4), expected 1 dimension: (cases,)."
    refuses(ValueError, words, boolean_ffn, torch.ones(2, 4))
    words = "boolean_ffn: table is int64, expected a floating dtype. Use table.float()."
    refuses(TypeError, words, boolean_ffn, torch.tensor([0, 1]))


# rank_residual


def residual_loop(x: Tensor) -> float:
    rows = x.double().tolist()
    means = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
    rest = math.fsum((a - m) ** 2 for row in rows for a, m in zip(row, means, strict=True))
    return math.sqrt(rest / math.fsum(a**2 for row in rows for a in row))


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("dtype", FLOATS)
def test_rank_residual_is_what_the_mean_row_leaves(leading, dtype):
    x = drawn(*leading, 7, 3, seed=50, dtype=dtype) + 1
    found = rank_residual(x)
    assert found.dtype == dtype
    assert found.shape == leading
    expected = torch.tensor([residual_loop(one) for one in x.reshape(-1, 7, 3)], dtype=torch.float64)
    torch.testing.assert_close(found.double().reshape(-1), expected, rtol=0, atol=FLOATS[dtype])


@pytest.mark.parametrize("size", [1e-2, 1e-3])
def test_a_small_residual_is_right_in_float32(size):
    x = (drawn(1, 64, seed=51) + size * drawn(2000, 64, seed=52)).float()
    expected = residual_loop(x)
    assert size / 2 < expected < 2 * size
    assert rank_residual(x).item() == pytest.approx(expected, rel=1e-4)


def test_the_mean_of_bfloat16_is_not_rounded():
    x = torch.tensor([[1.0], [1 + 2**-7]]).expand(2, 3).bfloat16()  # neighbours: between them bfloat16 has no number
    assert rank_residual(x).item() == pytest.approx(residual_loop(x), rel=2**-8)


def test_a_length_that_float16_cannot_hold():
    x = torch.tensor([[6e4, -6e4, 3e4], [6e4, 6e4, 3e4]], dtype=torch.float16)
    assert rank_residual(x).item() == pytest.approx(residual_loop(x), rel=2**-10)


def test_the_extremes_of_the_residual():
    row = drawn(1, 4, seed=55)
    assert rank_residual(torch.cat([row, row, row, row])) == 0  # four: the mean of equal rows is exact
    torch.testing.assert_close(rank_residual(torch.cat([row, -row])), torch.ones((), dtype=torch.float64))


def test_equal_rows_have_a_finite_gradient():
    x = torch.ones(4, 3, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(rank_residual(x), x)
    assert gradient.isfinite().all()


def test_rank_residual_refuses_one_vector():
    words = "rank_residual: x has shape (3,), expected at least 2 dimensions: (..., seq, d)."
    refuses(ValueError, words, rank_residual, torch.ones(3))


# What all of them promise

CALLS = {
    "hard_attention": (lambda q, k, v: hard_attention(q, k, v, torch.ones(4, 6, dtype=torch.bool).to(q.device)), asked),
    "select_aggregate": (
        lambda q, k, v: select_aggregate(q, k, v, torch.eq, 2.0),
        lambda: (whole(2, 4, seed=60, below=3), whole(2, 6, seed=61, below=3), drawn(2, 6, seed=62)),
    ),
    "induction_head": (lambda ids: induction_head(ids, 3), lambda: (whole(2, 7, seed=63, below=3),)),
    "bracket_state": (bracket_state, lambda: (whole(2, 7, seed=64, below=4),)),
    "boolean_ffn": (boolean_ffn, lambda: (drawn(8, seed=65),)),
    "rank_residual": (rank_residual, lambda: (drawn(2, 7, 3, seed=66),)),
}


@pytest.mark.parametrize("name", CALLS)
def test_inputs_are_left_as_they_were(name):
    function, make = CALLS[name]
    arguments = make()
    function(*arguments)
    for after, before in zip(arguments, make(), strict=True):
        assert torch.equal(after, before)


@pytest.mark.parametrize("name", CALLS)
def test_the_same_without_a_graph(name):
    function, make = CALLS[name]
    expected = function(*make())
    with torch.no_grad():
        torch.testing.assert_close(function(*make()), expected, rtol=0, atol=0)


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_made_on_another_device(name):
    function, make = CALLS[name]
    if name == "induction_head":  # the check of its ids reads them, which the device meta does not hold
        function = lambda ids: inspect.unwrap(induction_head)(ids, 3)  # noqa: E731
    found = function(*(a.to("meta") for a in make()))
    for tensor in found if isinstance(found, tuple) else (found,):
        assert tensor.device.type == "meta"


@pytest.mark.parametrize("name", ["select_aggregate", "rank_residual"])
def test_gradients_agree_with_finite_differences(name):
    function, make = CALLS[name]
    torch.autograd.gradcheck(function, tuple(a.requires_grad_(a.is_floating_point()) for a in make()))


def test_sizes_of_one():
    one = torch.ones(1, 1, dtype=torch.float64)
    assert [found.tolist() for found in hard_attention(-one, one, 3 * one)] == [[[3.0]], [[1.0]]]
    assert select_aggregate(one, one, 3 * one, torch.eq).tolist() == [[3.0]]
    assert select_aggregate(one, one, 3 * one, torch.ne, 5.0).tolist() == [[5.0]]
    assert induction_head(torch.zeros(1, 1, dtype=torch.int64), 1).tolist() == [[[0.0]]]
    assert bracket_state(torch.tensor([[2]])).tolist() == [[2]]
    assert rank_residual(one) == 0
