"""A recorder for the values of an answer's expressions: the first few of each, in the order of evaluation. It can also
put other values in the place of some: what would follow if this expression were right?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        put: expression -> what takes the place of its value, each time that it is evaluated; None leaves it.
    """

    def __init__(
        self, times: int = TIMES, most: int = MOST_VALUES, put: Mapping[int, Sequence[Tensor | None]] | None = None
    ) -> None:
        self.times, self.most, self.put = times, most, dict(put or {})
        self.clear()

    def clear(self) -> None:
        self.values: dict[str, Tensor] = {}
        # expression, time, the event that made the value or -1, is it a tensor?
        self.order: list[tuple[int, int, int, int]] = []
        self._alive: list[Any] = []  # objects, so that no other gets their identity
        self._made: dict[int, int] = {}
        self._times: dict[int, int] = {}
        self.counts: dict[int, int] = {}  # how often each expression was evaluated
        self.left_out = False  # some that could have been noted were not: there were too many

    def see(self, number: int, value: Any) -> Any:
        """Record a value, and return it, or what is put in its place."""
        count = self.counts.get(number, 0)
        self.counts[number] = count + 1
        if number in self.put:
            others = self.put[number]
            other = others[count] if count < len(others) else None
            value = value if other is None else in_place_of(value, other)
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
        """All recorded values, their order, and how often each expression was evaluated, as an observation."""
        order = torch.tensor(self.order, dtype=torch.int64).reshape(-1, 4)
        counts = torch.tensor(sorted(self.counts.items()), dtype=torch.int64).reshape(-1, 2)
        return Observation({"order": order, "counts": counts, **self.values})


def in_place_of(value: Any, other: Tensor) -> Any:
    """Another value as it can stand where this one stood: a number for a number, a list for a list, and for a tensor
    one of its dtype and device, in its shape if that has as many entries, with its gradient."""
    if isinstance(value, Tensor):
        other = other.to(value.device, value.dtype)
        if [n for n in other.shape if n != 1] == [n for n in value.shape if n != 1]:
            other = other.reshape(value.shape)
        if not (value.requires_grad and value.shape == other.shape and bool(value.isfinite().all())):
            return other.clone()
        return value + (other - value).detach()
    if isinstance(value, bool | int | float) and other.numel() == 1:
        return type(value)(other.item())
    return other.tolist() if isinstance(value, list) else value


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
    except (NotATensor, RuntimeError, OverflowError, ValueError):  # of a number with forty digits, say
        pass
    return None
