"""What nbgrader and otter check: one test cell per exercise, the body of the function that has its name."""

import math

import torch
import torch.nn.functional as F
from right import (
    SelfAttention,
    attention_entropy,
    attention_parameters,
    merge_heads,
    scaled_dot_product_attention,
    score_variance,
    similarity_scores,
    soft_lookup,
    softmax,
    split_heads,
)


def test_softmax():
    x = torch.randn(2, 3, 5) * 2
    assert torch.allclose(softmax(x, -1), torch.softmax(x, -1), atol=1e-5)
    huge = x.double() + 1e4  # in float32 so little is left of x that right answers differ
    assert torch.allclose(softmax(huge, 1), torch.softmax(huge, 1), atol=1e-5)


def test_similarity_scores():
    q, k = torch.randn(2, 3, 7), torch.randn(2, 5, 7)
    assert torch.allclose(similarity_scores(q, k), torch.einsum("bid,bjd->bij", q, k), atol=1e-5)


def test_soft_lookup():
    q, k, v = torch.randn(2, 3, 7), torch.randn(2, 5, 7), torch.randn(2, 5, 4)
    assert torch.allclose(soft_lookup(q, k, v), F.scaled_dot_product_attention(q, k, v, scale=1.0), atol=1e-5)


def test_SelfAttention():
    layer, x = SelfAttention(6, 4, 3), torch.randn(2, 5, 6)
    expected = F.scaled_dot_product_attention(layer.q_proj(x), layer.k_proj(x), layer.v_proj(x), scale=1.0)
    assert torch.allclose(layer(x), expected, atol=1e-5)


def test_score_variance():
    assert math.isclose(score_variance(16, 2.0), 256.0)
    assert math.isclose(score_variance(16, 2.0, 1.0), 384.0)


def test_attention_entropy():
    w = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    assert torch.allclose(attention_entropy(w), torch.tensor([math.log(2), 0.0]), atol=1e-5)


def test_scaled_dot_product_attention():
    q, k, v = torch.randn(2, 3, 7), torch.randn(2, 5, 7), torch.randn(2, 5, 4)
    mask = torch.ones(3, 5).tril(1).bool()
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    assert torch.allclose(output, F.scaled_dot_product_attention(q, k, v, attn_mask=mask), atol=1e-5)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 3), atol=1e-5)


def test_split_heads():
    x = torch.randn(2, 3, 8)
    assert torch.equal(split_heads(x, 2)[:, 1], x[:, :, 4:])


def test_merge_heads():
    x = torch.randn(2, 4, 3, 5)
    assert torch.equal(merge_heads(x)[:, :, 5:10], x[:, 1])


def test_attention_parameters():
    assert attention_parameters(8, 2) == 288
    assert attention_parameters(8, 2, bias=False) == 256
