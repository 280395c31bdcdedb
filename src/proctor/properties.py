"""Probes that many exercises share, made from a function that gives one set of arguments.

Each maker returns a probe: `exercise.property(keeps_inputs(make))`. For a class, `build` turns it into the callable
that is
looked at, for example `lambda cls: seeded(cls(8, 2))`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

Make = Callable[[], tuple[Any, ...]]
Build = Callable[[Any], Callable[..., Any]]
ProbeFunction = Callable[[Any], Mapping[str, Any]]


def as_is(implementation: Any) -> Callable[..., Any]:
    return implementation


def keeps_inputs(make: Make, build: Build = as_is) -> ProbeFunction:
    """Are the arguments the same after the call as before?"""

    def keeps_inputs(implementation: Any) -> Mapping[str, Any]:
        """inputs that the caller goes on using

        Your code changes a tensor that it was given. The caller still needs it: compute a new one instead of writing
        into it.
        """
        arguments = make()
        build(implementation)(*arguments)
        return {f"argument {i} after the call": a for i, a in enumerate(arguments) if isinstance(a, Tensor)}

    return keeps_inputs


def same_in(dtype: torch.dtype, make: Make, build: Build = as_is) -> ProbeFunction:
    """Does it work in another floating dtype, and give its result in that dtype?"""
    name = str(dtype).removeprefix("torch.")

    def probe(implementation: Any) -> Mapping[str, Any]:
        arguments = [converted(a, dtype) for a in make()]
        function = build(implementation)
        if isinstance(function, nn.Module):
            function = function.to(dtype)
        return named(function(*arguments))

    probe.__name__ = f"in_{name}"
    probe.__doc__ = (
        f"{name} inputs\n\nYour code does not keep the dtype: with {name} inputs the result should be {name} too. "
        "Look for tensors that you make yourself, and for fixed dtypes."
    )
    return probe


def gradients(make: Make, build: Build = as_is) -> ProbeFunction:
    """The gradient in every floating argument, and in every parameter."""

    def gradients(implementation: Any) -> Mapping[str, Any]:
        """the gradients with respect to every input

        The values are right but the gradients are not. Something on the way cuts or bends the graph: `.detach()`,
        `.data`, `float()`, a new tensor.
        """
        arguments = [a.requires_grad_() if is_floating(a) else a for a in make()]
        function = build(implementation)
        leaves = {f"argument {i}": a for i, a in enumerate(arguments) if is_floating(a)}
        if isinstance(function, nn.Module):
            leaves |= dict(function.named_parameters())
        total = sum((weigh(t) for t in named(function(*arguments)).values()), torch.zeros(()))
        found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
        grads = {n: torch.zeros_like(leaves[n]) if g is None else g for n, g in zip(leaves, found, strict=True)}
        return {f"gradient of {name}": grad for name, grad in without_noise(grads).items()}

    return gradients


def other_device(make: Make, build: Build = as_is) -> ProbeFunction:
    """Is every tensor made on the device of the inputs? torch's `meta` device shows it without a GPU."""

    def other_device(implementation: Any) -> Mapping[str, Any]:
        """inputs on another device

        Your code makes a tensor on the CPU whatever the inputs' device is, so it would fail on a GPU. Say
        `device=x.device` where you make it.
        """
        arguments = [a.to("meta") if isinstance(a, Tensor) else a for a in make()]
        function = build(implementation)
        if isinstance(function, nn.Module):
            function = function.to("meta")
        reads = Reads()
        try:
            with reads:
                results = named(function(*arguments))
        except (RuntimeError, NotImplementedError) as error:
            if not (reads.seen or reads_data(error)):
                raise
            return {"on the inputs' device": True}  # reads numbers, which meta does not have; on a GPU it would run
        return {"on the inputs' device": all(t.device.type == "meta" for t in results.values())}

    return other_device


class Reads(TorchFunctionMode):
    """Notes whether a tensor's numbers are taken out into Python."""

    WAYS = frozenset({"tolist", "item", "numpy", "cpu", "__bool__", "__float__", "__int__", "__index__"})

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen = self.seen or getattr(func, "__name__", "") in self.WAYS
        return func(*args, **(kwargs or {}))


def reads_data(error: BaseException) -> bool:
    """Is this torch saying that the result depends on numbers that are not there?"""
    signs = "meta tensors", "Meta tensors", "data-dependent", "data-independent"
    return any(sign in str(error) for sign in signs)


def named(results: Any) -> dict[str, Tensor]:
    """A function's result, or its tuple of results, under names."""
    if isinstance(results, Tensor):
        return {"output": results}
    if isinstance(results, list | tuple):
        return {f"output {i}": r for i, r in enumerate(results)}
    return {"output": results}


def weigh(output: Tensor) -> Tensor:
    """A fixed linear form in which no entry has the weight of another, so that no gradient cancels."""
    weights = torch.cos(torch.arange(1, output.numel() + 1, dtype=torch.float64)).to(output.dtype)
    return (output.flatten() * weights).sum()


def without_noise(grads: dict[str, Tensor]) -> dict[str, Tensor]:
    """Gradients in which what is only rounding beside the largest of them is 0, as the bias of keys has it."""
    loudness = {name: float(g.abs().max()) for name, g in grads.items() if g.numel()}
    loudest = max(loudness.values(), default=0.0)
    return {
        name: torch.zeros_like(g)
        if name in loudness and loudness[name] <= 100 * torch.finfo(g.dtype).eps * loudest
        else g
        for name, g in grads.items()
    }


def is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def converted(value: Any, dtype: torch.dtype) -> Any:
    return value.to(dtype) if is_floating(value) else value
