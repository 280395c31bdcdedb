"""Written for the example of the page, one query and a matrix of keys, and no more."""

import torch
from torch import nn


def softmax(scores, dim=-1):
    shifted = scores - torch.max(scores, dim=dim)[0].unsqueeze(1)
    e = shifted.exp()
    return e / e.sum(dim=dim).unsqueeze(1)


def similarity_scores(q, k):
    return torch.stack([k @ query for query in q])


def soft_lookup(q, k, v):
    answers = []
    for query in q:
        weights = torch.softmax(k @ query, dim=0)
        answers.append(weights @ v)
    return torch.stack(answers)


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        batch, seq, _ = x.shape
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        scores = torch.bmm(q, k.transpose(1, 2)).view(batch, seq, seq)
        return torch.bmm(torch.softmax(scores, dim=2), v)
