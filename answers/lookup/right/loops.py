"""One query at a time, one key at a time, stacked in the end."""

import torch
from torch import nn


def softmax(scores, dim):
    rows = scores.movedim(dim, 0)
    highest = rows[0]
    for row in rows[1:]:
        highest = torch.maximum(highest, row)
    powers = [torch.exp(row - highest) for row in rows]
    return torch.stack([power / sum(powers) for power in powers], dim)


def similarity_scores(q, k):
    table = []
    for i in range(q.shape[-2]):
        table.append(torch.stack([(q[..., i, :] * k[..., j, :]).sum(-1) for j in range(k.shape[-2])], -1))
    return torch.stack(table, -2)


def soft_lookup(q, k, v):
    answers = []
    for i in range(q.shape[-2]):
        weights = softmax(similarity_scores(q[..., i : i + 1, :], k), dim=-1)[..., 0, :]
        answers.append(sum(weights[..., j, None] * v[..., j, :] for j in range(v.shape[-2])))
    return torch.stack(answers, dim=-2)


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        k, v = self.k_proj(x), self.v_proj(x)
        return torch.cat([soft_lookup(self.q_proj(x[..., i : i + 1, :]), k, v) for i in range(x.shape[-2])], dim=-2)
