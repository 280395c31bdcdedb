"""The exercise `cache_bytes`."""

from __future__ import annotations

from typing import Any

import torch

from proctor import Exercise
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.cost import (
    cache_bytes,
)

exercise = Exercise(
    cache_bytes,
    section="The cache",
    minutes=5,
    difficulty=1,
    why="While a model writes, this number decides how long the text and how large the batch may be.",
    hints=[
        "How many numbers does one position leave in the cache of one layer? Keys and values both.",
        "Each group has a key and a value of the width of one head: d_model / n_heads.",
        "`dtype.itemsize` says how many bytes a number of that dtype takes.",
    ],
)


def model_sizes() -> tuple[int, ...]:
    """Layers, heads, groups, d_model, length: heads a multiple of groups, d_model of heads."""
    layers, groups, share, d_head, length = distinct(2, 12, 5, seed="sizes")
    return layers, groups * share, groups, groups * share * d_head, length


@exercise.probe
def one_sequence(cache_bytes: Any) -> Seen:
    """one sequence, nothing said of batch and dtype"""
    return {"bytes": cache_bytes(*model_sizes())}


@exercise.probe
def a_batch_of_them(cache_bytes: Any) -> Seen:
    """a batch in float32, float64, bfloat16 and int8"""
    batch = whole(2, 9, seed="batch")
    kinds = torch.float32, torch.float64, torch.bfloat16, torch.int8
    return {f"bytes in {str(kind)[6:]}": cache_bytes(*model_sizes(), batch, kind) for kind in kinds}


@exercise.probe
def by_name(cache_bytes: Any) -> Seen:
    """arguments by name; every head its own group, and all of them one group"""
    layers, heads, _, d_model, length = model_sizes()
    sizes = {"n_layers": layers, "n_heads": heads, "d_model": d_model, "length": length}
    return {
        "own": cache_bytes(**sizes, n_groups=heads, dtype=torch.float32),
        "shared": cache_bytes(**sizes, n_groups=1, batch=whole(2, 9, seed="batch")),
    }


@exercise.probe
def a_large_model(cache_bytes: Any) -> Seen:
    """a model with 64 heads of width 128, and a long text"""
    length = whole(100_000, 200_000, seed="length")
    return {"bytes": cache_bytes(80, 64, 8, 8192, length, batch=whole(2, 33, seed="batch"))}


exercise.property(repeats(one_sequence, a_batch_of_them))


@exercise.property
def nothing_remembered(cache_bytes: Any) -> Seen:
    """a text of no position

    Nothing is remembered of a text of length 0: it takes 0 bytes.
    """
    return {"bytes": cache_bytes(3, 6, 2, 12, 0)}


def keys_and_values() -> int:
    return 2


def groups_kept(n_heads: int, n_groups: int) -> Any:
    return n_groups


def width_of_a_head(d_model: int, n_heads: int, n_groups: int) -> Any:
    return d_model // n_heads


def bytes_each(dtype: torch.dtype) -> Any:
    return dtype.itemsize


@exercise.assembled
def bytes_in_steps(
    n_layers: int,
    n_heads: int,
    n_groups: int,
    d_model: int,
    length: int,
    batch: int = 1,
    dtype: torch.dtype = torch.float16,
    *,
    of_what: Any = keys_and_values,
    copies: Any = groups_kept,
    width: Any = width_of_a_head,
    size: Any = bytes_each,
    positions: Any = lambda length: length,
    layers: Any = lambda n_layers: n_layers,
    sequences: Any = lambda batch: batch,
) -> Any:
    numbers = of_what() * layers(n_layers) * sequences(batch) * positions(length)
    return numbers * copies(n_heads, n_groups) * width(d_model, n_heads, n_groups) * size(dtype)


@exercise.instead_of("of_what")
def keys_alone() -> int:
    """You count keys or values, not both.

    A position leaves two vectors for each group: a key to be found by, and a value to be read.
    """
    return 1


@exercise.instead_of("of_what")
def queries_too() -> int:
    """You count the queries as well.

    A query asks once, when its position is new. Nobody needs it again.
    """
    return 3


@exercise.instead_of("copies")
def every_head_counted(n_heads: int, n_groups: int) -> int:
    """You count keys and values for every head; groups save nothing then.

    Only the groups have keys and values of their own.
    """
    return n_heads


@exercise.instead_of("copies")
def heads_of_a_group(n_heads: int, n_groups: int) -> int:
    """You multiply by the heads for each group, where the number of groups should stand.

    Fewer groups make the cache smaller.
    """
    return n_heads // n_groups


@exercise.instead_of("width")
def width_of_the_model(d_model: int, n_heads: int, n_groups: int) -> int:
    """You take each group to be as wide as the model.

    A group is as wide as one head: d_model / n_heads.
    """
    return d_model


@exercise.instead_of("width")
def a_point_in_the_number(d_model: int, n_heads: int, n_groups: int) -> float:
    """You return a float; a `/` is the usual reason.

    Bytes are counted in whole numbers: use `//`.
    """
    return d_model / n_heads


@exercise.instead_of("size")
def two_bytes_always(dtype: torch.dtype) -> int:
    """You take 2 bytes for each number, whatever `dtype` says.

    That is right for float16 and bfloat16. float32 takes 4.
    """
    return 2


@exercise.instead_of("size")
def numbers_counted(dtype: torch.dtype) -> int:
    """You count numbers, not bytes.

    `dtype.itemsize` says how many bytes each takes.
    """
    return 1


@exercise.instead_of("size")
def bits_counted(dtype: torch.dtype) -> int:
    """You count bits.

    A byte has eight of them; float16 takes two bytes.
    """
    return 8 * dtype.itemsize


@exercise.instead_of("positions")
def one_position(length: int) -> int:
    """You count one position; the length has no effect.

    Every earlier position stays in the cache: it grows with the text.
    """
    return 1


@exercise.instead_of("layers")
def one_layer(n_layers: int) -> int:
    """You count one layer.

    Every layer has keys and values of its own.
    """
    return 1


@exercise.instead_of("sequences")
def one_sequence_alone(batch: int) -> int:
    """You count one sequence, whatever `batch` says.

    Sequences do not share what they remember.
    """
    return 1


@exercise.misconception
def float32_unless_said(
    n_layers: int,
    n_heads: int,
    n_groups: int,
    d_model: int,
    length: int,
    batch: int = 1,
    dtype: torch.dtype = torch.float32,
) -> int:
    """Unless a dtype is given, you count float32.

    The default of `dtype` is float16, which is what caches are kept in.
    """
    return cache_bytes(n_layers, n_heads, n_groups, d_model, length, batch, dtype)
