"""The exercise `cross_attention`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import booleans, normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.exercises.masks.shared import unchanged
from qkv.model.masks import (
    cross_attention,
)

exercise = Exercise(
    cross_attention,
    section="Cross-attention",
    minutes=15,
    difficulty=2,
    why="Queries from one sequence, keys and values from another: how a decoder reads its source.",
    hints=[
        "The decoder asks, the memory answers. Who gives the queries?",
        "What is looked up, and what is returned, comes from the same place.",
        "`attend` wants four arguments: query, key, value, mask. None is a mask too.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def plain_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """A small attention in which query, key and value cannot be exchanged."""
    scores = (2 * query + 1) @ (key - 0.5).transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e4)
    return scores.softmax(-1) @ (3 * value)


def drawn_mask(*shape: int, seed: str) -> Tensor:
    """A mask in which every row allows something and hides something."""
    mask = booleans(*shape, seed=seed)
    mask[..., 0], mask[..., -1] = True, False
    return mask


def decoder_and_memory() -> tuple[Tensor, Tensor, Any]:
    return normal(2, 3, 4, seed="decoder"), normal(2, 5, 4, seed="memory"), plain_attention


def decoder_memory_and_mask() -> tuple[Tensor, Tensor, Any, Tensor]:
    return *decoder_and_memory(), drawn_mask(2, 1, 5, seed="padding")


def of_one_shape() -> tuple[Tensor, Tensor, Any, Tensor]:
    decoder, memory = normal(4, 4, seed="decoder"), normal(4, 4, seed="memory")
    return decoder, memory, plain_attention, drawn_mask(4, 4, seed="mask")


@exercise.probe
def without_a_mask(cross_attention: Any) -> Seen:
    """three decoder positions over a memory of five, no mask"""
    return {"output": cross_attention(*decoder_and_memory())}


@exercise.probe
def with_a_mask(cross_attention: Any) -> Seen:
    """three decoder positions over a memory of five, with a padding mask"""
    return {"output": cross_attention(*decoder_memory_and_mask())}


@exercise.probe
def with_a_mask_by_name(cross_attention: Any) -> Seen:
    """two batch dimensions, and a mask for every pair that is given by its name"""
    decoder, memory = normal(2, 3, 4, 6, seed="decoder"), normal(2, 3, 5, 6, seed="memory")
    mask = drawn_mask(4, 5, seed="pairs")
    return {"output": cross_attention(decoder, memory, plain_attention, memory_mask=mask)}


@exercise.probe
def as_long_as_its_memory(cross_attention: Any) -> Seen:
    """a decoder as long as its memory, so that exchanged roles still fit"""
    return {"output": cross_attention(*of_one_shape())}


@exercise.probe
def sizes_of_one_on_both_sides(cross_attention: Any) -> Seen:
    """a single decoder position, a memory of a single position, a single sequence, vectors of a single number"""
    sizes = {
        "one position": ((2, 1, 4), (2, 5, 4), (2, 1, 5)),
        "one position of the memory": ((2, 5, 4), (2, 1, 4), None),
        "one sequence": ((1, 3, 4), (1, 5, 4), (1, 1, 5)),
        "one number": ((2, 3, 1), (2, 5, 1), (3, 5)),
    }
    return {
        f"output of {name}": cross_attention(
            normal(*decoder, seed="decoder"),
            normal(*memory, seed="memory"),
            plain_attention,
            mask and drawn_mask(*mask, seed="mask"),
        )
        for name, (decoder, memory, mask) in sizes.items()
    }


@exercise.probe
def what_attend_is_given(cross_attention: Any) -> Seen:
    """what `attend` receives, without a mask and with one"""
    received: dict[str, Any] = {}
    call = "without a mask"

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        received.update({f"query {call}": query, f"key {call}": key, f"value {call}": value})
        received[f"mask is None {call}"] = mask is None
        if mask is not None:
            received[f"mask {call}"] = mask
        return query

    cross_attention(*decoder_and_memory()[:2], attend)
    call = "with a mask"
    decoder, memory, _, mask = decoder_memory_and_mask()
    cross_attention(decoder, memory, attend, mask)
    return received


usual(exercise, decoder_memory_and_mask, alike=of_one_shape)


def asked_and_answered(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return decoder, memory, memory


@exercise.assembled
def crossing_in_steps(
    decoder: Tensor,
    memory: Tensor,
    attend: Any,
    memory_mask: Tensor | None = None,
    *,
    roles: Any = asked_and_answered,
    hand_on: Any = unchanged,
) -> Tensor:
    return attend(*roles(decoder, memory), hand_on(memory_mask))


@exercise.instead_of("roles")
def roles_exchanged(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You let the memory ask and the decoder answer.

    There is one result for each query: asked by the memory, it has the length of the source, and the decoder learns
    nothing about it.
    """
    return memory, decoder, decoder


