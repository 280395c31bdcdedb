"""Decorated, with type hints, helpers, lambdas and extra arguments that have defaults."""

import functools

import torch
from torch import Tensor, nn

from qkv.model.scaling import scaled_dot_product_attention


def shaped(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        result = function(*args, **kwargs)
        assert result is not None
        return result

    return inner


split_heads = shaped(lambda x, n_heads: rearranged(x, n_heads))


def rearranged(x: Tensor, count: int) -> Tensor:
    return x.unflatten(2, (count, x.size(2) // count)).transpose(2, 1)


@shaped
def merge_heads(x: Tensor, *, axis: int = 1) -> Tensor:
    return torch.cat(tuple(x.unbind(axis)), -1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.out_proj, self.v_proj, self.k_proj, self.q_proj = (nn.Linear(d_model, d_model) for _ in range(4))
        self.heads, self.dropout = n_heads, nn.Dropout(dropout)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *, loud: bool = False
    ) -> Tensor:
        split = functools.partial(rearranged, count=self.heads)
        mask = mask if mask is None else mask[..., None, :, :]
        output, weights = scaled_dot_product_attention(
            split(self.q_proj(query)), split(self.k_proj(key)), split(self.v_proj(value)), mask
        )
        if loud:
            print(weights.shape)
        return self.dropout(self.out_proj(merge_heads(output)))


@shaped
def attention_parameters(d_model: int, n_heads: int, bias: bool = True) -> int:
    return sum(d_model * d_model + int(bias) * d_model for _ in range(4))


@shaped
def head_similarity(weights: Tensor, eps: float = 1e-12) -> Tensor:
    unit = torch.nn.functional.normalize(weights, dim=-1, eps=eps)
    return (unit.unsqueeze(1) * unit.unsqueeze(2)).sum(-1).mean(-1).mean(0)
