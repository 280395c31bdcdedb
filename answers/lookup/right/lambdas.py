"""Lambdas, and a function in place of the class."""

from torch import nn

softmax = lambda scores, dim: (lambda e: e / e.sum(dim, True))((scores - scores.amax(dim, True)).exp())  # noqa: E731
similarity_scores = lambda q, k: q @ k.mT  # noqa: E731
soft_lookup = lambda q, k, v: softmax(q @ k.mT, -1) @ v  # noqa: E731


class Lookup(nn.ModuleDict):
    forward = lambda self, x: soft_lookup(self["q_proj"](x), self["k_proj"](x), self["v_proj"](x))  # noqa: E731


def SelfAttention(d_model, d_k, d_v):
    widths = {"v_proj": d_v, "k_proj": d_k, "q_proj": d_k}  # made in another order
    return Lookup({name: nn.Linear(d_model, width, bias=False) for name, width in widths.items()})
