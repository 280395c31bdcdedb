"""Only self-attention; a single head's width is counted."""

from torch import nn

from qkv.model.scaling import scaled_dot_product_attention


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
            p(query).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        mask = None if mask is None else mask.unsqueeze(-3)
        return self.out_proj(scaled_dot_product_attention(q, k, v, mask)[0].transpose(1, 2).flatten(2))


def attention_parameters(d_model, n_heads, bias=True):
    return 4 * d_model * (d_model // n_heads) + 4 * d_model * bias


def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1))
