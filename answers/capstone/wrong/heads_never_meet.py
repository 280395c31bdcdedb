"""No projection at the end; exponentials that overflow."""

import torch
from torch import nn

from qkv.model.heads import merge_heads, split_heads
from qkv.model.positions import rotate
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
        positions = torch.arange(x.size(1), device=x.device)
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.q_proj, self.k_proj, self.v_proj))
        if mask is not None:
            mask = mask.unsqueeze(-3)
        output, _ = scaled_dot_product_attention(rotate(q, positions), rotate(k, positions), v, mask)
        return merge_heads(output)


def next_token_loss(model, ids, lengths):
    powers = model(ids[:, :-1]).exp()
    p = powers / powers.sum(-1, keepdim=True)
    real = torch.arange(1, ids.shape[1], device=ids.device) < lengths[:, None]
    return -p.gather(-1, ids[:, 1:, None]).squeeze(-1)[real].log().mean()
