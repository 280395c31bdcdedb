"""A file of tensors that somebody handed in: a right one is read, any other is refused in a sentence."""

from __future__ import annotations

import contextlib
import io
import json
import math
import pickle
import random
import struct
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest
import safetensors.torch
import torch

from proctor.examining.tensor_file import LARGEST, LONGEST_HEADER, BadFile, Shape, Weights, read_tensors, write_tensors


def layout(metadata: Mapping[str, str]) -> dict[str, Shape]:
    if metadata.get("rows") not in ("2", "3"):
        raise BadFile("It does not say how many rows.")
    return {"table": (int(metadata["rows"]), 5), "line": (7,)}


def weights(**changes: Any) -> Weights:
    tensors = {"table": torch.arange(10.0).reshape(2, 5), "line": -torch.arange(7.0)}
    return Weights({k: t for k, t in (tensors | changes).items() if t is not None}, {"rows": "2"})


RIGHT = write_tensors(weights())


def packed(header: Any, body: bytes = bytes(68)) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def entry(shape: list[int], begin: Any, end: Any, dtype: Any = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def header(**changes: Any) -> dict[str, Any]:
    entries = {"__metadata__": {"rows": "2"}, "table": entry([2, 5], 0, 40), "line": entry([7], 40, 68)}
    return {name: value for name, value in (entries | changes).items() if value is not None}


def test_what_is_written_is_read_here_and_by_the_formats_own_reader() -> None:
    found = read_tensors(RIGHT, layout)
    theirs = safetensors.torch.load(RIGHT)
    for name, tensor in weights().tensors.items():
        assert torch.equal(found.tensors[name], tensor)
        assert torch.equal(theirs[name], tensor)
    assert found.metadata == {"rows": "2"}


def test_what_the_formats_own_writer_wrote_is_read() -> None:
    content = safetensors.torch.save(dict(weights().tensors), metadata={"rows": "2", "by": "them"})
    found = read_tensors(content, layout)
    assert torch.equal(found.tensors["table"], weights().tensors["table"])
    assert torch.equal(found.tensors["line"], weights().tensors["line"])


def test_a_tensor_that_is_a_view_is_written_as_it_is_seen() -> None:
    turned = torch.arange(10.0).reshape(5, 2).t()
    assert torch.equal(read_tensors(write_tensors(weights(table=turned)), layout).tensors["table"], turned)


def zipped() -> bytes:
    stream = io.BytesIO()
    torch.save(dict(weights().tensors), stream)
    return stream.getvalue()


def bomb() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data", bytes(50 * 2**20))
    return stream.getvalue()


class Runs:
    """What a pickle can do to whoever reads it."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("the pickle was run",))


REFUSED = {
    "empty": (b"", "too short"),
    "seven bytes": (bytes(7), "too short"),
    "a pickle": (pickle.dumps(Runs()), "It is a pickle, which could run any code when it is read."),
    "torch.save": (zipped(), "It is a zip archive, as `torch.save` writes it"),
    "a zip bomb": (bomb(), "It is a zip archive"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), "no file of safetensors' format"),
    "cut in the header": (RIGHT[:60], "It was cut off: it ends within its header."),
    "cut in a tensor": (RIGHT[:-4], "It was cut off: it ends before its last tensor does."),
    "more behind": (RIGHT + b"more", "There are 4 bytes after the last tensor that belong to none."),
    "too large": (RIGHT + bytes(LARGEST + 2**20), "It has 5.0 MB; at most 4 MB are read."),
    "a header without end": (struct.pack("<Q", 2**63) + bytes(100), "more than 64 kB"),
    "a long header": (packed(b" " * (LONGEST_HEADER + 1)), "more than 64 kB"),
    "no JSON": (packed(b"{table}"), "its header is not JSON"),
    "no text": (packed(b"\xff\xfe\x00"), "its header is not JSON"),
    "a list": (packed([1, 2]), "its header is not a JSON object"),
    "deep JSON": (packed(b"[" * 60_000), "its header is not JSON"),
    "a huge number": (packed(b'{"table": ' + b"9" * 60_000 + b"}"), "its header is not JSON"),
    "a name twice": (packed(b'{"line": 1, "line": 2}'), "Its header has a name twice."),
    "metadata of numbers": (packed(header(__metadata__={"rows": 2})), "something that is not a text"),
    "metadata that are a list": (packed(header(__metadata__=["rows"])), "not a list of at most 64 texts"),
    "no metadata": (packed(header(__metadata__=None)), "It does not say how many rows."),
    "many tensors": (packed({f"t{i}": 0 for i in range(300)}), "lists 300 tensors; at most 256"),
    "no entry": (packed(header(line=7)), "exactly a dtype, a shape and two offsets for `line`"),
    "an entry more": (packed(header(line=entry([7], 40, 68) | {"more": 1})), "exactly a dtype, a shape"),
    "offsets of text": (packed(header(line=entry([7], "40", 68))), "no lists of numbers"),
    "offsets below 0": (packed(header(line=entry([7], -28, 0))), "no lists of numbers"),
    "offsets of truth": (packed(header(line=entry([7], True, 68))), "no lists of numbers"),
    "fewer bytes": (packed(header(line=entry([7], 40, 64))), "more or fewer bytes than its shape has"),
    "overlapping": (packed(header(line=entry([7], 0, 28))), "overlap with those of another tensor"),
    "a gap": (packed(header(line=entry([7], 44, 72)), bytes(72)), "bytes before `line` that belong to no tensor"),
    "far behind": (packed(header(line=entry([7], 10**15, 10**15 + 28))), "bytes before `line`"),
}


@pytest.mark.parametrize(("content", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_such_file_is_refused_in_a_sentence(content: bytes, sentence: str) -> None:
    with pytest.raises(BadFile) as refusal:
        read_tensors(content, layout)
    assert sentence in str(refusal.value)
    assert refusal.value.mistake == ""


MISTAKES = {
    "a name missing": (weights(line=None), "tensor_missing", "The tensor `line` is missing."),
    "another name": (
        weights(line=None, lines=torch.zeros(7)),
        "tensor_missing",
        "The tensor `line` is missing; it has `lines`, which is not asked for.",
    ),
    "one too many": (weights(more=torch.zeros(1)), "tensor_surplus", "The tensor `more` is not asked for."),
    "turned": (weights(table=torch.zeros(5, 2)), "tensor_misshapen", "`table` has shape (5, 2), expected (2, 5)."),
    "halves": (weights(line=torch.zeros(7).half()), "tensor_of_another_dtype", "`line` is float16, expected float32."),
    "doubles": (weights(line=torch.zeros(7).double()), "tensor_of_another_dtype", "`line` is float64"),
    "NaN": (weights(line=torch.full((7,), math.nan)), "not_finite", "`line` has 7 of 7 entries that are NaN or inf"),
    "infinite": (
        weights(table=torch.tensor([[1.0, math.inf, 0, 0, 0], [0, 0, -math.inf, 0, 0]])),
        "not_finite",
        "`table` has 2 of 10 entries that are NaN or infinite.",
    ),
}


@pytest.mark.parametrize(("wrong", "mistake", "sentence"), MISTAKES.values(), ids=MISTAKES.keys())
def test_which_tensor_it_is_is_said(wrong: Weights, mistake: str, sentence: str) -> None:
    with pytest.raises(BadFile) as refusal:
        read_tensors(write_tensors(wrong), layout)
    assert refusal.value.mistake == mistake
    assert sentence in str(refusal.value)


def test_an_unknown_dtype_and_a_hostile_name_are_told_in_plain_words() -> None:
    with pytest.raises(BadFile, match="`line` is no float32, expected float32"):
        read_tensors(packed(header(line=entry([7], 40, 68, dtype={"F": 8}))), layout)
    name = "`\x1b[2J\n" + "x" * 500
    with pytest.raises(BadFile) as refusal:
        read_tensors(packed(header(**{name: entry([7], 40, 68)})), layout)
    assert "\x1b" not in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 200


def test_a_shape_without_end_makes_a_short_sentence() -> None:
    with pytest.raises(BadFile) as refusal:
        read_tensors(packed(header(line=entry([10**9] * 2000, 40, 68))), layout)
    assert str(refusal.value) == "`line` has shape (…), expected (7,)."


def test_no_bytes_at_all_do_harm() -> None:
    """Files that are damaged at random are read or refused, and nothing else happens."""
    chance = random.Random(5)
    for _ in range(3000):
        content = bytearray(RIGHT)
        for _ in range(chance.randint(1, 6)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        cut = content[: chance.randrange(len(content))] if chance.random() < 0.2 else content
        with contextlib.suppress(BadFile):
            found = read_tensors(bytes(cut), layout)
            assert all(tensor.isfinite().all() for tensor in found.tensors.values())
