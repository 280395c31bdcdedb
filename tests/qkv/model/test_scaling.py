"""Chapter 02 against independent oracles: simulation, autograd, float64 loops, torch's fused attention."""

from __future__ import annotations

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.scaling import (
    attention_entropy,
    scaled_dot_product_attention,
    score_variance,
    softmax_jacobian,
)

FLOATS = [torch.float64, torch.float32, torch.bfloat16]
CLOSE = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 3e-2}


def randn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def weights_of(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return randn(*shape, seed=seed).softmax(-1).to(dtype)


class TestScoreVariance:
    @pytest.mark.parametrize(("d", "sigma", "mean"), [(3, 1.0, 0.0), (16, 2.0, 0.0), (5, 0.5, 1.5), (7, 1.5, -0.7)])
    def test_agrees_with_a_simulation(self, d: int, sigma: float, mean: float) -> None:
        q, k = (mean + sigma * randn(200_000, d, seed=s) for s in (1, 2))
        assert score_variance(d, sigma, mean) == pytest.approx(float((q * k).sum(-1).var()), rel=0.02)

    def test_does_not_need_normal_components(self) -> None:
        generator = torch.Generator().manual_seed(3)
        q, k = (torch.rand(200_000, 6, generator=generator, dtype=torch.float64) for _ in range(2))
        expected = score_variance(6, math.sqrt(1 / 12), 0.5)
        assert float((q * k).sum(-1).var()) == pytest.approx(expected, rel=0.02)

    def test_by_hand(self) -> None:
        assert score_variance(64, 1.0) == 64.0
        assert score_variance(64, 2.0) == 1024.0
        assert score_variance(64, 1.0, mean=1.0) == 192.0
        assert score_variance(5, 0.0, mean=3.0) == 0.0

    @pytest.mark.parametrize("d", [0, -4, 2.5, True])
    def test_refuses_a_width_that_is_none(self, d: int) -> None:
        with pytest.raises(ValueError, match=re.escape(f"score_variance: d is {d!r}, expected a positive integer.")):
            score_variance(d, 1.0)


class TestSoftmaxJacobian:
    @pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 6)])
    def test_agrees_with_autograd(self, shape: tuple[int, ...]) -> None:
        scores = randn(*shape)
        rows = scores.reshape(-1, shape[-1])
        expected = torch.stack([torch.autograd.functional.jacobian(lambda s: s.softmax(0), row) for row in rows])
        torch.testing.assert_close(softmax_jacobian(scores.softmax(-1)), expected.reshape(*shape, shape[-1]))

    def test_agrees_with_finite_differences(self) -> None:
        scores, step = randn(7, seed=4), 1e-6
        columns = [
            ((scores + step * e).softmax(0) - (scores - step * e).softmax(0)) / (2 * step)
            for e in torch.eye(7, dtype=torch.float64)
        ]
        torch.testing.assert_close(
            softmax_jacobian(scores.softmax(0)), torch.stack(columns, dim=1), atol=1e-9, rtol=0.0
        )

    def test_a_decided_row_has_none(self) -> None:
        assert torch.equal(softmax_jacobian(torch.tensor([0.0, 1.0, 0.0])), torch.zeros(3, 3))

    def test_by_hand(self) -> None:
        expected = torch.tensor([[0.25, -0.125, -0.125], [-0.125, 0.1875, -0.0625], [-0.125, -0.0625, 0.1875]])
        assert torch.equal(softmax_jacobian(torch.tensor([0.5, 0.25, 0.25])), expected)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_keeps_the_dtype(self, dtype: torch.dtype) -> None:
        p = weights_of(2, 5, seed=5, dtype=dtype)
        expected = torch.diag_embed(p.double()) - torch.einsum("bi,bj->bij", p.double(), p.double())
        torch.testing.assert_close(softmax_jacobian(p), expected.to(dtype), atol=CLOSE[dtype], rtol=CLOSE[dtype])

    def test_is_differentiable(self) -> None:
        assert torch.autograd.gradcheck(softmax_jacobian, weights_of(2, 4, seed=6).requires_grad_())

    def test_stays_on_the_device(self) -> None:
        assert softmax_jacobian(torch.empty(2, 3, device="meta")).device.type == "meta"

    def test_refuses_bad_input(self) -> None:
        with pytest.raises(
            TypeError, match=re.escape("softmax_jacobian: p is a list, expected a tensor of shape (..., n).")
        ):
            softmax_jacobian([0.5, 0.5])  # type: ignore[arg-type]
        with pytest.raises(
            TypeError, match=re.escape("softmax_jacobian: p is int64, expected a floating dtype. Use p.float().")
        ):
            softmax_jacobian(torch.tensor([0, 1]))
        text = "softmax_jacobian: p has shape (2, 0), so n is 0. Expected (..., n) with at least one entry in each."
        with pytest.raises(ValueError, match=re.escape(text)):
            softmax_jacobian(torch.empty(2, 0))
        text = "softmax_jacobian: p has shape (), expected at least 1 dimension: (..., n)."
        with pytest.raises(ValueError, match=re.escape(text)):
            softmax_jacobian(torch.tensor(1.0))


