"""Results collected by their numbers."""

import torch
from torch import nn

from qkv.model.norm import RMSNorm
from qkv.model.today import GroupedAttention, SwiGLU


def quantize_groups(weight, bits, group):
    d_out, d_in = weight.shape
    which = (torch.arange(d_in, device=weight.device) // group).expand(d_out, d_in)
    n = -(-d_in // group)
    size = weight.abs().double()
    most = torch.zeros(d_out, n, dtype=torch.float64, device=weight.device).scatter_reduce(1, which, size, "amax")
    scales = most / (2 ** (bits - 1) - 1)
    each = scales.gather(1, which)
    codes = torch.where(each == 0, 0, weight.double() / each.clamp(min=1e-300))
    return torch.round(codes).clamp(-127, 127).to(torch.int8), scales.to(weight.dtype)


class Llama(nn.Module):
    def __init__(
        self, vocab, d_model, n_heads, n_groups, n_layers, d_ff, d_head=None, qk_norm=False, tied=False, base=10000.0,
        eps=1e-6,
    ):  # fmt: skip
        super().__init__()
        width = d_model // n_heads if d_head is None else d_head
        self.tokens = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            parts = {
                "norm1": RMSNorm(d_model, eps),
                "attention": GroupedAttention(d_model, n_heads, n_groups, width, qk_norm, eps),
                "norm2": RMSNorm(d_model, eps),
                "feed_forward": SwiGLU(d_model, d_ff),
            }
            self.layers.append(nn.ModuleDict(parts))
        self.norm = RMSNorm(d_model, eps)
        self.out = None if tied else nn.Linear(d_model, vocab, bias=False)
        speeds = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        self.register_buffer("frequencies", speeds, persistent=False)

    def forward(self, ids, caches=None):
        stream = self.tokens.weight.index_select(0, ids.flatten()).view(*ids.shape, -1)
        caches = list(caches) if caches is not None else [None for _ in self.layers]
        for i, layer in enumerate(self.layers):
            out = layer["attention"](layer["norm1"](stream), frequencies=self.frequencies, cache=caches[i])
            caches[i] = out[1]
            stream = torch.add(stream, out[0])
            stream = torch.add(stream, layer["feed_forward"](layer["norm2"](stream)))
        matrix = self.tokens.weight if self.out is None else self.out.weight
        return self.norm(stream).matmul(matrix.t()), tuple(caches)
