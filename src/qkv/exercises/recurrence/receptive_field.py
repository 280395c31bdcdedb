"""The exercise `receptive_field`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from proctor import Exercise
from proctor.inside.inputs import distinct
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.recurrence import (
    receptive_field,
)

ZIP = "layers = zip(kernel_sizes, dilations"


exercise = Exercise(
    receptive_field,
    section="How far a convolution sees",
    minutes=10,
    difficulty=2,
    why="It says how many layers of convolution a distance costs; attention takes one.",
    hints=[
        "One layer with a kernel of 3 sees 3 inputs. How many more does a second such layer add?",
        "A layer adds the distance between its first and its last tap.",
        "With dilation r the taps are r apart, so a kernel of k spans (k - 1)·r.",
    ],
    equivalents={
        f"{ZIP}, strict=True)  ->  {ZIP}{rest}": "both lists have a number for each layer"
        for rest in (")", ", strict=False)")
    },
)


# Each probe asks about several stacks: sums of small numbers are soon equal by chance, four of them are not.
def seen_by(receptive_field: Any, stacks: list[tuple[list[int], list[int]]]) -> Seen:
    return {f"kernels {k}, dilations {d}": receptive_field(list(k), list(d)) for k, d in stacks}


@exercise.probe
def plain_layers(receptive_field: Any) -> Seen:
    """stacks of three and four layers without dilation"""
    stacks = [(distinct(2, 30, 3 + i % 2, seed=f"kernels {i}"), [1] * (3 + i % 2)) for i in range(4)]
    return seen_by(receptive_field, stacks)


@exercise.probe
def doubling_dilations(receptive_field: Any) -> Seen:
    """layers of one kernel whose dilations double"""
    depths, kernels = distinct(2, 9, 3, seed="depths"), distinct(2, 9, 3, seed="kernel")
    stacks = [([k] * n, [2**i for i in range(n)]) for n, k in zip(depths, kernels, strict=True)]
    return seen_by(receptive_field, stacks)


@exercise.probe
def mixed(receptive_field: Any) -> Seen:
    """kernels and dilations drawn at random"""
    stacks = [(distinct(2, 20, 5, seed=f"k {i}"), distinct(2, 20, 5, seed=f"d {i}")) for i in range(3)]
    return seen_by(receptive_field, stacks)


@exercise.probe
def no_layer_and_one(receptive_field: Any) -> Seen:
    """no layer at all, and one layer"""
    one = [([k], [d]) for k, d in zip(distinct(2, 30, 3, seed="k"), distinct(2, 30, 3, seed="d"), strict=True)]
    return seen_by(receptive_field, [([], []), *one])


@exercise.probe
def kernels_of_one(receptive_field: Any) -> Seen:
    """layers with a kernel of 1, which widen nothing, and lists given as tuples"""
    a, b, c = distinct(2, 30, 3, seed="sizes")
    found = seen_by(receptive_field, [([1], [a]), ([1, b, 1], [c, a, b]), ([a, 1], [b, c])])
    return {**found, "tuples": receptive_field((a, c), (b, 1))}


exercise.property(repeats(plain_layers, mixed))


@exercise.misconception
def kernels_multiplied(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You multiply the kernel sizes.

    That is how strides work. At stride 1 neighbouring outputs see almost the same inputs, and the widths add up.
    """
    return math.prod(kernel_sizes)


@exercise.misconception
def kernels_added(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You add the whole kernels: each layer counts one input too many.

    A layer with kernel k reaches k - 1 inputs beyond the one below.
    """
    return sum(k * d for k, d in zip(kernel_sizes, dilations, strict=True))


@exercise.misconception
def dilations_ignored(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You ignore the dilations.

    Taps that lie further apart see further, at the same cost: that is what dilation is for.
    """
    return 1 + sum(k - 1 for k in kernel_sizes)


@exercise.misconception
def without_itself(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You count the reach, not the inputs: one too few.

    Even without a layer an output sees one input, its own.
    """
    return receptive_field(kernel_sizes, dilations) - 1


@exercise.misconception
def dilated_kernel_minus_one(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You subtract 1 after dilating: k·r - 1.

    A kernel of k has k - 1 gaps, each r wide: (k - 1)·r.
    """
    return 1 + sum(k * d - 1 for k, d in zip(kernel_sizes, dilations, strict=True))


@exercise.misconception
def widest_layer_only(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You count the widest layer alone.

    Layers stand on each other: each widens what the one below has gathered.
    """
    return 1 + max(((k - 1) * d for k, d in zip(kernel_sizes, dilations, strict=True)), default=0)


@exercise.misconception
def dilations_for_strides(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You count as if dilations were strides: each layer's step is multiplied by the ones below.

    A stride thins out what the next layer gets, so steps multiply. A dilation spreads the taps of its own layer only.
    """
    seen, jump = 1, 1
    for kernel, dilation in zip(kernel_sizes, dilations, strict=True):
        seen, jump = seen + (kernel - 1) * jump, jump * dilation
    return seen


@exercise.misconception
def itself_in_every_layer(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You count the output's own input once for each layer.

    It is one input, however many layers look at it: 1 plus what the layers add.
    """
    return len(kernel_sizes) + sum((k - 1) * d for k, d in zip(kernel_sizes, dilations, strict=True))


@exercise.misconception
def inputs_skipped(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You take the dilation for the number of inputs that are skipped between two taps.

    It is the distance between them: 1 means that the taps are neighbours, and nothing is skipped.
    """
    return 1 + sum((k - 1) * (d + 1) for k, d in zip(kernel_sizes, dilations, strict=True))


@exercise.misconception
def half_a_kernel_on_each_side(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You let a kernel reach k // 2 inputs to each side.

    That is right for odd kernels. An even one spans k - 1 gaps like any other, an odd number.
    """
    return 1 + 2 * sum(k // 2 * d for k, d in zip(kernel_sizes, dilations, strict=True))


@exercise.misconception
def first_kernel_for_all(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You count every layer with the kernel of the first.

    Each layer has a kernel of its own. Go through both lists together.
    """
    return receptive_field([kernel_sizes[0] for _ in kernel_sizes], dilations)


@exercise.misconception
def first_layer_undilated(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You begin with the kernel of the first layer, and leave out its dilation.

    The first layer's taps lie apart as well: begin with 1, the output's own input, and let every layer add its reach.
    """
    return receptive_field(kernel_sizes, [1, *dilations[1:]])
