"""Refuse bad input before it becomes a confusing error, and keep that out of the teaching code.

    @expects(q="... query d_k", k="... key d_k", mask="bool -> ... query key")

A name stands for a size; the same name has the same size everywhere in the call, and in every call of a module the size
that it was built with. `...` stands for any leading dimensions, the same in every argument. A size is not 0 unless its
name ends in `*`. An argument that is None is not looked at. Kinds of argument:

    "... seq d"              a floating tensor of that shape
    "int: batch seq"         an int64 tensor
    "bool: batch seq"        a bool tensor of that shape
    "bool -> ... query key"  a bool tensor that broadcasts to that shape; its names are bound by earlier arguments
    "positive"               an integer ≥ 1
    "size"                   an integer ≥ 0
    "even"                   an even integer ≥ 2
    "divides d"              a positive integer that divides a size, or another argument
    "above 0"                a number above 0, whole or not, or a tensor () that holds one
    "needs query = key"      a bool; if it is True, the two sizes are equal
    ("... n", "... d")       a tuple or list of as many tensors, each of its kind

In a shape `group/head` is the size group, which divides the size head.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor, nn

F = TypeVar("F", bound=Callable[..., Any])
Shape = tuple[int, ...]

INTEGERS: dict[str, tuple[Callable[[int], bool], str]] = {
    "positive": (lambda n: n >= 1, "a positive integer"),
    "size": (lambda n: n >= 0, "an integer that is not negative"),
    "even": (lambda n: n >= 2 and n % 2 == 0, "a positive even integer"),
}


class Bound(NamedTuple):
    """What a name stands for in this call, and the words that say why."""

    size: Any  # int; a tuple for `...`
    why: str


Spec = str | tuple[str, ...]
MOST = 10_000  # calls that a function remembers


def expects(**specs: Spec) -> Callable[[F], F]:
    """Check the named arguments of a function or method against their specs on every call.

    A training makes the same call thousands of times. So a function remembers of each call that was in order what the
    checks looked at, and a call that looks the same is not checked again.
    """

    def decorate(function: F) -> F:
        arguments = Arguments(function)
        unknown = set(specs) - set(arguments.signature.parameters)
        if unknown:
            raise TypeError(f"{function.__name__} has no argument {', '.join(sorted(unknown))}")
        owner = function.__qualname__.removesuffix(".forward").removesuffix(".__init__").rpartition(".")[2]
        builds = function.__name__ == "__init__"
        in_order: set[tuple[Any, ...]] = set()

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            try:
                given = arguments.of(args, kwargs)
            except TypeError:
                return function(*args, **kwargs)  # Python's own words: which argument of which function is missing
            numbers = {name: value for name, value in given.items() if is_integer(value)}
            module = args[0] if args and isinstance(args[0], nn.Module) else None
            built = {} if builds else getattr(module, "_built_with", {})
            looks = (
                *[looked_at(given[name], spec) for name, spec in specs.items()],
                tuple(numbers.items()),
                tuple(built.items()),
            )
            if looks not in in_order:
                bound = {name: Bound(size, "which it was built with") for name, size in built.items()}
                bound |= {name: Bound(value, f"as the argument {name} says") for name, value in numbers.items()}
                call = Call(owner, bound)
                for name, spec in specs.items():
                    if given[name] is not None:
                        call.check(name, given[name], spec)
                if len(in_order) < MOST:
                    in_order.add(looks)
            result = function(*args, **kwargs)
            if module is not None and builds:
                module._built_with = numbers  # type: ignore[assignment]
            return result

        return cast(F, checked)

    return decorate


class Arguments:
    """The arguments of a function: which of them has which value in a call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.signature = inspect.signature(function)
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        named = [p for p in self.signature.parameters.values() if p.kind not in several]
        self.names = {p.name for p in named}
        self.in_order = [p.name for p in named if p.kind is not p.KEYWORD_ONLY]
        self.defaults = {p.name: p.default for p in named if p.default is not p.empty}

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Name -> value; TypeError if Python would refuse the call."""
        given = self.defaults | dict(zip(self.in_order, args, strict=False)) | kwargs
        all_named = len(args) <= len(self.in_order) and given.keys() == self.names
        if all_named and kwargs.keys().isdisjoint(self.in_order[: len(args)]):
            return given
        bound = self.signature.bind(*args, **kwargs)  # can do this for every call, in ten times the time
        bound.apply_defaults()
        return bound.arguments


def looked_at(value: Any, spec: Spec) -> Any:
    """All that a check of this spec asks of a value: two values with the same are both in order, or neither is."""
    if isinstance(spec, tuple):
        both = isinstance(value, tuple | list) and len(value) == len(spec)
        return tuple(map(looked_at, value, spec)) if both else type(value)
    if spec.startswith("needs "):
        return bool(value)
    if isinstance(value, Tensor):
        return looked_at(value.item(), spec) if spec == "above 0" and value.dim() == 0 else (value.shape, value.dtype)
    return (type(value), value) if isinstance(value, int | float) else type(value)


class Call:
    """The checks of one call. `bound` grows from argument to argument."""

    def __init__(self, owner: str, bound: dict[str, Bound]) -> None:
        self.owner = owner
        self.bound = bound

    def check(self, name: str, value: Any, spec: Spec) -> None:
        if isinstance(spec, tuple):
            self.several(name, value, spec)
        elif spec in INTEGERS:
            self.integer(name, value, spec)
        elif spec == "above 0":
            self.above_zero(name, value)
        elif spec.startswith("needs "):
            self.equal_sizes(name, value, *spec.removeprefix("needs ").split(" = "))
        elif spec.startswith("divides "):
            self.divisor(name, value, spec.removeprefix("divides "))
        elif not isinstance(value, Tensor):
            raise TypeError(
                f"{self.owner}: {name} is a {type(value).__name__}, expected a tensor of shape {shown(spec)}."
            )
        elif spec.startswith("bool -> "):
            self.mask(name, value, spec.removeprefix("bool -> "))
        elif spec.startswith("int: "):
            if value.dtype != torch.int64:
                raise TypeError(
                    f"{self.owner}: {name} is {dtype(value)}, expected int64 (token ids, positions, lengths). "
                    f"Use {name}.long()."
                )
            self.shape(name, value, spec.removeprefix("int: "))
        elif spec.startswith("bool: "):
            if value.dtype != torch.bool:
                raise TypeError(f"{self.owner}: {name} is {dtype(value)}, expected bool. Use {name} != 0.")
            self.shape(name, value, spec.removeprefix("bool: "))
        else:
            if not value.is_floating_point():
                raise TypeError(
                    f"{self.owner}: {name} is {dtype(value)}, expected a floating dtype. Use {name}.float()."
                )
            self.shape(name, value, spec)

    def integer(self, name: str, value: Any, kind: str) -> None:
        accepts, words = INTEGERS[kind]
        if not is_integer(value) or not accepts(value):
            raise ValueError(f"{self.owner}: {name} is {value!r}, expected {words}.")

    def above_zero(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and value.dim() == 0:
            value = value.item()
        if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:  # NaN is not above 0 either
            came = f"a {type(value).__name__}" if isinstance(value, Tensor) else repr(value)
            raise ValueError(f"{self.owner}: {name} is {came}, expected a number above 0.")

    def equal_sizes(self, name: str, value: Any, one: str, other: str) -> None:
        sizes = self.bound[one].size, self.bound[other].size
        if value and sizes[0] != sizes[1]:
            raise ValueError(
                f"{self.owner}: {name} is {value}, which needs {one} = {other}; "
                f"here {one} is {sizes[0]} and {other} is {sizes[1]}."
            )

    def several(self, name: str, value: Any, specs: tuple[str, ...]) -> None:
        if not isinstance(value, tuple | list):
            raise TypeError(
                f"{self.owner}: {name} is a {type(value).__name__}, expected a tuple of {len(specs)} tensors."
            )
        if len(value) != len(specs):
            raise ValueError(f"{self.owner}: {name} holds {len(value)}, expected a tuple of {len(specs)} tensors.")
        for i, (item, spec) in enumerate(zip(value, specs, strict=True)):
            self.check(f"{name}[{i}]", item, spec)

    def divisor(self, name: str, value: Any, divided: str) -> None:
        self.integer(name, value, "positive")
        self.divides(f"{name} is {value}", value, divided)

    def divides(self, said: str, value: int, divided: str) -> None:
        whole = self.bound[divided].size
        if whole % value:
            choices = ", ".join(str(n) for n in range(1, min(whole, 64) + 1) if whole % n == 0)
            raise ValueError(f"{self.owner}: {said}, which does not divide {divided} = {whole}. Use one of {choices}.")

    def shape(self, name: str, value: Tensor, spec: str) -> None:
        shape, dims = tuple(value.shape), spec.split()
        found: list[tuple[str, Any]] = []
        if dims[0] == "...":
            dims = dims[1:]
            leading = len(shape) - len(dims)
            found, fits, count = [("...", shape[: max(leading, 0)])], leading >= 0, f"at least {len(dims)}"
        else:
            leading, fits, count = 0, len(shape) == len(dims), str(len(dims))
        if not fits:
            noun = "dimension" if len(dims) == 1 else "dimensions"
            raise ValueError(f"{self.owner}: {name} has shape {shape}, expected {count} {noun}: {shown(spec)}.")
        for dim, size in [*found, *zip(dims, shape[leading:], strict=True)]:
            self.bind(name, shape, dim, size, spec)

    def bind(self, name: str, shape: Shape, dim: str, size: Any, spec: str) -> None:
        """Let a name stand for this size, or refuse a size that contradicts what it stands for already."""
        label, _, whole = dim.rstrip("*").partition("/")
        if size == 0 and not dim.endswith("*"):
            raise ValueError(
                f"{self.owner}: {name} has shape {shape}, so {label} is 0. "
                f"Expected {shown(spec)} with at least one entry in each."
            )
        if whole:
            self.divides(f"{name} has shape {shape}, so {label} is {size}", size, whole)
        known = self.bound.setdefault(label, Bound(size, f"as {name} has it"))
        if known.size != size:
            what = "leading dimensions" if label == "..." else label
            raise ValueError(
                f"{self.owner}: {name} has shape {shape}, so {what} = {size}; "
                f"expected {what} = {known.size}, {known.why}. {name} is {shown(spec)}."
            )

    def mask(self, name: str, value: Tensor, spec: str) -> None:
        if value.dtype != torch.bool:
            raise TypeError(
                f'{self.owner}: {name} is {dtype(value)}, expected bool, where True means "may attend". '
                f'Use {name} != 0, or {name} == 0 if your zeros mean "allowed".'
            )
        target: Shape = ()
        for dim in spec.split():
            size = self.bound[dim].size
            target += size if dim == "..." else (size,)
        try:
            fits = torch.broadcast_shapes(value.shape, target) == torch.Size(target)
        except RuntimeError:
            fits = False
        if not fits:
            raise ValueError(
                f"{self.owner}: {name} has shape {tuple(value.shape)}, "
                f"which does not broadcast to {shown(spec)} = {target}."
            )


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def shown(spec: str) -> str:
    """A spec as people write shapes: `(..., query, d_k)`."""
    sizes = re.sub("^(int: |bool: |bool -> )", "", spec)
    dims = [dim.rstrip("*").partition("/")[0] for dim in sizes.split()]
    return f"({', '.join(dims)}{',' if len(dims) == 1 else ''})"


def dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
