import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def softmax(scores, dim):
    shifted = scores - scores.amax(dim=dim, keepdim=True)
    e = shifted.exp()
    return e / e.sum(dim=dim, keepdim=True)


def similarity_scores(q, k):
    return q @ k.transpose(-2, -1)


def soft_lookup(q, k, v):
    while True:
        pass


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        return soft_lookup(self.q_proj(x), self.k_proj(x), self.v_proj(x))
