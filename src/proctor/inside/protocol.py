"""Tensors as they cross the wall, in safetensors' format. No pickle comes out.

The writing half runs next to student code, so what it writes is as hostile as the submission. The reading half runs in
the trusted process and guarantees: nothing but `Garbage` (a ValueError) is raised for any bytes at all, and what it
returns is plain tensors with short printable names.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

import torch
from torch import Tensor

from proctor.inside.frames import Garbage, from_json, one_line, to_json

MAX_HEADER = 64 * 1024
MAX_TENSORS = 256
MAX_NAME = 100  # characters of a tensor's name
MAX_DIMS = 8
MAX_ELEMENTS = 1 << 32

DTYPES: dict[str, torch.dtype] = {
    "F64": torch.float64,
    "I64": torch.int64,
    "F32": torch.float32,
    "I32": torch.int32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_CODES = {dtype: code for code, dtype in DTYPES.items()}


def encode(tensors: Mapping[str, Tensor], note: Any = None) -> bytes:
    """Tensors and a JSON note, if there is one, as bytes in safetensors' format.

    Raises:
        TypeError: for a dtype that has no place in the format.
    """
    entries = [] if note is None else [f'"__metadata__":{{"note":{quoted(to_json(note).decode("ascii"))}}}']
    parts: list[bytes] = []
    offset = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        code = _CODES.get(tensor.dtype)
        if code is None:
            raise TypeError(f"{name} has dtype {tensor.dtype}, which a result cannot have")
        raw = tensor.view(torch.int16) if tensor.dtype is torch.bfloat16 else tensor  # which numpy does not know
        data = raw.numpy().tobytes()
        # written out by hand, since that takes half as long as a JSON encoder
        entries.append(
            f'{quoted(name)}:{{"dtype":"{code}","shape":{list(tensor.shape)},'
            f'"data_offsets":[{offset},{offset + len(data)}]}}'
        )
        parts.append(data)
        offset += len(data)
    header = f"{{{','.join(entries)}}}".encode("ascii")
    header += b" " * (-len(header) % 8)
    return b"".join([struct.pack("<Q", len(header)), header, *parts])


_ENTRY = {"dtype", "shape", "data_offsets"}


def _whole(value: object, high: int) -> int:
    """Validate a whole number from 0 to `high`; booleans are refused."""
    if type(value) is not int or not 0 <= value <= high:
        raise Garbage("a number is out of range")
    return value


def _extent(entry: object) -> tuple[torch.dtype, list[int], int, int]:
    """dtype, shape, first and last byte of one tensor, each checked against the others."""
    if not isinstance(entry, dict) or entry.keys() != _ENTRY:
        raise Garbage("a tensor has exactly a dtype, a shape and offsets")
    code, sizes, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(code, str) or code not in DTYPES:
        raise Garbage("unknown dtype")
    if not isinstance(sizes, list) or len(sizes) > MAX_DIMS:
        raise Garbage(f"a shape is a list of at most {MAX_DIMS} sizes")
    if not isinstance(offsets, list) or len(offsets) != 2:
        raise Garbage("offsets are two numbers")
    elements = room = 1  # room: as if no size were 0, so that none hides the others
    for size in sizes:
        elements *= _whole(size, MAX_ELEMENTS)
        room *= size or 1
    if room > MAX_ELEMENTS:
        raise Garbage("a tensor has too many elements")
    begin, end = _whole(offsets[0], 1 << 40), _whole(offsets[1], 1 << 40)
    dtype = DTYPES[code]
    if end - begin != elements * dtype.itemsize:
        raise Garbage("a tensor's bytes do not fit its shape")
    return dtype, sizes, begin, end


def tensor_of(data: memoryview, dtype: torch.dtype, sizes: Sequence[int]) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(sizes) if data else torch.empty(sizes, dtype=dtype)


def decode(data: bytes, max_header: int = MAX_HEADER, max_tensors: int = MAX_TENSORS) -> tuple[dict[str, Tensor], Any]:
    """The tensors and the note that `encode` packed, with every number checked.

    Raises:
        Garbage: for anything that is not exactly what `encode` could have written.
    """
    if len(data) < 8:
        raise Garbage("shorter than a header's length")
    (length,) = struct.unpack_from("<Q", data)
    if length > max_header or length > len(data) - 8:
        raise Garbage("the header is longer than allowed")
    header = from_json(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or set(metadata) - {"note"}:
        raise Garbage("unknown metadata")
    if len(header) > max_tensors:
        raise Garbage("too many tensors")
    entries = sorted(((_extent(entry), name) for name, entry in header.items()), key=lambda item: item[0][2:])
    body = memoryview(data)[8 + length :]
    position = 0
    tensors: dict[str, Tensor] = {}
    for (dtype, sizes, begin, end), given in entries:
        if (name := one_line(given, MAX_NAME)) in tensors:
            raise Garbage("two tensors have one name")
        if begin != position or end > len(body):
            raise Garbage("the tensors do not follow each other without gaps")
        position = end
        if dtype is torch.bool:  # any byte but 0 is True; none but 0 and 1 may get into a tensor
            tensors[name] = tensor_of(body[begin:end], torch.uint8, sizes) != 0
        else:
            tensors[name] = tensor_of(body[begin:end], dtype, sizes)
    if position != len(body):
        raise Garbage("bytes are left over after the tensors")
    try:
        note = json.loads(metadata["note"]) if metadata else None
    except (ValueError, RecursionError, TypeError):
        raise Garbage("the note is not JSON") from None
    return tensors, note


def flat(draws: Mapping[str, Mapping[str, Tensor]]) -> tuple[dict[str, Tensor], dict[str, list[str]]]:
    """Inputs by exercise and key under one number each, and what the numbers stand for."""
    found = [(exercise, key, tensor) for exercise, table in draws.items() for key, tensor in table.items()]
    names = {str(i): [exercise, key] for i, (exercise, key, _) in enumerate(found)}
    return {str(i): tensor for i, (_, _, tensor) in enumerate(found)}, names


def nested(tensors: Mapping[str, Tensor], names: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Tensor]]:
    """The inverse of `flat`: inputs by exercise and key."""
    table: dict[str, dict[str, Tensor]] = {}
    for number, (exercise, key) in names.items():
        table.setdefault(exercise, {})[key] = tensors[number]
    return table
