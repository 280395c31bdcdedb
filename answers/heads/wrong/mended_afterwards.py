"""Weights are set to 0 after the softmax, and what is left is divided by its sum."""

from torch import nn


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
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
            weights = weights / weights.sum(-1, keepdim=True)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))
