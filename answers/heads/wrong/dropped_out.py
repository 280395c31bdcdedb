"""Dropout that never sleeps, and heads that are mixed by a mean."""

from torch import nn

from qkv.model.scaling import scaled_dot_product_attention


def merge_heads(x):
    return x.mean(dim=1).repeat(1, 1, x.shape[1])


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            p(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for x, p in ((query, self.q_proj), (key, self.k_proj), (value, self.v_proj))
        )
        mask = None if mask is None else mask.unsqueeze(-3)
        _, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj((nn.functional.dropout(weights, 0.1) @ v).transpose(1, 2).flatten(2))


def attention_parameters(d_model, n_heads, bias=True):
    return 4 * d_model * d_model + (4 if bias else 0)
