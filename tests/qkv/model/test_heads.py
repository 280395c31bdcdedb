"""Chapter 03's reference against torch's own multi-head attention, loops in float64, and counting by hand."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model.heads import (
    MultiHeadAttention,
    attention_parameters,
    head_similarity,
    merge_heads,
    split_heads,
)

BATCH, QUERY, KEY, HEADS, D_HEAD = 2, 3, 5, 4, 7
D_MODEL = HEADS * D_HEAD


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def inputs(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    lengths = QUERY, KEY, KEY
    query, key, value = (normal(BATCH, n, D_MODEL, seed=seed, dtype=dtype) for seed, n in enumerate(lengths))
    return query, key, value


def layer(dtype: torch.dtype = torch.float64, n_heads: int = HEADS) -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(D_MODEL, n_heads).to(dtype)


def torchs(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    """torch's layer with our weights: it keeps the three input projections in one matrix."""
    theirs = nn.MultiheadAttention(
        ours.q_proj.in_features, ours.n_heads, batch_first=True, dtype=ours.q_proj.weight.dtype
    )
    three = ours.q_proj, ours.k_proj, ours.v_proj
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in three]))
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in three]))
        theirs.out_proj.weight.copy_(ours.out_proj.weight)
        theirs.out_proj.bias.copy_(ours.out_proj.bias)
    return theirs


