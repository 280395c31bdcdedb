"""Situations that probes of many exercises put an implementation into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from proctor.inside.inputs import generator, whole

Seen = dict[str, Any]  # what a probe returns: name -> tensor or number


def one_of_each(**sizes: int) -> list[tuple[str, list[int]]]:
    """The same sizes once for each name, with this size being 1, and words for it."""
    return [(f"one {name}", [1 if other == name else size for other, size in sizes.items()]) for name in sizes]


def if_it_runs(look: Callable[[], Seen]) -> Seen:
    """The values that `look` returns, or a mark that the code raised.

    Code for another number of dimensions fails by whatever torch or Python has for it. That it fails is what all such
    code has in common, and what a mistake can be recognised by.
    """
    try:
        return {**look(), "it raises an error": False}
    except NotImplementedError:  # nothing is written yet
        raise
    except (RuntimeError, IndexError, ValueError, TypeError, AssertionError):
        return {"it raises an error": True}


def settled(name: str) -> torch.Generator:
    """A generator to hand over. torch's own starts anew, so that who draws from that one always draws the same."""
    torch.manual_seed(whole(0, 2**31, seed=f"torch's own {name}"))
    return generator(name)
