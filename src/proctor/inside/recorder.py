"""A recorder for the values of an answer's expressions: the first few of each, in the order of evaluation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor.inside.observe import NotATensor, Observation, plain

SEE = "__see__"  # what a watched expression is handed to
TIMES = 3  # how often each expression is noted
MOST_VALUES = 600
LARGEST = 20_000  # entries of a tensor that is noted
MOST_TOGETHER = 16  # tensors of a list


class Recorder:
    """Records values. Each has a number (`12.0`: expression 12, the first time), and the earlier event that made it, if
    it is the same object.

    Args:
        times: how often each expression is noted.
        most: how many values are, in all.
    """

    def __init__(self, times: int = TIMES, most: int = MOST_VALUES) -> None:
        self.times, self.most = times, most
        self.clear()

    def clear(self) -> None:
        self.values: dict[str, Tensor] = {}
        # expression, time, the event that made the value or -1, is it a tensor?
        self.order: list[tuple[int, int, int, int]] = []
        self._alive: list[Any] = []  # objects, so that no other gets their identity
        self._made: dict[int, int] = {}
        self._times: dict[int, int] = {}
        self.left_out = False  # some that could have been noted were not: there were too many

    def see(self, number: int, value: Any) -> Any:
        """Record a value, and return it."""
        time = self._times.get(number, 0)
        if time >= self.times or len(self.order) >= self.most:
            self.left_out = True
        else:
            found = noted(value)
            if found is not None:
                self._times[number] = time + 1
                self.values[f"{number}.{time}"] = found
                tensor = not is_plain(value)  # numbers that are equal may be one object, wherever they come from
                self.order.append((number, time, self._made.get(id(value), -1) if tensor else -1, tensor))
                self._made[id(value)] = len(self.order) - 1
                self._alive.append(value)
        return value

    def observation(self) -> Observation:
        """All recorded values and their order, as an observation."""
        order = torch.tensor(self.order, dtype=torch.int64).reshape(-1, 4)
        return Observation({"order": order, **self.values})


def is_plain(value: Any) -> bool:
    """A number, or a list of whole numbers."""
    return isinstance(value, int | float) or (isinstance(value, list) and all(isinstance(v, int) for v in value))


def noted(value: Any) -> Tensor | None:
    """A value as a tensor of ours, if it is one that can be compared: a tensor, several, or a number."""
    try:
        if isinstance(value, Tensor):
            return plain(value) if value.numel() <= LARGEST else None
        if is_plain(value):
            return plain(value)
        several = isinstance(value, list | tuple) and 0 < len(value) <= MOST_TOGETHER
        if several and all(isinstance(v, Tensor) and v.numel() <= LARGEST for v in value):
            return torch.cat([plain(v).double().flatten() for v in value])
    except (NotATensor, RuntimeError, OverflowError):
        pass
    return None
