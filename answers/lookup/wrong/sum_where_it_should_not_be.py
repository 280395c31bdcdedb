"""The sum, the largest or the transpose is taken over another axis than the one asked for."""

import torch
from torch import Tensor, nn


def softmax(scores: Tensor, dim: int) -> Tensor:
    exponentials = torch.exp(scores - torch.amax(scores, dim=-1, keepdim=True))
    return exponentials / torch.sum(exponentials, dim=dim, keepdim=True)


def similarity_scores(q: Tensor, k: Tensor) -> Tensor:
    difference = q.unsqueeze(-2) * k.unsqueeze(-3)
    return difference.sum(dim=-2)


def soft_lookup(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = torch.matmul(q, torch.transpose(k, -2, -1))
    return torch.matmul(nn.functional.softmax(scores, dim=-2), v)


class SelfAttention(nn.Module):
    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        weights = torch.softmax(q.transpose(-2, -1) @ k, dim=-1)
        return v @ weights
