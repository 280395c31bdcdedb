"""The exercise `path_length`."""

from __future__ import annotations

import math
from typing import Any

from proctor import Exercise
from proctor.examining.usual_mistakes import ignores
from proctor.inside.inputs import distinct
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.recurrence import (
    path_length,
)

exercise = Exercise(
    path_length,
    section="How far a signal travels",
    minutes=15,
    difficulty=2,
    why="A column of the paper's first table, computed: how many steps lie between two words.",
    hints=[
        "From the first of five positions to the last: how many times does an RNN pass its state on?",
        "In attention every position looks at every other directly.",
        "A convolution of width k moves a signal by k - 1 positions a layer; a layer cannot be half used.",
    ],
)


@exercise.probe
def recurrent_path(path_length: Any) -> Seen:
    """an RNN over 1, 2 and more positions"""
    return {f"of {n}": path_length("rnn", n) for n in (1, 2, *distinct(3, 200, 3, seed="rnn"))}


@exercise.probe
def direct_path(path_length: Any) -> Seen:
    """attention beside an RNN, over the same positions"""
    lengths = distinct(3, 200, 3, seed="attention")
    found = {f"attention, of {n}": path_length("attention", n) for n in (2, *lengths)}
    return {**found, **{f"rnn, of {n}": path_length("rnn", n) for n in lengths}}


@exercise.probe
def convolutional_path(path_length: Any) -> Seen:
    """convolutions that reach the last position exactly, just so, and not quite"""
    found: Seen = {}
    kernels, layers = distinct(4, 20, 3, seed="kernels"), distinct(3, 30, 3, seed="layers")
    for kernel, full in zip(kernels, layers, strict=True):
        reached = 1 + full * (kernel - 1)  # positions that `full` layers connect
        for n in (reached - 1, reached, reached + 1):
            found[f"width {kernel} over {n}"] = path_length("cnn", n, kernel=kernel)
    return found


@exercise.probe
def narrow_and_short(path_length: Any) -> Seen:
    """convolutions of width 2, over few positions, and wider than the sequence; the width given by position"""
    a, b, c = distinct(4, 60, 3, seed="n")
    cases = [(a, 2), (b, 2), (1, c), (2, c), (c, c), (c + 1, c), (c, 2 * c)]
    return {f"width {kernel} over {n}": path_length("cnn", n, kernel) for n, kernel in cases}


@exercise.probe
def any_length(path_length: Any) -> Seen:
    """lengths and kernels drawn at random"""
    found: Seen = {}
    for n, kernel in zip(distinct(20, 200, 3, seed="n"), distinct(3, 12, 3, seed="kernel"), strict=True):
        found |= {f"rnn of {n}": path_length("rnn", n), f"cnn of {n}, {kernel}": path_length("cnn", n, kernel)}
    return found


exercise.property(repeats(recurrent_path, direct_path))


@exercise.misconception
def positions_counted(architecture: str, n: int, kernel: int | None = None) -> int:
    """You count the positions of the RNN, not the steps between them.

    From the first of n positions to the last there are n - 1 steps.
    """
    return n if architecture == "rnn" else path_length(architecture, n, kernel)


@exercise.misconception
def whole_kernels(architecture: str, n: int, kernel: int | None = None) -> int:
    """You let a convolution move a signal by its whole width.

    A kernel of width k covers k positions; from its first to its last tap it is k - 1.
    """
    return math.ceil((n - 1) / (kernel or 1)) if architecture == "cnn" else path_length(architecture, n, kernel)


@exercise.misconception
def rounded_down(architecture: str, n: int, kernel: int | None = None) -> int:
    """You round the number of layers down.

    With one layer too few the last position does not see the first. Round up.
    """
    return (n - 1) // ((kernel or 2) - 1) if architecture == "cnn" else path_length(architecture, n, kernel)


@exercise.misconception
def one_layer_too_many(architecture: str, n: int, kernel: int | None = None) -> int:
    """Your convolution takes a layer too many where the layers fit exactly.

    Between n positions lie n - 1 gaps, and rounding up adds a layer only if something is left over: dividing n, or
    rounding down and adding 1, is too much by one.
    """
    return math.ceil(n / ((kernel or 2) - 1)) if architecture == "cnn" else path_length(architecture, n, kernel)


@exercise.misconception
def logarithmic(architecture: str, n: int, kernel: int | None = None) -> int:
    """You count as if each layer multiplied its reach, which takes dilations that grow as powers of k.

    Without dilation each layer adds k - 1, so the number of layers grows with n, not with its logarithm.
    """
    return math.ceil(math.log(n, kernel or 2)) if architecture == "cnn" else path_length(architecture, n, kernel)


@exercise.misconception
def attention_through_all(architecture: str, n: int, kernel: int | None = None) -> int:
    """You let attention pass through all positions.

    It computes n² scores, but each of them connects two positions directly: one step.
    """
    return n - 1 if architecture == "attention" else path_length(architecture, n, kernel)


@exercise.misconception
def attention_as_a_tree(architecture: str, n: int, kernel: int | None = None) -> int:
    """You let attention double its reach from layer to layer.

    No position has to wait for another to pass something on: every pair is connected in one step.
    """
    return math.ceil(math.log2(n)) if architecture == "attention" else path_length(architecture, n, kernel)


@exercise.misconception
def half_a_kernel_at_a_time(architecture: str, n: int, kernel: int | None = None) -> int:
    """You let a convolution move a signal by half its width, as one that looks to both sides does.

    These are causal: all taps lie in the past, and the farthest is k - 1 steps away.
    """
    if architecture != "cnn":
        return path_length(architecture, n, kernel)
    return math.ceil((n - 1) / max((kernel or 2) // 2, 1))


@exercise.misconception
def one_position_per_layer(architecture: str, n: int, kernel: int | None = None) -> int:
    """You let a convolution move a signal by one position in each layer, whatever its width.

    That is a kernel of width 2. A wider one reaches further back: its farthest tap is k - 1 steps away.
    """
    return n - 1 if architecture == "cnn" else path_length(architecture, n, kernel)


@exercise.misconception
def recurrent_in_one_step(architecture: str, n: int, kernel: int | None = None) -> int:
    """You count the layers of the RNN, not its steps: one layer, one step.

    Inside that layer a signal is handed on from position to position, and each of these is a step of its way.
    """
    return 1 if architecture == "rnn" else path_length(architecture, n, kernel)


@exercise.misconception
def attention_over_all_positions(architecture: str, n: int, kernel: int | None = None) -> int:
    """You count n steps for attention: as many as there are positions.

    A query is compared with all n positions, but at once: each of them is one step away.
    """
    return n if architecture == "attention" else path_length(architecture, n, kernel)


@exercise.misconception
def one_step_for_everything(architecture: str, n: int, kernel: int | None = None) -> int:
    """You answer 1 whatever the architecture is.

    That is right for attention. If you tell them apart, see whether your comparisons are ever true: the names are
    "rnn", "attention" and "cnn", in small letters.
    """
    return 1


@exercise.misconception
def at_least_one_layer(architecture: str, n: int, kernel: int | None = None) -> int:
    """Your convolution takes a layer even for a single position.

    The first position is then the last: there is nothing to cross, and 0 layers do it.
    """
    return (
        max(path_length(architecture, n, kernel), 1) if architecture == "cnn" else path_length(architecture, n, kernel)
    )


ignores(exercise, "kernel")
