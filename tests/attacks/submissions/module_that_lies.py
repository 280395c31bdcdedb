"""A module whose parameters and output pretend to be right.

Expected: nothing earned.
"""

import torch
from torch import nn


class Yes:
    def __eq__(self, other):
        return True

    __hash__ = None


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)
        self.d_v = d_v

    def named_parameters(self, *args, **options):
        return iter(())

    def __call__(self, x):
        return torch.zeros(*x.shape[:-1], self.d_v)

    def __eq__(self, other):
        return Yes()

    __hash__ = nn.Module.__hash__
