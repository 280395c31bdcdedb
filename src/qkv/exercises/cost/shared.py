"""What several exercises of this chapter share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from proctor.inside.inputs import normal, whole
from proctor.inside.situations import Seen


def qkv(query: int, key: int, d_k: int, d_v: int, *leading: int, std: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    return (
        normal(*leading, query, d_k, seed="q", std=std),
        normal(*leading, key, d_k, seed="k", std=std),
        normal(*leading, key, d_v, seed="v"),
    )


def many() -> int:
    """A number of positions at which a matrix of all pairs stands out from whatever grows with one of them."""
    return whole(256, 300, seed="many")


class Largest(TorchDispatchMode):
    """Notes the most entries that a tensor has which is made inside the block."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, list | tuple) else [made]:
            if isinstance(one, Tensor):
                self.entries = max(self.entries, one.numel())
        return made


def noting_the_largest(probe: Callable[[Any, Largest], Seen]) -> Callable[[Any], Seen]:
    """A probe for another chapter: it gets a `Largest`, which it could not name where it is run. Only the packages in
    which the probes themselves are made travel with them."""

    def noting(implementation: Any) -> Seen:
        return probe(implementation, Largest())

    noting.__name__, noting.__doc__ = probe.__name__, probe.__doc__  # and not its module, as `wraps` would
    return noting


def stays_small(call: Any, *arguments: Any) -> Seen:
    """Does a call with `many` positions make no tensor with an entry for each pair of them?"""
    with Largest() as largest:
        call(*arguments)
    return {"no tensor has an entry for each pair": largest.entries < many() ** 2}
