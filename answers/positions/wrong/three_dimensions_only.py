"""Works for a batch of sequences, and for nothing else."""

import torch


def rotate(x, positions, base=10000.0):
    batch, seq, d = x.shape
    t = positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    a, b = x.view(batch, seq, d // 2, 2).unbind(-1)
    return torch.stack([a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()], -1).view(batch, seq, d).to(x.dtype)


def relative_scores(q, k, table):
    m = table.shape[0] // 2
    content = torch.bmm(q, k.transpose(1, 2))
    i = torch.arange(q.shape[1], device=q.device)[:, None]
    rows = (i - torch.arange(k.shape[1], device=q.device)).clamp(-m, m) + m
    return content + torch.einsum("bid,ijd->bij", q, table[rows])
