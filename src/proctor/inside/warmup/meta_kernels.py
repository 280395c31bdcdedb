"""torch's meta device, on which probes see tensors made on the wrong device: its own kernels answer where it has them.

Importing torch puts a Python version in front of each, for tracers that need symbolic sizes. For plain sizes both do
the same; torch's own are many times faster, and a child need not touch the pages of all that Python.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

# no kernels of their own, but torch composes them of others that work here; answers are full of them
COMPOSED = {"_unsafe_view", "empty_like", "logsumexp", "masked_fill.Scalar", "masked_fill.Tensor"}

_kept: list[torch.library.Library] = []  # what a library registers goes when it goes


def prefer_kernels() -> None:
    """Take the Python versions away, but for operators that have no other. Another torch may not let us: no harm."""
    if _kept:
        return
    with contextlib.suppress(AttributeError, KeyError):
        python = torch._meta_registrations._meta_lib_dont_use_me_use_register_meta
        names = {key.split("/")[1] for key in python._op_impls}  # "aten/add.Tensor/Meta"
        versions = [
            _version(name) for name in names - COMPOSED
        ]  # all that is needed afterwards, before anything changes
        own = torch._C._dispatch_has_kernel_for_dispatch_key
        library = torch.library.Library("aten", "IMPL", "Meta")
        python._destroy()
        _kept.append(library)
        for operator, function in versions:
            if not own(operator.name(), "Meta"):
                library.impl(operator, function)


def _version(name: str) -> tuple[Any, Any]:
    """An operator by its name in torch's registry ("add.Tensor", "relu"), and its Python version."""
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
    return operator, operator.py_kernels[torch._C.DispatchKey.Meta]
