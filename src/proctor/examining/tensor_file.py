"""Tensors in a file of safetensors' format that somebody handed in: written for a student, read with distrust.

The format has a length (8 bytes), a header in JSON (name -> dtype, shape, first and last byte; `__metadata__` holds
texts) and the bytes of all tensors. Nothing in it can run. What the header says is still not believed: it is bounded,
and compared with the list of what is expected before a single tensor is made. For any bytes at all, nothing but
`BadFile` is raised, with a sentence for the author of the file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor

from proctor.inside.frames import Garbage, one_line
from proctor.inside.protocol import DTYPES

MB = 2**20
LARGEST = 4 * MB  # bytes of a file
LONGEST_HEADER = 64 * 1024  # bytes
MOST_TENSORS = 256
MOST_TEXTS = 64  # in the metadata
LONGEST_NAME = 80  # characters of a name that are shown
METADATA = "__metadata__"
ENTRY = {"dtype", "shape", "data_offsets"}

Shape = tuple[int, ...]
Layout = Callable[[Mapping[str, str]], Mapping[str, Shape]]


class BadFile(ValueError):
    """An unacceptable file: a sentence with the reason, and a mistake's name where its author can fix it."""

    def __init__(self, sentence: str, mistake: str = "") -> None:
        super().__init__(sentence)
        self.mistake = mistake


@dataclass(frozen=True)
class Weights:
    """The content of a file: finite float32 tensors by name, and the metadata's texts."""

    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]


def write_tensors(weights: Weights) -> bytes:
    """The bytes of a file that `read_tensors` and every other reader of the format accepts."""
    entries: dict[str, Any] = {METADATA: dict(weights.metadata)}
    codes = {dtype: code for code, dtype in DTYPES.items()}
    parts: list[bytes] = []
    position = 0
    for name, tensor in weights.tensors.items():
        data = tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
        ends = [position, position + len(data)]
        entries[name] = {"dtype": codes[tensor.dtype], "shape": list(tensor.shape), "data_offsets": ends}
        parts.append(data)
        position += len(data)
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    return b"".join([struct.pack("<Q", len(header)), header, *parts])


def read_tensors(content: bytes, layout: Layout) -> Weights:
    """The tensors of a file, which are exactly those that are expected.

    Args:
        content: the file.
        layout: gives the name and shape of every tensor for what the metadata say; raises `BadFile` if that is nothing
            that can be asked for.

    Raises:
        BadFile: for any other file.
    """
    header, body = halves(content)
    metadata = texts(header.pop(METADATA, {}))
    if len(header) > MOST_TENSORS:
        raise BadFile(f"Its header lists {len(header)} tensors; at most {MOST_TENSORS} are read.")
    expected = layout(metadata)
    compare_names(header, expected)
    extents = {name: extent(name, header[name], shape) for name, shape in expected.items()}
    follow_each_other(extents, len(body))
    tensors = {name: tensor_of(body[slice(*extents[name])], shape) for name, shape in expected.items()}
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            wrong = int((~tensor.isfinite()).sum())
            raise BadFile(
                f"`{name}` has {wrong} of {tensor.numel()} entries that are NaN or infinite.", mistake="not_finite"
            )
    return Weights(tensors, metadata)


def halves(content: bytes) -> tuple[dict[str, Any], memoryview]:
    """The header as a JSON object, and the bytes after it."""
    if len(content) > LARGEST:
        raise BadFile(f"It has {len(content) / MB:.1f} MB; at most {LARGEST // MB} MB are read.")
    if len(content) < 8:
        raise BadFile("It is too short for a file of safetensors' format: it ends before its header.")
    (length,) = struct.unpack_from("<Q", content)
    if length > LONGEST_HEADER or length > len(content) - 8:
        raise BadFile(what_else(content, length))
    try:
        header = json.loads(content[8 : 8 + length].decode("utf-8"), object_pairs_hook=without_repetition)
    except BadFile:
        raise
    except (ValueError, RecursionError):
        raise BadFile("It is no file of safetensors' format: its header is not JSON.") from None
    if not isinstance(header, dict):
        raise BadFile("It is no file of safetensors' format: its header is not a JSON object.")
    return header, memoryview(content)[8 + length :]


