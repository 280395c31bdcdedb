"""The exercise `delayed_copy`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen, settled
from qkv.model.recurrence import (
    delayed_copy,
)

exercise = Exercise(
    delayed_copy,
    section="A task of pure memory",
    minutes=10,
    difficulty=1,
    why="A task in which nothing but memory helps, so that it measures memory.",
    hints=[
        "Draw the inputs with exactly the call that the docstring gives.",
        "Write inputs 5 6 7 8 and delay 2: what are the targets?",
        "A shift is not a rotation: what falls off at the end is gone, and zeros come in at the front.",
    ],
    equivalents={
        "inputs = torch.randint(1, vocab, size, generator=generator, device=device)"
        "  ->  inputs = torch.randint(1, vocab, size, generator=generator)": ("the probes' generators live on the CPU"),
        "return (inputs, F.pad(inputs, (delay, 0))[:, :length])"
        "  ->  return (inputs, F.pad(inputs, (delay, 1))[:, :length])": "what is padded at the end is cut off",
    },
)


def both(pair: Any) -> Seen:
    inputs, targets = pair
    return {"inputs": inputs, "targets": targets}


@exercise.probe
def short_delays(delayed_copy: Any) -> Seen:
    """six sequences of eleven tokens, two delays between 2 and 4"""
    found: Seen = {}
    for delay in distinct(2, 5, 2, seed="delays"):
        result = both(delayed_copy(6, 11, delay, 23, settled(f"a {delay}")))
        found |= {f"{name} at delay {delay}": value for name, value in result.items()}
    return found


@exercise.probe
def no_delay(delayed_copy: Any) -> Seen:
    """delay 0"""
    return both(delayed_copy(4, 7, 0, 17, settled("b")))


@exercise.probe
def delay_beyond_the_end(delayed_copy: Any) -> Seen:
    """delays shorter than the sequence by one, as long as it, and longer"""
    length, more = distinct(4, 9, 2, seed="length")
    found: Seen = {}
    for delay in (length - 1, length, length + 1, length + more):
        result = both(delayed_copy(3, length, delay, 16, settled(f"c {delay}")))
        found |= {f"{name} at delay {delay} of {length}": value for name, value in result.items()}
    return found


@exercise.probe
def twice_from_one_generator(delayed_copy: Any) -> Seen:
    """two batches from one generator"""
    source = settled("d")
    first, second = (both(delayed_copy(4, 6, 3, 19, source)) for _ in range(2))
    return {**first, "inputs of the second": second["inputs"]}


@exercise.probe
def tasks_of_size_one(delayed_copy: Any) -> Seen:
    """one sequence, sequences of one token, and a vocabulary of a single token"""
    n = whole(5, 12, seed="n")
    found: Seen = {}
    for batch, length, delay, vocab in [(1, n, 2, 30), (n, 1, 0, 30), (n, 1, 1, 30), (n, n + 1, 1, 2), (1, 1, 1, 2)]:
        result = both(delayed_copy(batch, length, delay, vocab, settled(f"{batch} {length} {delay}")))
        found |= {f"{name}, {batch} × {length}, delay {delay}, vocab {vocab}": t for name, t in result.items()}
    return found


exercise.property(repeats(lambda copies: [copies(3, 5, d, 7, settled(f"again {d}")) for d in (1, 2)]))


def drawn(batch: int, length: int, vocab: int, generator: torch.Generator, low: int = 1) -> Tensor:
    return torch.randint(low, vocab, (batch, length), generator=generator)


def delayed(inputs: Tensor, delay: int) -> Tensor:
    targets = torch.zeros_like(inputs)
    targets[:, delay:] = inputs[:, : max(inputs.shape[1] - delay, 0)]
    return targets


@exercise.misconception
def rotated(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You rotate: what falls off at the end comes in at the front.

    The first targets then lie in the future, where a recurrent network cannot have been.
    """
    inputs = drawn(batch, length, vocab, generator)
    return inputs, inputs.roll(delay, dims=1)


@exercise.misconception
def shifted_the_other_way(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You shift the other way: the target is what comes `delay` steps later.

    That would be prophecy, not memory.
    """
    inputs = drawn(batch, length, vocab, generator)
    targets = torch.zeros_like(inputs)
    targets[:, : max(length - delay, 0)] = inputs[:, delay:]
    return inputs, targets


@exercise.misconception
def one_step_too_far(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """Your delay is one too long.

    With delay 0 the target is the input of the same step.
    """
    inputs = drawn(batch, length, vocab, generator)
    return inputs, delayed(inputs, delay + 1)


@exercise.misconception
def zero_among_the_tokens(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """Your tokens include 0.

    0 means "nothing yet" and must not be a token: draw from 1 on.
    """
    inputs = drawn(batch, length, vocab, generator, low=0)
    return inputs, delayed(inputs, delay)


@exercise.misconception
def global_randomness(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You do not use the generator that you are given: the same inputs come every time.

    A training run then sees one batch for ever, and no run can be repeated by seeding its generator.
    """
    inputs = drawn(batch, length, vocab, torch.Generator().manual_seed(0))
    return inputs, delayed(inputs, delay)


@exercise.misconception
def drawn_from_torchs_own(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You do not use the generator that you are given: you draw from torch's global one.

    Whoever seeds the generator expects the same batch again; and anything else that draws from the global one changes
    yours.
    """
    inputs = torch.randint(1, vocab, (batch, length))
    return inputs, delayed(inputs, delay)


@exercise.misconception
def shifted_along_the_batch(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You shift along the batch: a target is what another sequence read.

    Time is the second dimension; sequences know nothing of each other.
    """
    inputs = drawn(batch, length, vocab, generator)
    targets = torch.zeros_like(inputs)
    targets[delay:] = inputs[: max(batch - delay, 0)]
    return inputs, targets


@exercise.misconception
def inputs_and_targets_exchanged(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You return the targets before the inputs.

    First what is read, then what is to be said.
    """
    inputs = drawn(batch, length, vocab, generator)
    return delayed(inputs, delay), inputs


@exercise.misconception
def filled_with_what_is_ignored(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You fill the first targets with -100, which torch's cross-entropy ignores.

    Here they are 0, the token that means "nothing yet"; whoever trains decides what to ignore.
    """
    inputs = drawn(batch, length, vocab, generator)
    targets = torch.full_like(inputs, -100)
    targets[:, delay:] = inputs[:, : max(length - delay, 0)]
    return inputs, targets


@exercise.misconception
def targets_of_floats(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """Your targets are floating numbers; tokens are int64.

    `torch.zeros` makes float32 unless told otherwise, and what is joined with it, or written into it, becomes so, too.
    A cross-entropy wants whole numbers.
    """
    inputs = drawn(batch, length, vocab, generator)
    return inputs, delayed(inputs, delay).float()


@exercise.misconception
def vocabulary_one_larger(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """Your tokens run up to `vocab` itself.

    There are `vocab` ids in all, 0 among them, so the largest is vocab - 1; a larger one is outside of the
    embedding table.
    """
    inputs = drawn(batch, length, vocab + 1, generator)
    return inputs, delayed(inputs, delay)


squeezes(exercise)
