"""torch's meta device, on which probes see tensors made on the wrong device: its own kernels answer where it has them.

Importing torch puts a Python version in front of each, for tracers that need symbolic sizes. For plain sizes both do
the same; torch's own are many times faster, and a child need not touch the pages of all that Python. For a few that
answers are full of torch has no other version, and its Python imports sympy, which takes half as long as torch: those
stand here (`SHORT`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

# no kernels of their own, but torch composes them of others that work here; answers are full of them
COMPOSED = {"_unsafe_view", "empty_like", "logsumexp", "logsumexp.out", "masked_fill.Scalar", "masked_fill.Tensor"}


def _absolute(x: Tensor) -> Tensor:
    return torch.empty_like(x.real if x.is_complex() else x)


def _variance_and_mean(x: Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    mean = x.mean(dim, keepdim)
    return torch.empty_like(mean), mean


def _normalised_rows(x: Tensor, shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    of_a_row = [*x.shape[: x.dim() - len(shape)], *(1 for _ in shape)]
    if list(x.shape[x.dim() - len(shape) :]) != list(shape) or any(
        p is not None and p.shape != x.shape[-len(shape) :] for p in (weight, bias)
    ):
        raise ValueError("torch says this better")
    return torch.empty_like(x), x.new_empty(of_a_row), x.new_empty(of_a_row)


SHORT: dict[str, Callable[..., Any]] = {
    "abs": _absolute,
    "native_layer_norm": _normalised_rows,
    "var_mean.correction": _variance_and_mean,
}


def _shortened(short: Callable[..., Any], long: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The shape of a result; whatever is wrong, torch's version puts it into words."""
    try:
        return short(*args, **options)
    except Exception:
        return long(*args, **options)


_kept: list[torch.library.Library] = []  # what a library registers goes when it goes


def prefer_kernels() -> None:
    """Take the Python versions away, but for operators that have no other. Another torch may not let us: no harm."""
    if _kept:
        return
    with contextlib.suppress(AttributeError, KeyError):
        python = torch._meta_registrations._meta_lib_dont_use_me_use_register_meta
        names = {key.split("/")[1] for key in python._op_impls}  # "aten/add.Tensor/Meta"
        versions = [(name, *_version(name)) for name in names - COMPOSED]  # before anything changes
        own = torch._C._dispatch_has_kernel_for_dispatch_key
        library = torch.library.Library("aten", "IMPL", "Meta")
        python._destroy()
        _kept.append(library)
        for name, operator, function in versions:
            if not own(operator.name(), "Meta"):
                library.impl(operator, partial(_shortened, SHORT[name], function) if name in SHORT else function)


def _version(name: str) -> tuple[Any, Any]:
    """An operator by its name in torch's registry ("add.Tensor", "relu"), and its Python version."""
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
    return operator, operator.py_kernels[torch._C.DispatchKey.Meta]
