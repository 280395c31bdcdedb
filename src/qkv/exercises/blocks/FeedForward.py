"""The exercise `FeedForward`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, normal, seeded
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.blocks import FeedForward, gelu

exercise = Exercise(
    FeedForward,
    section="Feed-forward",
    minutes=10,
    difficulty=1,
    why="At the usual width two thirds of a layer's parameters are here, and no word sees another one.",
    hints=[
        "Three steps: expand, gate, project. Which attribute is which?",
        "`self.activation` is a function: call it on what `self.up` made.",
        "Nothing comes after the projection; the sum with x is the layer's business.",
    ],
)


def cube(x: Tensor) -> Tensor:
    return x**3 / 3 + 1


def fed(cls: Any, d_model: int, d_ff: int, activation: Any) -> Any:
    for name in ("layer_norm.weight", "layer_norm.bias"):  # drawn for answers that have a norm inside
        normal(d_model, seed=f"parameter {name}")
    return seeded(cls(d_model, d_ff, activation))


def build_feed_forward(cls: Any) -> Any:
    return fed(cls, 4, 7, torch.tanh)


def positions() -> tuple[Tensor]:
    return (normal(2, 3, 4, seed="x", std=4.0),)


@exercise.probe
def at_every_position(feed_forward: Any) -> Seen:
    """2 × 3 vectors of width 4, d_ff = 7, tanh"""
    return {"output": build_feed_forward(feed_forward)(*positions())}


@exercise.probe
def with_another_activation(feed_forward: Any) -> Seen:
    """an activation that is not zero at 0"""
    return {"output": fed(feed_forward, 6, 9, cube)(normal(3, 6, seed="x", std=2.0))}


@exercise.probe
def one_vector(feed_forward: Any) -> Seen:
    """one vector, with d_ff = d_model"""
    return {"output": fed(feed_forward, 7, 7, torch.sin)(normal(7, seed="x", std=4.0))}


@exercise.probe
def a_module_for_activation(feed_forward: Any) -> Seen:
    """an activation that is a module"""
    return {"output": fed(feed_forward, 5, 9, nn.Softplus(beta=2))(normal(3, 5, seed="x", std=4.0))}


@exercise.probe
def widths_of_one(feed_forward: Any) -> Seen:
    """sizes of 1: d_model, d_ff, both, and the dimensions in front"""
    n, d, width = distinct(5, 12, 3, seed="sizes")
    cases = [(1, width, (n, 1)), (d, 1, (n, d)), (1, 1, (1,)), (d, width, (1, 1, d)), (d, width, (n, 1, d))]
    return {
        f"output, d_model {d_model}, d_ff {d_ff}, x {shape}": fed(feed_forward, d_model, d_ff, cube)(
            normal(*shape, seed="x", std=4.0)
        )
        for d_model, d_ff, shape in cases
    }


usual(exercise, positions, build_feed_forward)


class Fed(FeedForward):
    """The reference in three methods, so that each can be wrong by itself."""

    def forward(self, x: Tensor) -> Tensor:
        return self.close(x, self.down(self.gate(self.up(x))))

    def gate(self, hidden: Tensor) -> Tensor:
        return self.activation(hidden)

    def close(self, x: Tensor, output: Tensor) -> Tensor:
        return output


@exercise.misconception
class ActivationForgotten(Fed):
    """You do not apply the activation.

    Two linear layers in a row are one linear layer: the expansion would be for nothing.
    """

    def gate(self, hidden: Tensor) -> Tensor:
        return hidden


@exercise.misconception
class ActivatedAtTheEnd(FeedForward):
    """You apply the activation after the projection.

    What is added to the stream would be gated, and between the two layers nothing happens that one layer could not do.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.down(self.up(x)))


@exercise.misconception
class ActivatedTwice(FeedForward):
    """You apply the activation after both layers.

    The last layer should be free to add or to subtract anything from the stream.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.down(self.activation(self.up(x))))


@exercise.misconception
class ActivationFixed(Fed):
    """You use GELU, whatever activation was asked for.

    The activation is an argument; `self.activation` holds it.
    """

    def gate(self, hidden: Tensor) -> Tensor:
        return gelu(hidden)


@exercise.misconception
class AlwaysReLU(Fed):
    """You use ReLU, whatever activation was asked for.

    The paper of 2017 has ReLU here, and much code has it written in. The activation is an argument; `self.activation`
    holds it.
    """

    def gate(self, hidden: Tensor) -> Tensor:
        return hidden.clamp(min=0)


@exercise.misconception
class InputAdded(Fed):
    """You add x.

    The residual connection is made by the layer around this network; here it would be added twice.
    """

    def close(self, x: Tensor, output: Tensor) -> Tensor:
        return x + output


@exercise.misconception
class NormalisedInside(Fed):
    """You add x and normalise inside of the network, with a norm that you made for it.

    Some code keeps residual connection and norm in here. In this course they belong to the layer around it, which
    would do both again.
    """

    def __init__(self, d_model: int, d_ff: int, activation: Any) -> None:
        super().__init__(d_model, d_ff, activation)
        self.layer_norm = nn.LayerNorm(d_model)

    def close(self, x: Tensor, output: Tensor) -> Tensor:
        return self.layer_norm(x + output)


@exercise.misconception
class GatedByItself(Fed):
    """You multiply the components by their own activation, as gated networks do.

    A gated network (GLU, SwiGLU) has a second expansion for its gate. Here the activation takes the place of the
    components; GELU already multiplies each of them by how large it is.
    """

    def gate(self, hidden: Tensor) -> Tensor:
        return hidden * self.activation(hidden)


@exercise.misconception
class BiasesForgotten(FeedForward):
    """You use the weights of both layers and not their biases.

    `nn.Linear` has a bias unless told otherwise. Call the layer, and it does both.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(x @ self.up.weight.T) @ self.down.weight.T


@exercise.misconception
class ActivatedAtTheStart(FeedForward):
    """You apply the activation to x before expanding.

    The gate belongs between the two layers, where there are d_ff components to choose from.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.up(self.activation(x)))


squeezes(exercise)
unpacks(exercise, "x", "batch", "d_model")