@exercise.instead_of("roles")
def self_attention_again(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You let the decoder look at itself; the memory is never used.

    That is the layer's self-attention. Cross-attention takes keys and values from the memory.
    """
    return decoder, decoder, decoder


@exercise.instead_of("roles")
def values_from_the_decoder(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You take the values from the decoder.

    Keys and values belong together: what is found at a key is the value of the same position.
    """
    return decoder, memory, decoder


@exercise.instead_of("roles")
def keys_from_the_decoder(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You take the keys from the decoder.

    The query is then compared with the decoder's own positions, and values are picked from the memory by the wrong
    ones.
    """
    return decoder, decoder, memory


@exercise.instead_of("hand_on")
def mask_forgotten(memory_mask: Tensor | None) -> None:
    """You do not hand the mask on.

    Then the decoder looks at the padding of the source.
    """
    return None


@exercise.instead_of("roles")
def query_last(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You hand the decoder over in third place, where the values belong.

    Some code has the order (value, key, query). Here `attend` takes query, key, value, mask.
    """
    return memory, memory, decoder


@exercise.instead_of("roles")
def memory_beside_the_decoder(decoder: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You let the decoder look at itself and at the memory together: keys and values are both, one after the other.

    A layer looks at the two in turn, and the mask is for the memory alone.
    """
    both = torch.cat([memory, decoder], dim=-2)
    return decoder, both, both


@exercise.instead_of("hand_on")
def mask_negated(memory_mask: Tensor | None) -> Tensor | None:
    """You hand on the opposite of the mask.

    Both conventions exist. In this course True means "may attend", for `attend` too: hand the mask on as it is.
    """
    return None if memory_mask is None else ~memory_mask


@exercise.misconception
def mask_only_if_there_is_one(
    decoder: Tensor, memory: Tensor, attend: Any, memory_mask: Tensor | None = None
) -> Tensor:
    """You call `attend` with three arguments where there is no mask.

    It wants four: query, key, value, mask. Pass the mask always, also when it is None.
    """
    if memory_mask is None:
        return attend(decoder, memory, memory)
    return attend(decoder, memory, memory, memory_mask)


@exercise.misconception
def mask_left_out(decoder: Tensor, memory: Tensor, attend: Any, memory_mask: Tensor | None = None) -> Tensor:
    """You call `attend` with three arguments.

    It wants four: query, key, value, mask. Pass the mask always, also when it is None.
    """
    return attend(decoder, memory, memory)


@exercise.misconception
def everything_together(decoder: Tensor, memory: Tensor, attend: Any, memory_mask: Tensor | None = None) -> Tensor:
    """You add the decoder to what was found.

    The residual connection is the layer's business and comes in a later chapter. Here only the answer is asked for.
    """
    return decoder + attend(decoder, memory, memory, memory_mask)


squeezes(exercise)
unpacks(exercise, "decoder", "batch", "target", "d_model")
