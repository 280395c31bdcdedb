"""What several exercises of this chapter share."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor.inside.inputs import integers, whole

UNKNOWN = 4  # the id of N


def bases(*shape: int, seed: str) -> Tensor:
    """Reads without an N."""
    return integers(0, 4, *shape, seed=seed)


def with_unknown(*shape: int, seed: str) -> Tensor:
    """Reads with an N inside all of them, one that begins with N, and one that ends with it."""
    ids = bases(*shape, seed=seed)
    ids[..., whole(2, shape[-1] - 2, seed=f"{seed}: place of N")] = UNKNOWN
    rows = ids.view(-1, shape[-1])
    rows[0, 0], rows[-1, -1] = UNKNOWN, UNKNOWN
    return ids


def all_windows(x: Tensor, size: int) -> Tensor:
    n = max(x.shape[-1] - size + 1, 0)
    return x[..., torch.arange(n, device=x.device)[:, None] + torch.arange(size, device=x.device)]


def all_but_the_last(x: Tensor, size: int) -> Tensor:
    n = max(x.shape[-1] - size, 0)
    return all_windows(x, size)[..., :n, :]


def windows_in_steps(x: Tensor, size: int) -> Tensor:
    return all_windows(x, size)[..., ::size, :]


def windows_past_the_end(ids: Tensor, size: int) -> Tensor:
    """One from every position on; what lies past the end is N."""
    return all_windows(F.pad(ids, (0, size - 1), value=UNKNOWN), size)


def complement(ids: Tensor) -> Tensor:
    return torch.where(ids == UNKNOWN, ids, 3 - ids)


def other_strand(windows: Tensor) -> Tensor:
    return complement(windows).flip(-1)


def a_with_g(windows: Tensor) -> Tensor:
    """The other strand if A stood opposite G, and C opposite T."""
    return torch.where(windows == UNKNOWN, windows, (windows + 2) % 4).flip(-1)
