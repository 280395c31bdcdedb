"""The exercise `attention_rollout`."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, normal, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.meaning import (
    attention_rollout,
)

IDENTITY = "identity = torch.eye(weights.shape[{}], dtype=weights.dtype, device=weights.device)"


exercise = Exercise(
    attention_rollout,
    section="What a weight tells",
    minutes=10,
    difficulty=2,
    why="The weights of a late layer point at positions that are mixtures already; this looks through them.",
    hints=[
        "First one layer: average the heads, add the identity, halve. Do the rows still sum to 1?",
        "Position i after layer 2 is a mixture of positions after layer 1, which are mixtures of words. "
        "A mixture of mixtures is a product of matrices.",
        "Which layer stands on the left? Write entry (i, j) of the product as a sum, and read it from the left.",
    ],
    equivalents={f"{IDENTITY.format(-1)}  ->  {IDENTITY.format(-2)}": "the weights are square"},
)


def weights_of(layers: int, *leading: int, heads: int, seq: int) -> Tensor:
    """Sharp weights, so that the order of the layers matters."""
    return (2 * normal(layers, *leading, heads, seq, seq, seed="weights")).softmax(-1)


def some_layers() -> tuple[Tensor]:
    layers, batch, heads, seq = distinct(2, 7, 4, seed="sizes")
    return (weights_of(layers, batch, heads=heads, seq=seq),)


@exercise.probe
def a_few_layers(attention_rollout: Any) -> Seen:
    """several layers of several heads, all sizes different"""
    return {"shares": attention_rollout(*some_layers())}


@exercise.probe
def without_a_batch(attention_rollout: Any) -> Seen:
    """no leading dimension"""
    layers, heads, seq = distinct(2, 7, 3, seed="sizes")
    return {"shares": attention_rollout(weights_of(layers, heads=heads, seq=seq))}


@exercise.probe
def more_leading_dimensions(attention_rollout: Any) -> Seen:
    """two leading dimensions; all sizes alike"""
    a, b, heads, seq = distinct(2, 6, 4, seed="sizes")
    same = whole(3, 5, seed="same")
    return {
        "shares": attention_rollout(weights_of(3, a, b, heads=heads, seq=seq)),
        "shares, all sizes alike": attention_rollout(weights_of(same, same, heads=same, seq=same)),
    }


@exercise.probe
def under_a_causal_mask(attention_rollout: Any) -> Seen:
    """weights under a causal mask"""
    layers, heads, seq = distinct(3, 8, 3, seed="sizes")
    weights = weights_of(layers, 2, heads=heads, seq=seq).tril()
    return {"shares": attention_rollout(weights / weights.sum(-1, keepdim=True))}


@exercise.probe
def one_layer_one_head(attention_rollout: Any) -> Seen:
    """one layer; one head; one of both; a single position"""
    a, seq = distinct(3, 7, 2, seed="sizes")
    return {
        "shares, one layer": attention_rollout(weights_of(1, 2, heads=a, seq=seq)),
        "shares, one head": attention_rollout(weights_of(a, 2, heads=1, seq=seq)),
        "shares, one of both": attention_rollout(weights_of(1, heads=1, seq=seq)),
        "shares, one position": attention_rollout(weights_of(a, 2, heads=seq, seq=1)),
    }


@exercise.probe
def many_layers(attention_rollout: Any) -> Seen:
    """eight layers that look at one or two positions"""
    heads, seq = distinct(2, 7, 2, seed="sizes")
    return {"shares": attention_rollout((3 * normal(8, heads, seq + 2, seq + 2, seed="weights")).softmax(-1))}


# (A + I)/2 and A + I with its rows rescaled have equal values and unequal gradients: both are right.
usual(exercise, some_layers, without=["gradients"])


def mean_head(weights: Tensor) -> Tensor:
    return weights.mean(-3)


def half_residual(attention: Tensor) -> Tensor:
    return (attention + identity_like(attention)) / 2


def identity_like(attention: Tensor) -> Tensor:
    return torch.eye(attention.shape[-1], dtype=attention.dtype, device=attention.device)


def last_on_the_left(layers: Tensor) -> Tensor:
    found = layers[0]
    for layer in layers[1:]:
        found = layer @ found
    return found


@exercise.assembled
def rollout_in_steps(
    weights: Tensor, *, fuse: Any = mean_head, carry: Any = half_residual, join: Any = last_on_the_left
) -> Tensor:
    return join(carry(fuse(weights)))


@exercise.instead_of("fuse")
def largest_head(weights: Tensor) -> Tensor:
    """You take the largest weight of all heads; it should be their mean.

    Then the rows sum to more than 1.
    """
    return weights.amax(-3)


@exercise.instead_of("fuse")
def smallest_head(weights: Tensor) -> Tensor:
    """You take the smallest weight of all heads; it should be their mean.

    Then the rows sum to less than 1.
    """
    return weights.amin(-3)


@exercise.instead_of("fuse")
def heads_added_up(weights: Tensor) -> Tensor:
    """You add the heads up; it should be their mean.

    Then attention counts as many times as there are heads, and the residual connection once.
    """
    return weights.sum(-3)


@exercise.instead_of("fuse")
def first_head_alone(weights: Tensor) -> Tensor:
    """Only the first head counts.

    All heads of a layer are averaged.
    """
    return weights[..., 0, :, :]


@exercise.instead_of("fuse")
def second_dimension_averaged(weights: Tensor) -> Tensor:
    """You average over the second dimension, which is the heads only where there is no batch.

    Between the layers and the heads there may be leading dimensions. Counted from the end, the heads are -3.
    """
    return weights.mean(1)


@exercise.instead_of("fuse")
def largest_head_rescaled(weights: Tensor) -> Tensor:
    """You take the largest weight of all heads and rescale the rows.

    The rows sum to 1 again, but it is another average. Here it is the mean of the heads.
    """
    largest = weights.amax(-3)
    return largest / largest.sum(-1, keepdim=True)


@exercise.instead_of("carry")
def residual_forgotten(attention: Tensor) -> Tensor:
    """You forget the residual connection.

    Half of what a position is after a layer, it was before: add the identity, and halve.
    """
    return attention


@exercise.instead_of("carry")
def identity_not_halved(attention: Tensor) -> Tensor:
    """You add the identity and do not halve, so that the rows sum to 2, and after more layers to 4, 8, …

    A layer is half attention and half residual connection.
    """
    return attention + identity_like(attention)


@exercise.instead_of("carry")
def halved_before_the_identity(attention: Tensor) -> Tensor:
    """You halve the attention but not the identity.

    Each is a half: their rows sum to 1 together.
    """
    return attention / 2 + identity_like(attention)


@exercise.instead_of("carry")
def columns_rescaled(attention: Tensor) -> Tensor:
    """You rescale columns to sum 1; it should be the rows.

    A row says where one position comes from: these shares sum to 1.
    """
    both = attention + identity_like(attention)
    return both / both.sum(-2, keepdim=True)


@exercise.instead_of("carry")
def ones_for_the_identity(attention: Tensor) -> Tensor:
    """You add 1 to every entry; it should be the identity.

    The residual connection passes a position on to itself, and to no other.
    """
    return (attention + 1) / 2


@exercise.instead_of("join")
def first_on_the_left(layers: Tensor) -> Tensor:
    """You multiply in the reversed order: the first layer stands on the left.

    The last layer stands on the left: its row i says which positions of the layer below position i is made of.
    """
    return last_on_the_left(layers.flip(0))


@exercise.instead_of("join")
def last_layer_alone(layers: Tensor) -> Tensor:
    """Only the last layer counts.

    It says which positions of the layer below are read, and these are mixtures already. Multiply all layers.
    """
    return layers[-1]


@exercise.instead_of("join")
def first_layer_left_out(layers: Tensor) -> Tensor:
    """The first layer is missing from your product.

    `range(1, n)` or `weights[1:]` leaves it out unless the product starts with it.
    """
    return last_on_the_left(torch.cat([identity_like(layers).expand_as(layers[:1]), layers[1:]]))


@exercise.instead_of("join")
def layers_averaged(layers: Tensor) -> Tensor:
    """You average the layers.

    They work one after the other, not side by side: multiply their matrices.
    """
    return layers.mean(0)


@exercise.instead_of("join")
def entry_by_entry(layers: Tensor) -> Tensor:
    """You multiply the layers entry by entry.

    A way from i to j leads over any position in between: the matrix product sums over these.
    """
    return layers.prod(0)


@exercise.instead_of("join")
def rows_and_columns_exchanged(layers: Tensor) -> Tensor:
    """Your result is transposed.

    Entry (i, j) is how much of position i comes from position j: rows sum to 1.
    """
    return last_on_the_left(layers).mT


@exercise.instead_of("join")
def after_every_layer(layers: Tensor) -> Tensor:
    """You return the rollout after every layer.

    What is asked for is how it stands after the last.
    """
    return torch.stack(list(itertools.accumulate(layers, lambda found, layer: layer @ found)))


@exercise.misconception
def residual_once(weights: Tensor) -> Tensor:
    """You add the residual connection once, after all layers.

    Each layer has one of its own: add the identity before you multiply.
    """
    return half_residual(rollout_in_steps(weights, carry=residual_forgotten))


@exercise.misconception
def first_layer_bare(weights: Tensor) -> Tensor:
    """You begin with the first layer's weights as they are, and add the residual connection to the others alone.

    Around the first layer there is a residual connection as well: begin with the identity, or with the first layer and
    its identity.
    """
    layers = half_residual(mean_head(weights))
    return last_on_the_left(torch.cat([mean_head(weights)[:1], layers[1:]]))


@exercise.misconception
def heads_followed_apart(weights: Tensor) -> Tensor:
    """You follow each head alone through all layers, and average in the end.

    A head reads what all heads of the layer below have written. Average the heads of each layer before you multiply.
    """
    return last_on_the_left(half_residual(weights)).mean(-3)


squeezes(exercise)
