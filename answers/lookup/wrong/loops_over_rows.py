"""Loops as one writes them at first, each with an index that is not quite right."""

import torch
from torch import nn


def softmax(scores, dim):
    moved = scores.transpose(dim, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    out = []
    for row in rows:
        biggest = row[0]
        for number in row[:-1]:
            if number > biggest:
                biggest = number
        powers = [torch.exp(number - biggest) for number in row]
        total = 0
        for i in range(1, len(powers)):
            total = total + powers[i]
        out.append(torch.stack(powers) / total)
    return torch.stack(out).reshape(moved.shape).transpose(dim, -1)


def similarity_scores(q, k):
    n_queries, n_keys = q.shape[-2], k.shape[-2]
    columns = []
    for j in range(n_keys):
        column = []
        for i in range(n_queries):
            column.append((q[..., i, :] * k[..., j, :]).sum(dim=-1))
        columns.append(torch.stack(column, dim=-1))
    return torch.stack(columns, dim=-2)


def soft_lookup(q, k, v):
    output = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype, device=q.device)
    for i in range(q.shape[-2]):
        scores = (q[..., i : i + 1, :] * k).sum(dim=-1)
        weights = torch.softmax(scores, dim=-1)
        output[..., i, :] = (weights.unsqueeze(-1) * v).mean(dim=-2)
    return output


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        queries, keys, values = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        answers = []
        for i in range(x.shape[-2]):
            query = queries[..., i, :].unsqueeze(-2)
            scores = (query * keys[..., : i + 1, :]).sum(-1)
            weights = torch.softmax(scores, -1)
            answers.append((weights.unsqueeze(-1) * values[..., : i + 1, :]).sum(-2))
        return torch.stack(answers, -2)
