"""A checkpoint's folder as `transformers` writes it: config.json and model.safetensors, looked at before it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

Shape = tuple[int, ...]
FLOATING = ("F64", "F32", "F16", "BF16")


class CheckpointError(ValueError):
    """A checkpoint that can't be loaded; the message is one sentence that says why."""


class Config:
    """config.json, of which every value that is used is looked at."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    @classmethod
    def read(cls, folder: Path) -> Config:
        path = folder / "config.json"
        if not path.is_file():
            raise CheckpointError(f"{folder} has no config.json, which says what the model is.")
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise CheckpointError(f"{path} is not JSON: {error}.") from None
        if not isinstance(values, dict):
            raise CheckpointError(f"{path} holds a {type(values).__name__}, expected an object with named values.")
        return cls(values)

    def size(self, name: str, default: int | None = None) -> int:
        """A positive integer; None in the file means the default."""
        value = self.values.get(name)
        value = default if value is None else value
        if value is None:
            raise CheckpointError(f"config.json does not say {name}.")
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise CheckpointError(f"config.json says {name} = {value!r}, expected a positive integer.")
        return value

    def number(self, name: str, default: float) -> float:
        value = self.values.get(name, default)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise CheckpointError(f"config.json says {name} = {value!r}, expected a number.")
        return float(value)

    def one_of(self, name: str, choices: Mapping[str, Any], default: str) -> Any:
        """What stands in `choices` under the word that the file says."""
        word = self.values.get(name, default)
        if word not in choices:
            raise CheckpointError(f"config.json says {name} = {word!r}, expected {words(choices)}.")
        return choices[word]

    def always(self, name: str, value: Any) -> None:
        """Refuse a variant of the model that our module does not have."""
        found = self.values.get(name, value)
        if found != value:
            raise CheckpointError(f"config.json says {name} = {found!r}; our module has {value!r} only.")

    def sizes_divide(self, whole: str, part: str) -> None:
        total, each = self.size(whole), self.size(part)
        if total % each:
            raise CheckpointError(f"config.json says {whole} = {total} and {part} = {each}, which does not divide it.")


class Tensors:
    """model.safetensors: names and shapes at once, numbers one tensor at a time.

    Args:
        folder: where the file is.
        rename: gives the name that we know a tensor by; files differ in prefixes and in old spellings.
    """

    def __init__(self, folder: Path, rename: Callable[[str], str]) -> None:
        try:
            from safetensors import SafetensorError, safe_open
        except ImportError:
            raise CheckpointError(
                "to read model.safetensors, safetensors is needed: pip install 'qkv-course[pretrained]'."
            ) from None
        path = folder / "model.safetensors"
        if not path.is_file():
            raise CheckpointError(missing_file(folder))
        try:
            self.file = safe_open(path, "pt")
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{path} can't be read: {error}.") from None
        self.theirs = {rename(name): name for name in self.file.keys()}  # noqa: SIM118 (no dictionary)

    def shape(self, name: str) -> Shape:
        return tuple(self.file.get_slice(self.theirs[name]).get_shape())

    def dtype(self, name: str) -> str:
        return str(self.file.get_slice(self.theirs[name]).get_dtype())

    def read(self, name: str) -> Tensor:
        """The numbers, in float32 whatever the file has."""
        return self.file.get_tensor(self.theirs[name]).to(torch.float32)  # type: ignore[no-any-return]


def missing_file(folder: Path) -> str:
    if (folder / "model.safetensors.index.json").is_file():
        return f"{folder} holds a model in several files; we read those that fit into one model.safetensors."
    if (folder / "pytorch_model.bin").is_file():
        return f"{folder} has pytorch_model.bin, a pickle, which may run any code; we read model.safetensors only."
    return f"{folder} has no model.safetensors, which holds the weights."


def compare(tensors: Tensors, expected: Mapping[str, Shape], unused: str) -> None:
    """Refuse a file in which a tensor is missing, surplus, of another shape, or not floating.

    Args:
        tensors: the file.
        expected: the shape of every tensor that is needed.
        unused: a pattern of tensors that may be there and are not needed.
    """
    missing = [name for name in expected if name not in tensors.theirs]
    if missing:
        raise CheckpointError(f"model.safetensors has no tensor {missing[0]}{and_more(missing)}.")
    surplus = [name for name in tensors.theirs if name not in expected and not re.fullmatch(unused, name)]
    if surplus:
        raise CheckpointError(
            f"model.safetensors has a tensor {surplus[0]}{and_more(surplus)} that this model has no place for."
        )
    for name, shape in expected.items():
        if tensors.shape(name) != shape:
            raise CheckpointError(f"{name} has shape {tensors.shape(name)}, expected {shape} by config.json.")
        if tensors.dtype(name) not in FLOATING:
            raise CheckpointError(f"{name} is {tensors.dtype(name)}, expected one of {', '.join(FLOATING)}.")


def and_more(names: list[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def words(choices: Mapping[str, Any]) -> str:
    *first, last = map(repr, choices)
    return f"{', '.join(first)} or {last}" if first else last
