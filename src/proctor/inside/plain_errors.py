"""What an error of torch's means, in one clause: which two things did not fit.

torch speaks to whoever knows it well: "non-singleton dimension", "c10::Half". Each pattern here is of a message of the
version that the course is tested with, and the test makes torch raise it. A message that is not known is left alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

Clause = Callable[[re.Match[str]], str]
DTYPES = {
    "Float": "float32", "float": "float32", "Double": "float64", "double": "float64",
    "Half": "float16", "c10::Half": "float16", "BFloat16": "bfloat16", "c10::BFloat16": "bfloat16",
    "Long": "int64", "long int": "int64", "Int": "int32", "int": "int32", "Bool": "bool", "bool": "bool",
}  # fmt: skip


def shape(sizes: str) -> str:
    """`2, 3` as `(2, 3)`, and `3` as `(3,)`."""
    found = re.findall(r"-?\d+", sizes)
    return f"({', '.join(found)}{',' if len(found) == 1 else ''})"


def dtype(name: str) -> str:
    return DTYPES.get(name, name)


def dimensions_of(found: re.Match[str]) -> str:
    last, asked = int(found[2]), found[3]
    count = last + 1
    there = "one dimension, 0 (or -1)" if count == 1 else f"{count} dimensions, 0 to {last} (or {found[1]} to -1)"
    return f"The tensor has {there}, and dimension {asked} is asked for."


def entries_of(found: re.Match[str]) -> str:
    sizes = [int(size) for size in re.findall(r"-?\d+", found[1])]
    if min(sizes, default=0) < 0:
        known = math.prod(size for size in sizes if size >= 0)
        why = f"{found[2]} is no multiple of {known}"
        return f"{found[2]} entries cannot be arranged in the shape {shape(found[1])}: {why}."
    product = 1
    for size in sizes:
        product *= size
    return f"The tensor has {found[2]} entries, and the shape {shape(found[1])} takes {product}."


def inner_sizes(found: re.Match[str]) -> str:
    return (
        f"In a product of matrices ({found[1]}, {found[2]}) and ({found[3]}, {found[4]}) the last size of the first, "
        f"{found[2]}, has to equal the first size of the second, {found[3]}."
    )


def two_dtypes(found: re.Match[str]) -> str:
    return (
        f"Tensors of two dtypes meet, {dtype(found[1])} and {dtype(found[2])}: give a tensor that you make the dtype "
        "of the inputs."
    )


OWN_DEVICE = "Give a tensor that you make the device of the inputs."
CLAUSES: tuple[tuple[str, Clause], ...] = (
    (
        r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)",
        lambda m: f"Sizes {m[1]} and {m[2]} meet in dimension {m[3]}: they have to be equal, or one of them 1.",
    ),
    (r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", inner_sizes),
    (
        r"Expected size for first two dimensions of batch2 tensor to be: \[(.*?)\] but got: \[(.*?)\]",
        lambda m: (
            "In this product of batches of matrices the second factor has to begin with the sizes "
            f"{shape(m[1])}, the batch and the last size of the first; it begins with {shape(m[2])}."
        ),
    ),
    (r"shape '\[(.*?)\]' is invalid for input of size (\d+)", entries_of),
    (
        r"The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\).*Target sizes: \[(.*?)\]\."
        r"\s+Tensor sizes: \[(.*?)\]",
        lambda m: (
            f"A tensor of shape {shape(m[4])} cannot be stretched to {shape(m[3])}: {m[2]} is neither {m[1]} nor 1."
        ),
    ),
    (
        r"Sizes of tensors must match except in dimension (\d+)\. Expected (?:size )?(\d+)(?: in dimension \d+)? but "
        r"got (?:size )?(\d+)",
        lambda m: (
            f"Tensors that are joined along dimension {m[1]} need equal sizes in the others: {m[2]} is not {m[3]}."
        ),
    ),
    (
        r"stack expects each tensor to be equal size, but got \[(.*?)\] at entry \d+ and \[(.*?)\]",
        lambda m: f"Tensors that are stacked need one shape: {shape(m[1])} is not {shape(m[2])}.",
    ),
    (
        r"einsum\(\): (?:subscript|operands do not broadcast).*?(\w) has size (\d+) .*?size (\d+)",
        lambda m: f"The letter {m[1]} stands for two sizes, {m[3]} and {m[2]}.",
    ),
    (
        r"view size is not compatible with input tensor's size and stride",
        lambda m: "`view` needs entries that lie in memory in this order, and after a transpose they do not.",
    ),
    (
        r"value cannot be converted to type (c10::\w+|at::\w+) without overflow",
        lambda m: (
            f"A number of yours is too large for {dtype(m[1].replace('at::', 'c10::'))}. Where it is to hide a score, "
            "-inf does so in every dtype."
        ),
    ),
    (r"(?:have the same dtype|same data type).*?(?:got:? |: )(\w[\w ]*?) (?:and|!=) (\w[\w ]*)", two_dtypes),
    (r"expected scalar type (\w+) but found (\w+)", two_dtypes),
    (
        r"Torch not compiled with CUDA enabled|Found no NVIDIA driver",
        lambda m: f"There is no GPU here, and none is needed. {OWN_DEVICE}",
    ),
    (
        r"Expected all tensors to be on the same device|is on \w+, but expected|on different devices?|"
        r"is not on the expected device",
        lambda m: f"Tensors of two devices meet. {OWN_DEVICE}",
    ),
    (
        r"Boolean value of Tensor with more than one value is ambiguous",
        lambda m: "An `if`, `while`, `and`, `or` or `not` asks a tensor of several entries for one yes or no.",
    ),
    (
        r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)",
        lambda m: f"Dimension {m[2]} has {m[3]} entries, counted from 0, and number {m[1]} is asked for.",
    ),
    (r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)", dimensions_of),
    (
        r"selected index k out of range",
        lambda m: "The k largest are asked for along a dimension that has fewer than k entries.",
    ),
    (
        r"upper bound and (?:larger|lower) bound inconsistent with step sign",
        lambda m: "A range that counts up ends before it begins: its first number is larger than its end.",
    ),
    (
        r"batch[12] must be a 3D tensor",
        lambda m: "`bmm` multiplies tensors of exactly three dimensions; `@` takes any number of leading ones.",
    ),
    (
        r"too many indices for tensor of dimension (\d+)",
        lambda m: (
            f"The tensor has {m[1]} dimension{'' if m[1] == '1' else 's'}, and more indices stand in the brackets."
        ),
    ),
    (
        r"too many values to unpack \(expected (\d+)\)",
        lambda m: f"{m[1]} names stand on the left of the `=`, and more values came.",
    ),
    (
        r"not enough values to unpack \(expected (?:at least )?(\d+), got (\d+)\)",
        lambda m: f"{m[1]} names stand on the left of the `=`, and {m[2]} came.",
    ),
    (
        r"a leaf Variable that requires grad is being used in an in-place operation",
        lambda m: "You write into an input, of which a gradient is asked: compute a new tensor instead.",
    ),
    (
        r"modified by an inplace operation",
        lambda m: "You write into a tensor that the gradient still needs as it was: compute a new one instead.",
    ),
    (
        r"a Tensor with (\d+) elements cannot be converted to Scalar|only one element tensors can be converted",
        lambda m: f"One number is taken out of a tensor that has {m[1] or 'several'} entries.",
    ),
    (
        r"Can't call numpy\(\) on Tensor that requires grad",
        lambda m: "numpy knows nothing of gradients: torch has the same functions.",
    ),
    (
        r'" not implemented for \'(\w+)\'',
        lambda m: f"torch cannot do this with numbers of the dtype {dtype(m[1])}.",
    ),
)
PATTERNS = tuple((re.compile(pattern, re.DOTALL), clause) for pattern, clause in CLAUSES)


def in_plain_words(message: str) -> str:
    """What a message of torch's or Python's means, as a sentence; empty if that is not known."""
    for pattern, clause in PATTERNS:
        if found := pattern.search(message):
            return clause(found)
    return ""
