"""NumPy for the arithmetic, and back: nothing can be learned through it."""

import numpy as np
import torch
from torch import nn


def softmax(scores, dim):
    array = scores.numpy()
    e = np.exp(array - np.max(array, axis=dim, keepdims=True))
    return torch.from_numpy(e / e.sum(axis=dim, keepdims=True))


def similarity_scores(q, k):
    return torch.tensor(np.matmul(q.detach().numpy(), np.swapaxes(k.detach().numpy(), -1, -2)))


def soft_lookup(q, k, v):
    queries, keys, values = (np.asarray(t.tolist()) for t in (q, k, v))
    scores = queries @ np.swapaxes(keys, -1, -2)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    weights = e / e.sum(-1, keepdims=True)
    return torch.tensor(weights @ values, dtype=q.dtype)


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        a = x.data.cpu().numpy()
        q = a @ self.q_proj.weight.data.numpy().T
        k = a @ self.k_proj.weight.data.numpy().T
        v = a @ self.v_proj.weight.data.numpy().T
        e = np.exp(q @ k.swapaxes(-1, -2))
        return torch.from_numpy(e / e.sum(-1, keepdims=True) @ v)
