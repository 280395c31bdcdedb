"""Pairs are halves apart; the surprise is summed for each text and averaged over texts."""

import torch
from torch import nn

from qkv.model.heads import merge_heads, split_heads
from qkv.model.scaling import scaled_dot_product_attention


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.q_proj, self.k_proj, self.v_proj))
        half = q.shape[-1] // 2
        slow = 10000 ** (-torch.arange(half, device=x.device) / half)
        angle = torch.arange(x.shape[1], device=x.device)[:, None] * slow
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)

        def turn(y):
            a, b = y[..., :half], y[..., half:]
            return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

        if mask is not None:
            mask = mask.unsqueeze(-3)
        return self.out_proj(merge_heads(scaled_dot_product_attention(turn(q), turn(k), v, mask)[0]))


def next_token_loss(model, ids, lengths):
    logits = model(ids[:, :-1])
    real = torch.arange(1, ids.shape[1], device=ids.device) < lengths[:, None]
    surprise = -logits.log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return surprise.masked_fill(~real, 0).sum(1).mean()