def what_else(content: bytes, length: int) -> str:
    """A guess, for the message, at the kind of file whose first bytes are no header length."""
    if content.startswith(b"PK"):
        return "It is a zip archive, as `torch.save` writes it, with a pickle inside that could run any code."
    if content.startswith(b"\x80"):
        return "It is a pickle, which could run any code when it is read."
    if length <= LONGEST_HEADER:
        return "It was cut off: it ends within its header."
    return f"It is no file of safetensors' format, or its header has more than {LONGEST_HEADER // 1024} kB."


def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadFile("Its header has a name twice.")
    return found


def texts(metadata: object) -> dict[str, str]:
    if not isinstance(metadata, dict) or len(metadata) > MOST_TEXTS:
        raise BadFile(f"Its metadata are not a list of at most {MOST_TEXTS} texts.")
    if not all(isinstance(text, str) for text in metadata.values()):
        raise BadFile("Its metadata hold something that is not a text.")
    return metadata


def printable_tensor_name(name: str) -> str:
    """A name of theirs, as a sentence can carry it."""
    try:
        return f"`{one_line(name, LONGEST_NAME).replace('`', '´')}`"
    except Garbage:
        return "one without a name"


def compare_names(header: Mapping[str, Any], expected: Mapping[str, Shape]) -> None:
    missing = [name for name in expected if name not in header]
    surplus = [name for name in header if name not in expected]
    if missing:
        instead = f"; it has {printable_tensor_name(surplus[0])}, which is not asked for" if surplus else ""
        sentence = f"The tensor {printable_tensor_name(missing[0])}{and_more(missing)} is missing{instead}."
        raise BadFile(sentence, mistake="tensor_missing")
    if surplus:
        sentence = f"The tensor {printable_tensor_name(surplus[0])}{and_more(surplus)} is not asked for."
        raise BadFile(sentence, mistake="tensor_surplus")


def and_more(names: list[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def extent(name: str, entry: object, expected: Shape) -> tuple[int, int]:
    """First and last byte of one tensor, if it is what is expected."""
    if not isinstance(entry, dict) or entry.keys() != ENTRY:
        raise BadFile(
            f"Its header does not give exactly a dtype, a shape and two offsets for {printable_tensor_name(name)}."
        )
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not (are_numbers(shape) and are_numbers(offsets) and len(offsets) == 2):
        raise BadFile(
            f"Its header gives {printable_tensor_name(name)} a shape or offsets that are no lists of numbers."
        )
    if tuple(shape) != expected:
        sizes = "(…)" if len(shape) > len(expected) + 4 else str(tuple(shape))
        sentence = f"{printable_tensor_name(name)} has shape {one_line(sizes, LONGEST_NAME)}, expected {expected}."
        raise BadFile(sentence, mistake="tensor_misshapen")
    if dtype != "F32":
        known = (
            str(DTYPES[dtype]).removeprefix("torch.") if isinstance(dtype, str) and dtype in DTYPES else "no float32"
        )
        raise BadFile(f"{printable_tensor_name(name)} is {known}, expected float32.", mistake="tensor_of_another_dtype")
    begin, end = offsets
    if end - begin != prod(expected) * torch.float32.itemsize:
        raise BadFile(f"Its header gives {printable_tensor_name(name)} more or fewer bytes than its shape has.")
    return begin, end


def are_numbers(value: object) -> bool:
    """Is this a list of non-negative whole numbers? Booleans do not count as numbers."""
    return isinstance(value, list) and all(type(number) is int and number >= 0 for number in value)


def follow_each_other(extents: Mapping[str, tuple[int, int]], length: int) -> None:
    """Refuse tensors that share bytes, or leave some over."""
    position = 0
    for name, (begin, end) in sorted(extents.items(), key=lambda item: item[1]):
        if begin < position:
            raise BadFile(f"The bytes of {printable_tensor_name(name)} overlap with those of another tensor.")
        if begin > position:
            raise BadFile(f"There are bytes before {printable_tensor_name(name)} that belong to no tensor.")
        position = end
    if position > length:
        raise BadFile("It was cut off: it ends before its last tensor does.")
    if position < length:
        raise BadFile(f"There are {length - position} bytes after the last tensor that belong to none.")


def tensor_of(data: memoryview, shape: Shape) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape)
