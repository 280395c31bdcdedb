"""Forbidden families: one forbidden thing in all its spellings.

`F.relu`, `torch.relu`, `Tensor.relu`, `nn.ReLU`, `torch.ops.aten.relu` all end in an operator of the same base name;
torch's own versions in Python (`torch._refs`, `torch._decomp`, quantizable twins) have it in their names, too. It is
the call that counts (`proctor.forbid.replace`, `proctor.forbid.watch`), not a mention.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch


@dataclass(frozen=True)
class Family:
    """One forbidden thing.

    Args:
        title: how to speak of it.
        words: an operator of torch, or a function or method (`Class.method`) in torch's own Python files, is it if one
            of these is in its name.
        contained: names of operators that do more than it, but contain it.
        composed: operators that are made of others of the family, and are refused when they come to those. To take them
            away as well would cost each child some pages.
        spared: names that have one of the words in them and are something else.
    """

    title: str
    words: frozenset[str]
    contained: frozenset[str] = frozenset()
    composed: frozenset[str] = frozenset()
    spared: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        title: str,
        *words: str,
        contained: Iterable[str] = (),
        composed: Iterable[str] = (),
        spared: Iterable[str] = (),
    ) -> Family:
        return cls(title, frozenset(words), frozenset(contained), frozenset(composed), frozenset(spared))

    def to_json(self) -> list[Any]:
        """The family as JSON, for the sandbox."""
        return [self.title, *map(sorted, (self.words, self.contained, self.composed, self.spared))]

    @classmethod
    def from_json(cls, parts: list[Any]) -> Family:
        title, *names = parts
        return cls(title, *map(frozenset, names))

    @property
    def operators(self) -> frozenset[str]:
        """The base names of all operators that are it, or contain it, in the torch that is installed."""
        return _operators(self)

    def names(self, function: str) -> str:
        """The words for a call of this function or operator; empty if it is allowed."""
        if any(word in function for word in self.words) and "backward" not in function and function not in self.spared:
            return self.title
        return f"`{function}` (it contains {self.title})" if function in self.contained else ""


@cache
def operators_by_name() -> dict[str, tuple[str, ...]]:
    """Base name -> full names of all registered operators: `add` -> `aten::add.Tensor`, …"""
    found: dict[str, list[str]] = {}
    for full in torch._C._dispatch_get_all_op_names():
        found.setdefault(full.partition("::")[2].partition(".")[0], []).append(full)
    return {name: tuple(full) for name, full in found.items()}


@cache
def _operators(family: Family) -> frozenset[str]:
    return frozenset(name for name in operators_by_name() if family.names(name))
