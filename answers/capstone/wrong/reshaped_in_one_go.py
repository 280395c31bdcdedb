"""Heads by one reshape; the whole row is read and its last answer thrown away."""

import torch
import torch.nn.functional as F
from torch import nn

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
        batch, seq, d_model = x.shape
        positions = torch.arange(seq, device=x.device)
        shape = batch, self.n_heads, seq, d_model // self.n_heads
        q, k, v = (p(x).reshape(shape) for p in (self.q_proj, self.k_proj, self.v_proj))
        if mask is not None:
            mask = mask.unsqueeze(-3)
        output, _ = scaled_dot_product_attention(rotate(q, positions), rotate(k, positions), v, mask)
        return self.out_proj(output.reshape(batch, seq, d_model))


def next_token_loss(model, ids, lengths):
    logits = model(ids)[:, :-1]
    real = torch.arange(1, ids.shape[1], device=ids.device) < lengths[:, None]
    return F.cross_entropy(logits[real], ids[:, 1:][real])
