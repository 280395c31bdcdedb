"""QKV: the Transformer from scratch. In a notebook: `from qkv import check, hint, status, device`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["check", "device", "figures", "hand_in", "hint", "reset", "skip", "status"]

if TYPE_CHECKING:
    from qkv import figures
    from qkv.notebook.checking import check, hint, status
    from qkv.notebook.hand_in import hand_in
    from qkv.notebook.machine import device
    from qkv.notebook.skipping import reset, skip


def __getattr__(name: str) -> Any:  # so that `qkv --help` does not wait for torch
    import importlib

    if name == "figures":
        return importlib.import_module("qkv.figures")
    if name in ("skip", "reset"):
        return getattr(importlib.import_module("qkv.notebook.skipping"), name)
    if name == "hand_in":
        return importlib.import_module("qkv.notebook.hand_in").hand_in
    if name == "device":
        return importlib.import_module("qkv.notebook.machine").device
    if name == "check":
        importlib.import_module("qkv.notebook.setup").setup_notebook()
    if name in __all__:
        return getattr(importlib.import_module("qkv.notebook.checking"), name)
    raise AttributeError(f"module 'qkv' has no attribute {name!r}; it offers {', '.join(__all__)}")
