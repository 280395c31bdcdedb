"""The same `Llama`, fast: torch's fused attention inside, caches as before, and layers that see a window if asked.

`qkv.model.fused` does it for the parts of chapters 3 to 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model.today import GroupedAttention, SwiGLU

M = TypeVar("M", bound=nn.Module)
Attend = Callable[[Tensor, Tensor, Tensor, tuple[Tensor, Tensor] | None], tuple[Tensor, tuple[Tensor, Tensor]]]


def fuse_llama(model: M, windows: Sequence[int | None] | None = None) -> M:
    """Let every grouped attention and every gate inside use torch's own kernels, from now on.

    Args:
        model: a Llama, ours or a student's, or any part of one. It is changed in place; its parameters stay.
        windows: for each attention, in order, how many of the last positions it sees, itself included; None for all.
            Left out, all see all.

    Returns:
        the same model.
    """
    attentions = [module for module in model.modules() if type(module).__name__ == GroupedAttention.__name__]
    sees = [None] * len(attentions) if windows is None else list(windows)
    if len(sees) != len(attentions):
        raise ValueError(f"windows has {len(sees)} entries, expected {len(attentions)}: one for each attention.")
    for attention, window in zip(attentions, sees, strict=True):
        attention.__class__ = GroupedAttention  # a student's need not have our steps; its parameters have our names
        attention._attend = attending(window)  # type: ignore[assignment]
    for module in model.modules():
        if type(module).__name__ == SwiGLU.__name__:
            module.__class__ = SwiGLU
            module._open = F.silu  # type: ignore[assignment]
    return model


def attending(window: int | None) -> Attend:
    """`cached_attention` without its weights, maybe within a window."""
    if window is not None and window < 1:
        raise ValueError(f"windows contains {window}, expected 1 or more, or None: a position sees itself at least.")

    def attend(
        q: Tensor, k: Tensor, v: Tensor, cache: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        new, key = q.shape[2], k.shape[2]
        share = q.shape[1] // k.shape[1]
        keys, values = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
        if window is None and new in (1, key):
            return F.scaled_dot_product_attention(q, keys, values, is_causal=new == key), (k, v)
        position = torch.arange(key, device=q.device)
        back = position[-new:, None] - position
        seen = (back >= 0) & (back < (key if window is None else window))
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen), (k, v)

    return attend
