"""What crosses the wall, and that nothing but an error for garbage comes of garbage."""

from __future__ import annotations

import json
import random
import struct

import pytest
import safetensors.torch
import torch

from proctor.inside.frames import Garbage, clean, from_json
from proctor.inside.protocol import DTYPES, MAX_HEADER, decode, encode

TENSORS = {
    "float32": torch.randn(2, 3, 5),
    "float64": torch.tensor([float("nan"), float("inf"), -0.0], dtype=torch.float64),
    "bfloat16": torch.randn(7).bfloat16(),
    "float16": torch.randn(3, 1).half(),
    "int64": torch.tensor(-(2**62)),
    "uint8": torch.arange(11, dtype=torch.uint8),
    "bool": torch.tensor([[True, False], [False, True]]),
    "empty": torch.empty(0, 4),
}


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0))


def blob(header: object, body: bytes = b"") -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + body


def entry(dtype: object = "F32", shape: object = (2,), offsets: object = (0, 8)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def twice(name: str, first: dict[str, object], second: dict[str, object], body: bytes) -> bytes:
    """A header in which a name occurs twice."""
    return blob(f'{{"{name}": {json.dumps(first)}, "{name}": {json.dumps(second)}}}'.encode(), body)


def test_tensors_and_note_come_back():
    tensors, note = decode(encode(TENSORS, {"probe": "causal", "raised": None, "umlaut": "ü"}))
    assert note == {"probe": "causal", "raised": None, "umlaut": "ü"}
    assert tensors.keys() == TENSORS.keys()
    assert all(same(tensors[name], TENSORS[name]) for name in TENSORS)


def test_what_we_write_is_safetensors_format():
    theirs = safetensors.torch.load(encode(TENSORS))
    assert all(same(theirs[name], TENSORS[name]) for name in TENSORS)


def test_what_safetensors_writes_can_be_read():
    ours, note = decode(safetensors.torch.save(TENSORS))
    assert note is None
    assert all(same(ours[name], TENSORS[name]) for name in TENSORS)


def test_strided_and_non_contiguous_tensors_are_written_as_they_look():
    transposed = torch.arange(6.0).reshape(2, 3).T
    (read,) = decode(encode({"x": transposed}))[0].values()
    assert torch.equal(read, transposed)


def test_a_dtype_without_a_place_is_refused_by_name():
    with pytest.raises(TypeError, match=r"^x has dtype torch.complex64, which a result cannot have$"):
        encode({"x": torch.zeros(2, dtype=torch.complex64)})


def test_a_bool_is_a_bool_whatever_byte_it_was():
    (read,) = decode(blob({"x": entry("BOOL", [3], [0, 3])}, bytes([0, 1, 255])))[0].values()
    assert read.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("w_q.weight", "w_q.weight"),
        ("Gewichte für α", "Gewichte für α"),
        ("a\0b\x1b[31m\n\tc\u2028\u202ed\ud800", "a�b�[31m��c��d?"),
        ("x" * 30_000, "x" * 99 + "…"),
    ],
)
def test_names_are_short_and_printable(name: str, read: str):
    tensors, _ = decode(blob({name: entry()}, bytes(8)))
    assert list(tensors) == [read]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "shorter than a header's length"),
        (struct.pack("<Q", 2**63), "the header is longer than allowed"),
        (struct.pack("<Q", 100) + b"{}", "the header is longer than allowed"),
        (blob(b" " * (MAX_HEADER + 1)), "the header is longer than allowed"),
        (blob(b"[" * 60_000), "not JSON: RecursionError"),
        (blob(b"\xff\xfe"), "not JSON: UnicodeDecodeError"),
        (blob([1]), "not a JSON object"),
        (blob({"__metadata__": {"format": "pt"}}), "unknown metadata"),
        (blob({"__metadata__": {"note": "{"}}), "the note is not JSON"),
        (blob({"__metadata__": {"note": 5}}), "the note is not JSON"),
        (blob({str(i): entry("F32", [0], [0, 0]) for i in range(257)}), "too many tensors"),
        (blob({"a\n": entry("F32", [0], [0, 0]), "a\t": entry("F32", [0], [0, 0])}), "two tensors have one name"),
        (blob({"x": 5}), "a tensor has exactly a dtype, a shape and offsets"),
        (blob({"x": entry("C64")}), "unknown dtype"),
        (blob({"x": entry(["F32"])}), "unknown dtype"),
        (blob({"x": entry(shape=[1] * 9)}), "a shape is a list of at most 8 sizes"),
        (blob({"x": entry(shape="2")}), "a shape is a list of at most 8 sizes"),
        (blob({"x": entry(shape=[-1])}), "a number is out of range"),
        (blob({"x": entry(shape=[True])}), "a number is out of range"),
        (blob({"x": entry(shape=[2.0])}), "a number is out of range"),
        (blob({"x": entry(shape=[0, 2**31, 2**31])}), "a tensor has too many elements"),
        (blob({"x": entry(offsets=[0])}), "offsets are two numbers"),
        (blob({"x": entry(offsets=[8, 0])}), "a tensor's bytes do not fit its shape"),
        (blob({"x": entry(offsets=[0, 12])}, bytes(12)), "a tensor's bytes do not fit its shape"),
        (blob({"x": entry()}, bytes(7)), "the tensors do not follow each other without gaps"),
        (blob({"x": entry(offsets=[4, 12])}, bytes(12)), "the tensors do not follow each other without gaps"),
        (blob({"x": entry(), "y": entry()}, bytes(8)), "the tensors do not follow each other without gaps"),
        (twice("x", entry(), entry(offsets=[8, 16]), bytes(16)), "the tensors do not follow each other without gaps"),
        (twice("x", entry(offsets=[8, 16]), entry(), bytes(16)), "bytes are left over after the tensors"),
        (blob({"x": entry()}, bytes(9)), "bytes are left over after the tensors"),
    ],
)
def test_garbage_is_refused(data, message):
    with pytest.raises(Garbage) as caught:
        decode(data)
    assert str(caught.value) == message


def test_mutated_blobs_give_tensors_or_garbage_and_nothing_else():
    chance = random.Random(0)
    whole = encode({"a": torch.randn(3, 4), "b": torch.tensor([1, 2]), "c": torch.tensor(True)}, {"probe": "x"})
    for _ in range(4000):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 5, 20))):
            where = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[where] = chance.randrange(256)
                case 1:
                    del data[where : where + chance.randrange(9)]
                case 2:
                    data[where:where] = bytes(chance.randrange(256) for _ in range(chance.randrange(9)))
                case 3:
                    data[where : where + 1] = chance.choice((b'"', b"{", b"[", b"9", b"-", b"e", b":", b",", b"0"))
            data = data or bytearray(b"x")
        try:
            tensors, _ = decode(bytes(data))
        except Garbage:
            continue
        assert all(tensor.dtype in DTYPES.values() for tensor in tensors.values())


def test_text_is_made_printable_and_short():
    assert clean("a\x1b[2Jb\x00\r\nc\td\ud800", 100) == "a\N{REPLACEMENT CHARACTER}[2Jb\N{REPLACEMENT CHARACTER}\nc\td?"
    assert clean("x" * 50, 10) == "x" * 9 + "…"
    with pytest.raises(Garbage, match=r"^text expected$"):
        clean(5, 10)


def test_json_is_an_object_or_garbage():
    assert from_json(b'{"a": [1]}') == {"a": [1]}
    for data in (b"", b"[]", b"nul", b'{"a": 1', b"9" * 5000):
        with pytest.raises(Garbage):
            from_json(data)
