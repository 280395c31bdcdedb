"""Fresh inputs for probes.

Every draw is named by a key: what is drawn, its shape, its seed. Where the numbers come from is the business of the
source in force. On the trusted side that is `Salted`, which hashes a secret salt with the key and records what it drew;
everywhere else it is `Replay`, which hands out those recordings. So a probe reads the same everywhere, student code
sees inputs but never the salt, and an answer cannot be prepared for numbers that do not exist yet.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import TypeVar

import torch
from torch import Tensor, nn

Seed = int | str
Draws = dict[str, Tensor]
Module = TypeVar("Module", bound=nn.Module)
PARAMETER = " parameter "  # in the key of a draw, before the name of the parameter that it fills


class UnknownDraw(LookupError):
    """A probe requested an input that the reference never used."""


class Salted:
    """Draw from a generator that is seeded by salt and key, and remember the draw."""

    def __init__(self, salt: str = "") -> None:
        self.salt = salt
        self.table: Draws = {}

    def __call__(self, key: str, make: Callable[[torch.Generator], Tensor]) -> Tensor:
        if key not in self.table:
            digest = hashlib.sha256(f"{self.salt}\n{key}".encode()).digest()
            source = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
            self.table[key] = make(source)
        return self.table[key]


class Replay:
    """Hand out draws that were recorded before; nothing new can be drawn."""

    def __init__(self, table: Mapping[str, Tensor]) -> None:
        self.table = table

    def __call__(self, key: str, make: Callable[[torch.Generator], Tensor]) -> Tensor:
        if key not in self.table:
            raise UnknownDraw(key)
        return self.table[key]

    def must_know(self, parameters: Mapping[str, Tensor]) -> None:
        """Refuse a module whose parameters are not those that the reference has; the message lists all of them."""
        if all(drawn(name, parameter) in self.table for name, parameter in parameters.items()):
            return
        known = {key.partition(PARAMETER)[2] for key in self.table if PARAMETER in key}
        has = [f"{n} {list(p.shape)}" for n, p in parameters.items() if drawn(n, p) not in self.table]
        lacks = sorted(known - parameters.keys())
        raise UnknownDraw(f"parameters: {'; '.join(has)[:300]} | {'; '.join(lacks)[:250]}")


class TrackingReplay(Replay):
    """A `Replay` that records the requested keys."""

    def __init__(self, table: Mapping[str, Tensor]) -> None:
        super().__init__(table)
        self.keys: set[str] = set()

    def __call__(self, key: str, make: Callable[[torch.Generator], Tensor]) -> Tensor:
        self.keys.add(key)
        return super().__call__(key, make)


def drawn(name: str, parameter: Tensor) -> str:
    """The key under which a parameter is drawn."""
    return f"normal {list(parameter.shape)}{PARAMETER}{name}"


_source: ContextVar[Salted | Replay] = ContextVar("source")


@contextmanager
def drawing(source: Salted | Replay) -> Iterator[Mapping[str, Tensor]]:
    """Draw from this source inside the block; yields its table."""
    token = _source.set(source)
    try:
        yield source.table
    finally:
        _source.reset(token)


def _draw(kind: str, shape: tuple[int, ...], seed: Seed, make: Callable[[torch.Generator], Tensor]) -> Tensor:
    """Return the cached tensor; callers must clone."""
    source = _source.get(None)
    if source is None:  # outside of a check: an author trying a probe by hand
        source = Salted()
    return source(f"{kind} {list(shape)} {seed}", make)


def normal(*shape: int, seed: Seed, mean: float = 0.0, std: float = 1.0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Draw a Gaussian tensor. The same seed gives the same numbers in every dtype, up to its rounding."""
    sample = _draw("normal", shape, seed, lambda g: torch.randn(shape, generator=g, dtype=torch.float64))
    if mean == 0.0 and std == 1.0:
        return sample.to(dtype, copy=True)
    return (mean + std * sample).to(dtype)


def uniform(*shape: int, seed: Seed, low: float = 0.0, high: float = 1.0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Draw from the interval [low, high)."""
    sample = _draw("uniform", shape, seed, lambda g: torch.rand(shape, generator=g, dtype=torch.float64))
    return (low + (high - low) * sample).to(dtype)


def integers(low: int, high: int, *shape: int, seed: Seed) -> Tensor:
    """Draw int64 from low (included) to high (excluded)."""
    return _draw(f"integers {low} {high}", shape, seed, lambda g: torch.randint(low, high, shape, generator=g)).clone()


def booleans(*shape: int, seed: Seed, p: float = 0.5) -> Tensor:
    """Draw True with probability p."""
    return uniform(*shape, seed=seed, dtype=torch.float64) < p


def permutation(n: int, *, seed: Seed) -> Tensor:
    """Draw the numbers 0 … n-1 in random order."""
    return _draw("permutation", (n,), seed, lambda g: torch.randperm(n, generator=g)).clone()


def whole(low: int, high: int, *, seed: Seed) -> int:
    """Draw one Python int from low (included) to high (excluded)."""
    return int(integers(low, high, 1, seed=seed))


def distinct(low: int, high: int, count: int, *, seed: Seed) -> list[int]:
    """Draw `count` different Python ints from low (included) to high (excluded), in random order: sizes, say.

    Sizes that differ show a swapped axis; several of them leave a table of answers little to hope for.
    """
    return (low + permutation(high - low, seed=f"{seed} from {low}")[:count]).tolist()


def number(low: float, high: float, *, seed: Seed) -> float:
    """Draw one Python float from the interval [low, high)."""
    return float(uniform(1, seed=seed, low=low, high=high, dtype=torch.float64))


def generator(seed: Seed) -> torch.Generator:
    """A torch.Generator for exercises that take one."""
    return torch.Generator().manual_seed(int(integers(0, 2**62, 1, seed=f"generator {seed}")))


def seeded(module: Module, dtype: torch.dtype = torch.float32) -> Module:
    """Fill every parameter from its *name*, so that the order in which a module makes them cannot matter.

    Matrices keep the scale of what passes through them; gains (`*norm*.weight`, `gamma`) scatter around 1, other
    vectors around 0.
    """
    if any(t.dtype != dtype for t in chain(module.parameters(), module.buffers())):  # `to` is slow, even for nothing
        module.to(dtype)
    parameters = dict(module.named_parameters())
    source = _source.get(None)
    if isinstance(source, Replay):
        source.must_know(parameters)
    with torch.no_grad():
        for name, parameter in parameters.items():
            values = normal(*parameter.shape, seed=f"parameter {name}", dtype=torch.float64)
            if parameter.dim() >= 2:
                values = values / math.sqrt(parameter.shape[-1])
            else:
                is_gain = "gamma" in name or ("norm" in name and name.endswith("weight"))
                values = 0.3 * values + (1.0 if is_gain else 0.0)
            parameter.copy_(values)
    return module
