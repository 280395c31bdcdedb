"""Refuse bad input before it becomes a confusing error, and keep that out of the teaching code.

    @expects(q="... query d_k", k="... key d_k", mask="bool -> ... query key")

A name stands for a size; the same name must have the same size everywhere in the call. `...` stands for any leading
dimensions, the same in every argument. A size may not be 0 unless its name ends in `*`. An argument that is None is not looked at.
Kinds of argument:
    "... seq d"             a floating tensor of that shape
    "int: batch seq"        an int64 tensor
    "bool -> ... query key" a bool tensor that broadcasts to that shape
    "positive", "size", "even", "divides d"   an integer: ≥ 1, ≥ 0, even and ≥ 2, a divisor of a size or of another argument
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

F = TypeVar("F", bound=Callable[..., Any])
Sizes = dict[str, tuple[Any, str]]  # name of a size -> its value, the argument that fixed it

INTEGERS = {
    "positive": (lambda n: n >= 1, "a positive integer"),
    "size": (lambda n: n >= 0, "an integer that is not negative"),
    "even": (lambda n: n >= 2 and n % 2 == 0, "a positive even integer"),
}


def expects(**specs: str) -> Callable[[F], F]:
    """Check the named arguments of a function or method against their specs on every call."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        unknown = set(specs) - set(signature.parameters)
        if unknown:
            raise TypeError(f"{function.__name__} has no argument {', '.join(sorted(unknown))}")
        owner = function.__qualname__.removesuffix(".forward").removesuffix(".__init__").rpartition(".")[2]

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            sizes: Sizes = {n: (v, n) for n, v in given.arguments.items() if isinstance(v, int) and not isinstance(v, bool)}
            for name, spec in specs.items():
                value = given.arguments[name]
                if value is not None:
                    check(owner, name, value, spec, sizes)
            return function(*args, **kwargs)

        return cast(F, checked)

    return decorate


def check(owner: str, name: str, value: Any, spec: str, sizes: Sizes) -> None:
    if spec in INTEGERS or spec.startswith("divides "):
        check_integer(owner, name, value, spec, sizes)
        return
    if not isinstance(value, Tensor):
        raise TypeError(f"{owner}: {name} is a {type(value).__name__}, expected a tensor of shape {shown(spec)}.")
    if spec.startswith("bool -> "):
        check_mask(owner, name, value, spec.removeprefix("bool -> "), sizes)
        return
    wanted, _, dims = spec.rpartition(": ")
    if wanted == "int":
        if value.dtype != torch.int64:
            raise TypeError(f"{owner}: {name} is {dtype(value)}, expected int64 (token ids, positions, lengths). Use {name}.long().")
    elif not value.is_floating_point():
        raise TypeError(f"{owner}: {name} is {dtype(value)}, expected a floating dtype. Use {name}.float().")
    check_shape(owner, name, value, dims, sizes)


def check_integer(owner: str, name: str, value: Any, spec: str, sizes: Sizes) -> None:
    divided = spec.removeprefix("divides ") if spec.startswith("divides ") else ""
    accepts, words = INTEGERS["positive" if divided else spec]
    if isinstance(value, bool) or not isinstance(value, int) or not accepts(value):
        raise ValueError(f"{owner}: {name} is {value!r}, expected {words}.")
    if divided and sizes[divided][0] % value:
        size = sizes[divided][0]
        choices = ", ".join(str(n) for n in range(1, min(size, 64) + 1) if size % n == 0)
        raise ValueError(f"{owner}: {name} is {value}, which does not divide {divided} = {size}. Use one of {choices}.")


def check_shape(owner: str, name: str, value: Tensor, spec: str, sizes: Sizes) -> None:
    dims = spec.split()
    shape = tuple(value.shape)
    leading = len(shape) - len(dims) + 1 if dims[0] == "..." else 0
    if leading < 0 or (dims[0] != "..." and len(shape) != len(dims)):
        count = f"at least {len(dims) - 1}" if dims[0] == "..." else str(len(dims))
        raise ValueError(f"{owner}: {name} has shape {shape}, expected {count} dimensions: {shown(spec)}.")
    found = [("...", shape[:leading]), *zip(dims[1:], shape[leading:], strict=True)] if dims[0] == "..." else list(zip(dims, shape, strict=True))
    for dim, size in found:
        label = dim.rstrip("*")
        if size == 0 and not dim.endswith("*"):
            raise ValueError(f"{owner}: {name} has shape {shape}, so {label} is 0. Expected {shown(spec)} with at least one entry in each.")
        if label in sizes and sizes[label][0] != size:
            other, source = sizes[label]
            fixed = f"as {source} has it" if source != label else f"as the argument {label} says"
            what = "leading dimensions" if label == "..." else label
            raise ValueError(f"{owner}: {name} has shape {shape}, so {what} = {size}; expected {what} = {other}, {fixed}. {name} is {shown(spec)}.")
        sizes.setdefault(label, (size, name))


def check_mask(owner: str, name: str, value: Tensor, spec: str, sizes: Sizes) -> None:
    if value.dtype != torch.bool:
        raise TypeError(f'{owner}: {name} is {dtype(value)}, expected bool, where True means "may attend". Use {name} != 0, or {name} == 0 if your zeros mean "allowed".')
    target: tuple[int, ...] = ()
    for dim in spec.split():
        target += sizes[dim][0] if dim == "..." else (sizes[dim][0],)
    try:
        fits = torch.broadcast_shapes(value.shape, target) == torch.Size(target)
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(f"{owner}: {name} has shape {tuple(value.shape)}, which does not broadcast to {shown(spec)} = {target}.")


def shown(spec: str) -> str:
    """A spec as people write shapes: `(..., query, d_k)`."""
    dims = spec.rpartition(": ")[2].removeprefix("bool -> ").replace("*", "").split()
    return f"({', '.join(dims)}{',' if len(dims) == 1 else ''})"


def dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
