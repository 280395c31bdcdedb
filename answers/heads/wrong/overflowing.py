"""The exponential as it is; the first block of columns for every head."""

from torch import nn


def split_heads(x, n_heads):
    d_head = x.shape[-1] // n_heads
    return x[..., :d_head].unsqueeze(1).expand(-1, n_heads, -1, -1)


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
        powers = (q @ k.mT / q.shape[-1] ** 0.5).exp()
        if mask is not None:
            powers = powers * mask.unsqueeze(-3)
        return self.out_proj((powers / powers.sum(-1, keepdim=True) @ v).transpose(1, 2).flatten(2))
