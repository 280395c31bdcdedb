"""Chapter 05's reference against torch, against plain loops, and against finite differences."""

from __future__ import annotations

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model.heads import MultiHeadAttention
from qkv.model.masks import (
    causal_mask,
    combine_masks,
    cross_attention,
    masked_mean,
    masked_softmax,
    padding_mask,
    zero_padding,
)

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
LEADING = [(), (2,), (2, 5)]
LENGTHS = [3, 0, 6, 1]


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def booleans(*shape: int, seed: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.6


def padded(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Four sequences in a batch of width 6, d_model = 5; one is empty, one is full."""
    return drawn(4, 6, 5, seed=0, dtype=dtype), torch.tensor(LENGTHS)


def refuses(error: type[Exception], words: str, function: object, *args: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args)  # type: ignore[operator]


# causal_mask


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_query_i_sees_the_keys_up_to_i(n):
    mask = causal_mask(n)
    assert mask.dtype == torch.bool
    assert mask.shape == (n, n)
    assert mask.tolist() == [[j <= i for j in range(n)] for i in range(n)]


def test_the_causal_mask_is_the_one_that_torch_means_by_is_causal():
    q, k, v = (drawn(2, 6, 4, seed=i) for i in range(3))
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(F.scaled_dot_product_attention(q, k, v, attn_mask=causal_mask(6)), expected)


def test_the_causal_mask_is_where_torch_s_additive_mask_is_zero():
    assert torch.equal(causal_mask(5), nn.Transformer.generate_square_subsequent_mask(5) == 0)


def test_a_causal_mask_of_no_sensible_size_is_refused():
    refuses(ValueError, "causal_mask: n is -1, expected an integer that is not negative.", causal_mask, -1)


# padding_mask


def test_real_tokens_are_true():
    mask = padding_mask(torch.tensor(LENGTHS), 6)
    assert mask.dtype == torch.bool
    assert mask.shape == (4, 1, 6)
    assert mask[:, 0].tolist() == [[j < length for j in range(6)] for length in LENGTHS]


def test_the_batch_may_be_wider_than_its_longest_sequence():
    assert padding_mask(torch.tensor([2]), 5).tolist() == [[[True, True, False, False, False]]]


def test_padding_does_not_reach_the_real_tokens():
    attend = MultiHeadAttention(8, 2).double()
    x = drawn(1, 7, 8, seed=1)
    alone = attend(x[:, :4], x[:, :4], x[:, :4])
    together = attend(x, x, x, padding_mask(torch.tensor([4]), 7))
    torch.testing.assert_close(together[:, :4], alone)


def test_lengths_must_be_integers():
    words = "padding_mask: lengths is float32, expected int64 (token ids, positions, lengths). Use lengths.long()."
    refuses(TypeError, words, padding_mask, torch.tensor([1.0]), 3)


# combine_masks


def test_allowed_is_what_every_mask_allows():
    a, b, c = booleans(3, 1, 5, seed=0), booleans(4, 5, seed=1), booleans(5, seed=2)
    found = combine_masks(a, b, None, c)
    assert found is not None
    assert found.shape == (3, 4, 5)
    for i in range(3):
        for q in range(4):
            for k in range(5):
                assert bool(found[i, q, k]) == (bool(a[i, 0, k]) and bool(b[q, k]) and bool(c[k]))


def test_none_restricts_nothing():
    mask = booleans(3, 4, seed=3)
    assert combine_masks() is None
    assert combine_masks(None, None) is None
    for masks in [(mask,), (mask, None), (None, mask)]:
        found = combine_masks(*masks)
        assert found is not None
        assert torch.equal(found, mask)


def test_combining_leaves_the_masks_as_they_were():
    a, b = booleans(4, 5, seed=4), booleans(2, 1, 5, seed=5)
    combine_masks(a, b, a)
    assert torch.equal(a, booleans(4, 5, seed=4))
    assert torch.equal(b, booleans(2, 1, 5, seed=5))


# masked_softmax


def softmax_by_loop(scores: Tensor, mask: Tensor) -> Tensor:
    """One row at a time, in Python's own floats, over the allowed scores alone."""
    rows = []
    flat = mask.expand_as(scores).reshape(-1, scores.shape[-1]).tolist()
    for row, allowed in zip(scores.reshape(-1, scores.shape[-1]).tolist(), flat, strict=True):
        seen = [score for score, may in zip(row, allowed, strict=True) if may]
        powers = [math.exp(score - max(seen)) if may else 0.0 for score, may in zip(row, allowed, strict=True)]
        rows.append([power / math.fsum(powers) if seen else 0.0 for power in powers])
    return torch.tensor(rows, dtype=torch.float64).reshape(scores.shape)


def scores_and_mask(*leading: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Three rows of seven scores; the second row allows nothing."""
    mask = booleans(*leading, 3, 7, seed=6)
    mask[..., 4] = True
    mask[..., 1, :] = False
    return 3 * drawn(*leading, 3, 7, seed=7, dtype=dtype), mask


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("dtype", FLOATS)
def test_masked_softmax_against_a_loop(leading, dtype):
    scores, mask = scores_and_mask(*leading, dtype=dtype)
    weights = masked_softmax(scores, mask)
    assert weights.dtype == dtype
    torch.testing.assert_close(weights.double(), softmax_by_loop(scores, mask), rtol=0, atol=FLOATS[dtype])
    assert (weights[~mask] == 0).all()


def test_masked_softmax_is_torch_s_where_something_is_allowed():
    scores, mask = scores_and_mask(2)
    expected = scores.masked_fill(~mask, -math.inf).softmax(-1)
    rows = [0, 2]
    torch.testing.assert_close(masked_softmax(scores, mask)[:, rows], expected[:, rows])


@pytest.mark.parametrize("shape", [(7,), (1, 7), (3, 1), (1, 1), (3, 7)])
def test_the_mask_is_broadcast(shape):
    scores, mask = drawn(2, 3, 7, seed=8), booleans(*shape, seed=9)
    torch.testing.assert_close(masked_softmax(scores, mask), softmax_by_loop(scores, mask))


@pytest.mark.parametrize("hidden", [1e30, -1e30, 3e38, -3e38])
def test_hidden_scores_have_no_effect_on_weights_or_gradients(hidden):
    mask = torch.tensor([True, False, True, False, True])
    small = drawn(2, 5, seed=10, dtype=torch.float32)
    towards = drawn(2, 5, seed=11, dtype=torch.float32)
    found = []
    for size in (0.0, hidden):
        scores = torch.where(mask, small, size).requires_grad_()
        weights = masked_softmax(scores, mask)
        (gradient,) = torch.autograd.grad((weights * towards).sum(), scores)
        found.append((weights, gradient))
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=0)


def test_allowed_scores_may_lie_below_every_stand_in_for_minus_infinity():
    mask = torch.tensor([True, True, False])
    assert masked_softmax(torch.tensor([-1e12, -1e12, 0.0]), mask).tolist() == [0.5, 0.5, 0.0]
    lowest = torch.finfo(torch.float32).min
    assert masked_softmax(torch.tensor([lowest, lowest, 0.0]), mask).tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_huge_scores(dtype):
    scores = torch.tensor([[1e4, 1e4, -1e4], [-1e4, -1e4, 1e4]], dtype=dtype)
    weights = masked_softmax(scores, torch.tensor([[True, True, True], [True, True, False]]))
    assert weights.tolist() == [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]


def test_an_allowed_score_of_minus_infinity_weighs_nothing():
    scores = torch.tensor([2.0, -math.inf, 2.0, 9.0])
    assert masked_softmax(scores, torch.tensor([True, True, True, False])).tolist() == [0.5, 0.0, 0.5, 0.0]


def test_a_row_with_nothing_allowed_is_zero_and_so_is_its_gradient():
    scores, mask = scores_and_mask(2)
    scores.requires_grad_()
    weights = masked_softmax(scores, mask)
    (gradient,) = torch.autograd.grad((weights * drawn(2, 3, 7, seed=12)).sum(), scores)
    assert (weights[:, 1] == 0).all()
    assert (gradient[:, 1] == 0).all()
    assert gradient.isfinite().all()


def test_a_mask_of_numbers_is_refused():
    words = (
        'masked_softmax: mask is float32, expected bool, where True means "may attend". Use mask != 0, or mask == 0 '
        'if your zeros mean "allowed".'
    )
    refuses(TypeError, words, masked_softmax, torch.randn(2, 3), torch.ones(2, 3))


# zero_padding and masked_mean


@pytest.mark.parametrize("dtype", FLOATS)
def test_padding_becomes_zero_and_the_rest_stays(dtype):
    x, lengths = padded(dtype)
    found = zero_padding(x, lengths)
    assert found.dtype == dtype
    for b, length in enumerate(LENGTHS):
        assert torch.equal(found[b, :length], x[b, :length])
        assert (found[b, length:] == 0).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_mean_is_over_real_tokens(dtype):
    x, lengths = padded(dtype)
    found = masked_mean(x, lengths)
    assert found.dtype == dtype
    assert found.shape == (4, 5)
    for b, length in enumerate(LENGTHS):
        expected = x[b, :length].double().mean(0) if length else torch.zeros(5, dtype=torch.float64)
        torch.testing.assert_close(found[b].double(), expected, rtol=0, atol=FLOATS[dtype])


def test_the_width_of_the_batch_and_what_padding_holds_have_no_say():
    x, lengths = padded()
    wider = torch.cat([x, drawn(4, 3, 5, seed=13)], dim=1)
    for b, length in enumerate(LENGTHS):
        wider[b, length:] = 1e6
    torch.testing.assert_close(masked_mean(wider, lengths), masked_mean(x, lengths))


def test_the_gradient_reaches_real_tokens_alone():
    x, lengths = padded()
    (gradient,) = torch.autograd.grad(masked_mean(x.requires_grad_(), lengths).sum(), x)
    for b, length in enumerate(LENGTHS):
        torch.testing.assert_close(gradient[b, :length], torch.full((length, 5), 1 / max(length, 1)).double())
        assert (gradient[b, length:] == 0).all()


def test_lengths_must_belong_to_the_batch():
    x, _ = padded()
    words = "{}: lengths has shape (2,), so batch = 2; expected batch = 4, as x has it. lengths is (batch,)."
    for function in (zero_padding, masked_mean):
        refuses(ValueError, words.format(function.__name__), function, x, torch.tensor([1, 2]))


# cross_attention


def test_the_decoder_asks_and_the_memory_answers():
    attend = MultiHeadAttention(6, 2).double()
    decoder, memory = drawn(2, 3, 6, seed=14), drawn(2, 5, 6, seed=15)
    mask = padding_mask(torch.tensor([4, 2]), 5)
    theirs = nn.MultiheadAttention(6, 2, batch_first=True).double()
    projections = (attend.q_proj, attend.k_proj, attend.v_proj)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        theirs.out_proj.load_state_dict(attend.out_proj.state_dict())
    expected, _ = theirs(decoder, memory, memory, key_padding_mask=~mask[:, 0])
    torch.testing.assert_close(cross_attention(decoder, memory, attend, mask), expected)


def test_attend_gets_the_very_tensors_and_the_mask_also_if_it_is_none():
    decoder, memory = drawn(2, 3, 4, seed=16), drawn(2, 5, 4, seed=17)
    received: list[tuple[object, ...]] = []

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        received.append((query, key, value, mask))
        return query

    mask = booleans(2, 3, 5, seed=18)
    cross_attention(decoder, memory, attend)
    cross_attention(decoder, memory, attend, mask)
    for call, last in zip(received, (None, mask), strict=True):
        assert all(a is b for a, b in zip(call, (decoder, memory, memory, last), strict=True))


def test_decoder_and_memory_must_be_of_one_batch():
    words = (
        "cross_attention: memory has shape (5, 6, 4), so leading dimensions = (5,); expected leading dimensions = "
        "(2,), as decoder has it. memory is (..., source, d_model)."
    )
    refuses(ValueError, words, cross_attention, torch.randn(2, 3, 4), torch.randn(5, 6, 4), None)


# What all of them promise


def fixed(function, *rest):
    return lambda *floats: function(*floats, *rest)


CALLS = {
    "masked_softmax": (fixed(masked_softmax, scores_and_mask(2)[1]), lambda: (scores_and_mask(2)[0],)),
    "zero_padding": (fixed(zero_padding, padded()[1]), lambda: (padded()[0],)),
    "masked_mean": (fixed(masked_mean, padded()[1]), lambda: (padded()[0],)),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients_agree_with_finite_differences(name):
    function, make = CALLS[name]
    torch.autograd.gradcheck(function, tuple(a.requires_grad_() for a in make()))


@pytest.mark.parametrize("name", CALLS)
def test_inputs_are_left_as_they_were(name):
    function, make = CALLS[name]
    arguments = make()
    function(*arguments)
    for after, before in zip(arguments, make(), strict=True):
        assert torch.equal(after, before)


def test_nothing_is_made_on_another_device():
    meta = [t.to("meta") for t in padded()]
    scores, mask = (t.to("meta") for t in scores_and_mask(2))
    results = [padding_mask(meta[1], 6), zero_padding(*meta), masked_mean(*meta), masked_softmax(scores, mask)]
    results.append(combine_masks(mask, mask))  # type: ignore[arg-type]
    assert all(result.device.type == "meta" for result in results)
