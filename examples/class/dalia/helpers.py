"""What several of my answers use."""
import torch


def stable_exp(x, dim):
    return torch.exp(x - x.amax(dim=dim, keepdim=True))


def into_heads(x, n):
    return torch.stack(x.chunk(n, dim=-1), dim=1)