def in_loops(ours: MultiHeadAttention, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Multi-head attention one number at a time; mask (batch, query, key)."""
    d_head = ours.q_proj.out_features // ours.n_heads
    output = ours.out_proj.bias.repeat(query.shape[0], query.shape[1], 1)
    for b, h, i in itertools.product(range(query.shape[0]), range(ours.n_heads), range(query.shape[1])):
        block = slice(h * d_head, (h + 1) * d_head)
        q = ours.q_proj.weight[block] @ query[b, i] + ours.q_proj.bias[block]
        seen = [j for j in range(key.shape[1]) if mask[b, i, j]]
        scores = [
            q @ (ours.k_proj.weight[block] @ key[b, j] + ours.k_proj.bias[block]) / math.sqrt(d_head) for j in seen
        ]
        powers = torch.stack(scores).exp()
        for j, weight in zip(seen, powers / powers.sum(), strict=True):
            v = ours.v_proj.weight[block] @ value[b, j] + ours.v_proj.bias[block]
            output[b, i] += ours.out_proj.weight[:, block] @ (weight * v)
    return output


MASKS = {
    "(batch, query, key)": normal(BATCH, QUERY, KEY, seed=9) > -0.5,
    "(batch, 1, key)": normal(BATCH, 1, KEY, seed=10) > -0.5,
    "(query, key)": torch.ones(QUERY, KEY).tril(2).bool(),
    "(1, key)": torch.tensor([[True, False, True, True, False]]),
    "(key)": torch.tensor([True, False, True, True, False]),
    "(1, query, 1)": torch.ones(1, QUERY, 1).bool(),
}


class TestSplitHeads:
    def test_head_h_holds_its_columns(self) -> None:
        x = normal(BATCH, QUERY, D_MODEL)
        heads = split_heads(x, HEADS)
        assert heads.shape == (BATCH, HEADS, QUERY, D_HEAD)
        for h in range(HEADS):
            assert torch.equal(heads[:, h], x[:, :, h * D_HEAD : (h + 1) * D_HEAD])

    def test_one_head_and_as_many_heads_as_columns(self) -> None:
        x = normal(BATCH, QUERY, D_MODEL)
        assert torch.equal(split_heads(x, 1), x.unsqueeze(1))
        assert torch.equal(split_heads(x, D_MODEL), x.transpose(1, 2).unsqueeze(-1))

    def test_of_an_input_that_is_not_contiguous(self) -> None:
        x = normal(QUERY, D_MODEL, BATCH)
        assert torch.equal(split_heads(x.permute(2, 0, 1), HEADS), split_heads(x.permute(2, 0, 1).contiguous(), HEADS))

    @pytest.mark.parametrize(
        ("x", "n_heads", "message"),
        [
            (
                normal(2, 3, 8),
                3,
                "split_heads: n_heads is 3, which does not divide d_model = 8. Use one of 1, 2, 4, 8.",
            ),
            (normal(2, 3, 8), 0, "split_heads: n_heads is 0, expected a positive integer."),
            (
                normal(3, 8),
                2,
                "split_heads: x has shape (3, 8), expected 3 dimensions: (batch, seq, d_model).",
            ),
        ],
    )
    def test_refuses(self, x: Tensor, n_heads: int, message: str) -> None:
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole text is compared below
            split_heads(x, n_heads)
        assert str(error.value) == message

    def test_refuses_integers(self) -> None:
        with pytest.raises(TypeError) as error:
            split_heads(torch.ones(2, 3, 8, dtype=torch.int64), 2)
        assert str(error.value) == "split_heads: x is int64, expected a floating dtype. Use x.float()."


class TestMergeHeads:
    def test_puts_blocks_side_by_side(self) -> None:
        x = normal(BATCH, HEADS, QUERY, D_HEAD)
        assert torch.equal(merge_heads(x), torch.cat([x[:, h] for h in range(HEADS)], dim=-1))

    @pytest.mark.parametrize("n_heads", [1, 2, 4, 7, 14, 28])
    def test_is_the_inverse_of_splitting(self, n_heads: int) -> None:
        x = normal(BATCH, QUERY, D_MODEL)
        assert torch.equal(merge_heads(split_heads(x, n_heads)), x)

    def test_refuses_three_dimensions(self) -> None:
        with pytest.raises(ValueError) as error:  # noqa: PT011
            merge_heads(normal(2, 3, 4))
        expected = "merge_heads: x has shape (2, 3, 4), expected 4 dimensions: (batch, head, seq, d_head)."
        assert str(error.value) == expected


class TestMultiHeadAttention:
    @pytest.mark.parametrize("n_heads", [1, 2, 4, 7, 14, 28])
    def test_equals_torchs_own_on_copied_weights(self, n_heads: int) -> None:
        ours, arguments = layer(n_heads=n_heads), inputs()
        expected, _ = torchs(ours)(*arguments)
        torch.testing.assert_close(ours(*arguments), expected, rtol=0, atol=1e-14)

    @pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
    def test_equals_torchs_own_under_a_mask(self, mask: Tensor) -> None:
        ours, arguments = layer(), inputs()
        hidden = ~mask.expand(BATCH, QUERY, KEY)  # to nn.MultiheadAttention, True means "may not attend"
        expected, _ = torchs(ours)(*arguments, attn_mask=hidden.repeat_interleave(HEADS, dim=0))
        torch.testing.assert_close(ours(*arguments, mask), expected, rtol=0, atol=1e-14)

    @pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
    def test_equals_loops(self, mask: Tensor) -> None:
        ours, arguments = layer(), inputs()
        expected = in_loops(ours, *arguments, mask.expand(BATCH, QUERY, KEY))
        torch.testing.assert_close(ours(*arguments, mask), expected, rtol=0, atol=1e-14)

    def test_a_mask_per_sequence_where_there_are_as_many_heads_as_sequences(self) -> None:
        ours = layer(n_heads=2)
        mask = MASKS["(batch, query, key)"]
        torch.testing.assert_close(ours(*inputs(), mask), in_loops(ours, *inputs(), mask), rtol=0, atol=1e-14)

    def test_gradients_agree_with_torchs(self) -> None:
        ours = layer()
        theirs = torchs(ours)
        found = [x.requires_grad_() for x in inputs()]
        expected = [x.requires_grad_() for x in inputs()]
        (ours(*found) * normal(BATCH, QUERY, D_MODEL, seed=7)).sum().backward()
        (theirs(*expected)[0] * normal(BATCH, QUERY, D_MODEL, seed=7)).sum().backward()
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a.grad, b.grad, rtol=0, atol=1e-13)
        three = torch.cat([p.weight.grad for p in (ours.q_proj, ours.k_proj, ours.v_proj)])  # type: ignore[misc]
        torch.testing.assert_close(three, theirs.in_proj_weight.grad, rtol=0, atol=1e-13)
        torch.testing.assert_close(ours.out_proj.weight.grad, theirs.out_proj.weight.grad, rtol=0, atol=1e-13)

    def test_gradients_agree_with_finite_differences(self) -> None:
        ours = layer()
        arguments = tuple(x.requires_grad_() for x in inputs())
        assert torch.autograd.gradcheck(lambda q, k, v: ours(q, k, v, MASKS["(query, key)"]), arguments, fast_mode=True)

    @pytest.mark.parametrize(
        ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 3e-2), (torch.float16, 4e-3)]
    )
    def test_keeps_the_dtype(self, dtype: torch.dtype, tolerance: float) -> None:
        output = layer(dtype)(*inputs(dtype))
        assert output.dtype == dtype
        torch.testing.assert_close(output.double(), layer()(*inputs()), rtol=0, atol=tolerance)

    def test_on_another_device(self) -> None:
        query, key, value = (x.to("meta") for x in inputs())
        output = layer().to("meta")(query, key, value, MASKS["(query, key)"].to("meta"))
        assert (output.device.type, output.shape) == ("meta", (BATCH, QUERY, D_MODEL))

    def test_leaves_its_inputs_alone(self) -> None:
        arguments, mask = inputs(), MASKS["(query, key)"].clone()
        layer()(*arguments, mask)
        assert all(torch.equal(a, b) for a, b in zip(arguments, inputs(), strict=True))
        assert torch.equal(mask, MASKS["(query, key)"])

    def test_names_of_parameters(self) -> None:
        names = {f"{p}_proj.{w}" for p in ("q", "k", "v", "out") for w in ("weight", "bias")}
        assert set(dict(layer().named_parameters())) == names

    def test_heads_can_change_places(self) -> None:
        """Permute the blocks of all four matrices alike: the function stays."""
        ours, other = layer(), layer()
        order = [2, 0, 3, 1]
        with torch.no_grad():
            for projection in (other.q_proj, other.k_proj, other.v_proj):
                projection.weight.copy_(projection.weight.unflatten(0, (HEADS, -1))[order].flatten(0, 1))
                projection.bias.copy_(projection.bias.unflatten(0, (HEADS, -1))[order].flatten())
            columns = other.out_proj.weight.unflatten(1, (HEADS, -1))[:, order].flatten(1)
            other.out_proj.weight.copy_(columns)
        torch.testing.assert_close(ours(*inputs()), other(*inputs()), rtol=0, atol=1e-14)

    def test_refuses_a_number_of_heads_that_does_not_divide(self) -> None:
        with pytest.raises(ValueError) as error:  # noqa: PT011
            MultiHeadAttention(12, 5)
        expected = "MultiHeadAttention: n_heads is 5, which does not divide d_model = 12. Use one of 1, 2, 3, 4, 6, 12."
        assert str(error.value) == expected

    def test_refuses_values_that_do_not_belong_to_the_keys(self) -> None:
        query, key, value = inputs()
        with pytest.raises(ValueError) as error:  # noqa: PT011
            layer()(query, key, value[:, :4])
        assert str(error.value) == (
            "MultiHeadAttention: value has shape (2, 4, 28), so key = 4; expected key = 5, as key has it. "
            "value is (batch, key, d_model)."
        )

    def test_refuses_a_mask_that_does_not_fit(self) -> None:
        with pytest.raises(ValueError) as error:  # noqa: PT011
            layer()(*inputs(), torch.ones(KEY, QUERY).bool())
        assert str(error.value) == (
            "MultiHeadAttention: mask has shape (5, 3), which does not broadcast to (batch, query, key) = (2, 3, 5)."
        )

    def test_refuses_a_mask_of_numbers(self) -> None:
        with pytest.raises(TypeError) as error:
            layer()(*inputs(), torch.ones(QUERY, KEY))
        assert str(error.value) == (
            'MultiHeadAttention: mask is float32, expected bool, where True means "may attend". '
            'Use mask != 0, or mask == 0 if your zeros mean "allowed".'
        )


class TestAttentionParameters:
    @pytest.mark.parametrize("bias", [True, False])
    @pytest.mark.parametrize("n_heads", [1, 2, 4, 8])
    def test_equals_torchs_own_count(self, n_heads: int, bias: bool) -> None:
        theirs = nn.MultiheadAttention(24, n_heads, bias=bias)
        assert attention_parameters(24, n_heads, bias) == sum(p.numel() for p in theirs.parameters())

    def test_of_the_papers_base_model(self) -> None:
        assert attention_parameters(512, 8, bias=False) == 3 * 262_144 + 262_144
        assert attention_parameters(512, 8) == 1_050_624

    def test_of_our_layer(self) -> None:
        assert attention_parameters(D_MODEL, HEADS) == sum(p.numel() for p in layer().parameters())

    def test_refuses_a_number_of_heads_that_does_not_divide(self) -> None:
        with pytest.raises(ValueError) as error:  # noqa: PT011
            attention_parameters(10, 4)
        expected = "attention_parameters: n_heads is 4, which does not divide d_model = 10. Use one of 1, 2, 5, 10."
        assert str(error.value) == expected


class TestHeadSimilarity:
    def test_equals_loops(self) -> None:
        weights = normal(BATCH, HEADS, QUERY, KEY).softmax(dim=-1)
        expected = torch.zeros(HEADS, HEADS, dtype=torch.float64)
        for g, h, b, i in itertools.product(range(HEADS), range(HEADS), range(BATCH), range(QUERY)):
            expected[g, h] += F.cosine_similarity(weights[b, g, i], weights[b, h, i], dim=0) / (BATCH * QUERY)
        torch.testing.assert_close(head_similarity(weights), expected, rtol=0, atol=1e-15)

    def test_of_equal_heads_and_of_heads_that_share_no_key(self) -> None:
        first, second = torch.eye(KEY)[:QUERY], torch.eye(KEY).roll(1, 1)[:QUERY]
        weights = torch.stack([first, second, first]).unsqueeze(0)  # (1, 3, query, key)
        expected = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
        assert torch.equal(head_similarity(weights), expected)

    def test_gradients_agree_with_finite_differences(self) -> None:
        weights = normal(BATCH, HEADS, QUERY, KEY).softmax(dim=-1).requires_grad_()
        assert torch.autograd.gradcheck(head_similarity, (weights,), fast_mode=True)

    @pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 1e-2)])
    def test_keeps_the_dtype(self, dtype: torch.dtype, tolerance: float) -> None:
        weights = normal(BATCH, HEADS, QUERY, KEY).softmax(dim=-1)
        found = head_similarity(weights.to(dtype))
        assert found.dtype == dtype
        torch.testing.assert_close(found.double(), head_similarity(weights), rtol=0, atol=tolerance)

    def test_refuses_three_dimensions(self) -> None:
        with pytest.raises(ValueError) as error:  # noqa: PT011
            head_similarity(normal(2, 3, 4))
        expected = "head_similarity: weights has shape (2, 3, 4), expected 4 dimensions: (batch, head, query, key)."
        assert str(error.value) == expected