class TestAttentionEntropy:
    @pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 6)])
    def test_agrees_with_a_loop(self, shape: tuple[int, ...]) -> None:
        weights = weights_of(*shape)
        expected = [-sum(w * math.log(w) for w in row) for row in weights.reshape(-1, shape[-1]).tolist()]
        torch.testing.assert_close(
            attention_entropy(weights), torch.tensor(expected, dtype=torch.float64).reshape(shape[:-1])
        )

    def test_counts_a_zero_as_nothing(self) -> None:
        weights = torch.tensor([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
        torch.testing.assert_close(attention_entropy(weights), torch.tensor([math.log(2), 0.0]))

    @pytest.mark.parametrize("n", [1, 7, 1000])
    def test_is_log_n_for_keys_alike(self, n: int) -> None:
        assert float(attention_entropy(torch.full((n,), 1 / n, dtype=torch.float64))) == pytest.approx(math.log(n))

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_keeps_the_dtype(self, dtype: torch.dtype) -> None:
        weights = weights_of(2, 5, seed=7, dtype=dtype)
        expected = torch.special.entr(weights.double()).sum(-1).to(dtype)
        torch.testing.assert_close(attention_entropy(weights), expected, atol=CLOSE[dtype], rtol=CLOSE[dtype])

    def test_is_differentiable(self) -> None:
        assert torch.autograd.gradcheck(attention_entropy, weights_of(2, 4, seed=8).requires_grad_())

    def test_stays_on_the_device(self) -> None:
        assert attention_entropy(torch.empty(2, 3, device="meta")).device.type == "meta"

    def test_refuses_bad_input(self) -> None:
        text = "attention_entropy: weights is bool, expected a floating dtype. Use weights.float()."
        with pytest.raises(TypeError, match=re.escape(text)):
            attention_entropy(torch.tensor([True, False]))
        text = (
            "attention_entropy: weights has shape (0,), so n is 0. Expected (..., n) with at least one entry in each."
        )
        with pytest.raises(ValueError, match=re.escape(text)):
            attention_entropy(torch.empty(0))


def window(query: int, key: int) -> Tensor:
    """Each query may attend to the three keys that end at its own position."""
    distance = torch.arange(query)[:, None] - torch.arange(key)
    return (distance >= 0) & (distance < 3)


class TestScaledDotProductAttention:
    @pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_agrees_with_the_fused_one(self, leading: tuple[int, ...], dtype: torch.dtype) -> None:
        q, k, v = (randn(*leading, *s, seed=i, dtype=dtype) for i, s in enumerate([(4, 7), (6, 7), (6, 5)]))
        mask = window(4, 6)
        for given in (None, mask):
            output, weights = scaled_dot_product_attention(q, k, v, given)
            expected = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), given).to(dtype)
            torch.testing.assert_close(output, expected, atol=CLOSE[dtype], rtol=CLOSE[dtype])
            assert weights.dtype == dtype
            assert weights.shape == (*leading, 4, 6)

    def test_agrees_with_a_loop(self) -> None:
        q, k, v, mask = randn(3, 7, seed=1), randn(5, 7, seed=2), randn(5, 4, seed=3), window(3, 5)
        output, weights = scaled_dot_product_attention(q, k, v, mask)
        for i in range(3):
            powers = [math.exp(float(q[i] @ k[j]) / 7**0.5) if mask[i, j] else 0.0 for j in range(5)]
            row = [p / sum(powers) for p in powers]
            torch.testing.assert_close(weights[i], torch.tensor(row, dtype=torch.float64))
            torch.testing.assert_close(output[i], sum(row[j] * v[j] for j in range(5)))

    @pytest.mark.parametrize("shape", [(6,), (4, 6), (2, 1, 1, 6), (3, 4, 6), (1, 3, 1, 6), (2, 3, 4, 6)])
    def test_masks_broadcast(self, shape: tuple[int, ...]) -> None:
        q, k, v = randn(2, 3, 4, 7, seed=1), randn(2, 3, 6, 7, seed=2), randn(2, 3, 6, 5, seed=3)
        mask = randn(*shape, seed=4) > -0.5
        mask[..., 2] = True
        output, weights = scaled_dot_product_attention(q, k, v, mask)
        torch.testing.assert_close(output, F.scaled_dot_product_attention(q, k, v, mask.expand(2, 3, 4, 6)))
        assert torch.equal(weights == 0, ~mask.expand(2, 3, 4, 6))

    def test_rows_sum_to_one_and_survive_loud_scores(self) -> None:
        q, k, v = 1e3 * randn(3, 7, seed=1), 1e3 * randn(5, 7, seed=2), randn(5, 4, seed=3)
        output, weights = scaled_dot_product_attention(q, k, v, window(3, 5))
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, dtype=torch.float64))
        assert output.isfinite().all()

    @pytest.mark.parametrize("masked", [False, True])
    def test_is_differentiable(self, masked: bool) -> None:
        inputs = [randn(2, *s, seed=i).requires_grad_() for i, s in enumerate([(3, 7), (5, 7), (5, 4)])]
        mask = window(3, 5) if masked else None
        assert torch.autograd.gradcheck(lambda q, k, v: scaled_dot_product_attention(q, k, v, mask), inputs)

    def test_changes_nothing(self) -> None:
        given = [randn(3, 7, seed=1), randn(5, 7, seed=2), randn(5, 4, seed=3), window(3, 5)]
        copies = [t.clone() for t in given]
        scaled_dot_product_attention(*given)
        assert all(torch.equal(a, b) for a, b in zip(given, copies, strict=True))

    def test_stays_on_the_device(self) -> None:
        q, k, v = (torch.empty(2, *s, device="meta") for s in [(3, 7), (5, 7), (5, 4)])
        results = scaled_dot_product_attention(q, k, v, torch.empty(3, 5, dtype=torch.bool, device="meta"))
        assert all(t.device.type == "meta" for t in results)

    @pytest.mark.parametrize(
        ("shapes", "mask", "error", "text"),
        [
            (
                [(3, 7), (5, 6), (5, 4)],
                None,
                ValueError,
                "k has shape (5, 6), so d_k = 6; expected d_k = 7, as q has it. k is (..., key, d_k).",
            ),
            (
                [(3, 7), (5, 7), (6, 4)],
                None,
                ValueError,
                "v has shape (6, 4), so key = 6; expected key = 5, as k has it. v is (..., key, d_v).",
            ),
            (
                [(2, 3, 7), (5, 7), (5, 4)],
                None,
                ValueError,
                "k has shape (5, 7), so leading dimensions = (); expected leading dimensions = (2,), as q has it. "
                "k is (..., key, d_k).",
            ),
            (
                [(7,), (5, 7), (5, 4)],
                None,
                ValueError,
                "q has shape (7,), expected at least 2 dimensions: (..., query, d_k).",
            ),
            (
                [(3, 7), (0, 7), (0, 4)],
                None,
                ValueError,
                "k has shape (0, 7), so key is 0. Expected (..., key, d_k) with at least one entry in each.",
            ),
            (
                [(3, 7), (5, 7), (5, 4)],
                torch.ones(3, 5),
                TypeError,
                'mask is float32, expected bool, where True means "may attend". '
                'Use mask != 0, or mask == 0 if your zeros mean "allowed".',
            ),
            (
                [(3, 7), (5, 7), (5, 4)],
                torch.ones(5, 3, dtype=torch.bool),
                ValueError,
                "mask has shape (5, 3), which does not broadcast to (..., query, key) = (3, 5).",
            ),
            (
                [(3, 7), (5, 7), (5, 4)],
                torch.ones(2, 3, 5, dtype=torch.bool),
                ValueError,
                "mask has shape (2, 3, 5), which does not broadcast to (..., query, key) = (3, 5).",
            ),
        ],
    )  # fmt: skip
    def test_refuses_bad_input(self, shapes: list, mask: Tensor | None, error: type[Exception], text: str) -> None:
        with pytest.raises(error, match=re.escape(f"scaled_dot_product_attention: {text}")):
            scaled_dot_product_attention(*(torch.zeros(s) for s in shapes), mask)

    def test_refuses_integers(self) -> None:
        text = "scaled_dot_product_attention: q is int64, expected a floating dtype. Use q.float()."
        with pytest.raises(TypeError, match=re.escape(text)):
            scaled_dot_product_attention(torch.zeros(3, 7).long(), torch.zeros(5, 7), torch.zeros(5, 4))
