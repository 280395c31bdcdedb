"""On which device a notebook computes, and with which seeds: what its environment says.

`QKV_DEVICE=cuda` or `mps` moves everything that a chapter makes; the CPU is the default, because its numbers are the
book's. `QKV_SEEDS=1` draws everything from a second set of seeds: a verdict that is one of the first set only is luck.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

SECOND = 1_000_000  # between a seed and the same seed of the next set; chapters use none that large
_manual_seed, _numpy, _autocast = torch.manual_seed, Tensor.numpy, torch.autocast
_settled = False


def device() -> torch.device:
    """Where notebooks compute: on what `QKV_DEVICE` names, such as cuda or mps, or on the CPU."""
    return torch.device(os.environ.get("QKV_DEVICE") or "cpu")


def seed_offset() -> int:
    """The offset added to every seed of a notebook: 0, unless `QKV_SEEDS` names another set."""
    return SECOND * int(os.environ.get("QKV_SEEDS") or 0)


def apply_settings() -> None:
    """Use the device and the seeds that the environment names, from now on. By default nothing changes."""
    global _settled
    if _settled:
        return
    if device().type != "cpu":
        torch.zeros(1, device=device())  # a missing device raises now
        torch.set_default_device(device())
        Tensor.numpy, Tensor.__array__ = _to_numpy, _to_numpy  # type: ignore[method-assign, assignment]
        torch.autocast = _lower_precision  # type: ignore[misc, assignment]
    if device().type != "cpu" or seed_offset():
        torch.Generator = _generator()  # type: ignore[misc]
        torch.manual_seed = lambda seed: _manual_seed(seed + seed_offset())
    _settled = True


def on_the_cpu() -> AbstractContextManager[Any]:
    """Make tensors on the CPU inside the block, unless a device is given."""
    return nullcontext() if device().type == "cpu" else torch.device("cpu")


def _to_numpy(self: Tensor, dtype: Any = None, **_: Any) -> Any:
    """`Tensor.numpy` for tensors on any device: NumPy reads the CPU's memory, so they are copied there."""
    array = _numpy(self.cpu())
    return array if dtype is None else array.astype(dtype, copy=False)


def _lower_precision(kind: str, *args: Any, **how: Any) -> Any:
    """torch.autocast, where a chapter that says `cpu` means the device on which it computes."""
    return _autocast(device().type if kind == "cpu" else kind, *args, **how)


def _generator() -> Any:
    """torch's generator, which by itself knows neither the default device nor a set of seeds."""

    class Generator(torch.Generator):
        def __new__(cls, device: Any = None) -> Any:
            place = torch.get_default_device() if device is None else device
            return super().__new__(cls, device=place)  # type: ignore[call-arg]

        def manual_seed(self, seed: int) -> Any:
            return super().manual_seed(seed + seed_offset())

    return Generator
