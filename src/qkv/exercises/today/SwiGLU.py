"""The exercise `SwiGLU`."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, normal, seeded
from proctor.inside.properties import random_projection, usual
from proctor.inside.situations import Seen, one_of_each
from qkv.exercises.forbidden import SILU
from qkv.exercises.today.shared import slopes
from qkv.model.today import SwiGLU

exercise = Exercise(
    SwiGLU,
    section="A gate",
    minutes=8,
    difficulty=1,
    why="The feed-forward network of nearly every model whose weights are published today.",
    hints=[
        "Three matrices, and two ways inside for x: which attribute says how much passes, and which says what?",
        "silu(z) = z·σ(z). What is it at 0, at 5, at -5? Compare with ReLU.",
        "The two ways meet component by component, inside, where both are d_ff wide. `down` comes last.",
        "If you write σ with `exp`: what is e^10000 in float32, and what is infinity times 0 on the way back?",
    ],
    forbid=[SILU],
    equivalents={
        "return self._down(self._open(self._gate(x)), self._up(x))  ->  "
        "return self._down(self._up(x), self._open(self._gate(x)))": "a product is the same in either order",
    },
)


def fed(cls: Any, d_model: int, d_ff: int) -> Any:
    return seeded(cls(d_model, d_ff))


def vectors() -> tuple[Tensor]:
    return (normal(2, 3, 5, seed="x", std=3.0),)


def build(cls: Any) -> Any:
    return fed(cls, 5, 7)


@exercise.probe
def at_every_position(swiglu: Any) -> Seen:
    """a batch of sequences, gates of moderate size"""
    batch, seq, d_model, d_ff = distinct(2, 9, 4, seed="sizes")
    return {"output": fed(swiglu, d_model, d_ff)(normal(batch, seq, d_model, seed="x", std=3.0))}


@exercise.probe
def alone_and_in_three_dimensions(swiglu: Any) -> Seen:
    """one vector without a batch, and vectors in three dimensions"""
    a, b, c, d_model, d_ff = distinct(2, 9, 5, seed="sizes")
    layer = fed(swiglu, d_model, d_ff)
    return {
        "output of one": layer(normal(d_model, seed="one", std=3.0)),
        "output": layer(normal(a, b, c, d_model, seed="many", std=3.0)),
    }


@exercise.probe
def as_wide_inside(swiglu: Any) -> Seen:
    """d_ff = d_model, so that the three matrices could be exchanged"""
    (d,) = distinct(3, 9, 1, seed="sizes")
    return {"output": fed(swiglu, d, d)(normal(4, d, seed="x", std=3.0))}


@exercise.probe
def gates_nearly_shut(swiglu: Any) -> Seen:
    """tiny inputs, where silu is half of its input"""
    d_model, d_ff = distinct(3, 9, 2, seed="sizes")
    return {"output": fed(swiglu, d_model, d_ff)(normal(4, d_model, seed="tiny", std=0.02))}


@exercise.probe
def gates_far_open_and_far_shut(swiglu: Any) -> Seen:
    """gate(x) up to ±1e4 and beyond, and the gradients there"""
    n, d_model, d_ff = distinct(3, 9, 3, seed="sizes")
    layer = fed(swiglu, d_model, d_ff)
    with torch.no_grad():
        layer.gate.weight.mul_(1e4)
    x = normal(n, d_model, seed="x").requires_grad_()
    output = layer(x)
    wanted = {"x": x, "gate": layer.gate.weight, "up": layer.up.weight, "down": layer.down.weight}
    found = slopes(random_projection(output), list(wanted.values()))
    return {"output": output, **{f"gradient of {name}": g for name, g in zip(wanted, found, strict=True)}}


@exercise.probe
def all_open_or_all_shut(swiglu: Any) -> Seen:
    """gates that are all far open, or all far shut, and the gradients there"""
    n, d_model, d_ff = distinct(3, 9, 3, seed="sizes")
    layer = fed(swiglu, d_model, d_ff)
    with torch.no_grad():
        layer.gate.weight.abs_().add_(0.1).mul_(1e4)
    seen: Seen = {}
    for name, sign in (("open", 1), ("shut", -1)):
        x = (sign * (normal(n, d_model, seed=name).abs() + 0.1)).requires_grad_()
        output = layer(x)
        wanted = [x, layer.gate.weight, layer.up.weight]
        found = slopes(random_projection(output), wanted)
        seen |= {f"output, {name}": output}
        seen |= {f"gradient {i}, {name}": gradient for i, gradient in enumerate(found)}
    return seen


@exercise.probe
def sizes_of_one(swiglu: Any) -> Seen:
    """sizes of 1: d_model, d_ff, the batch, the sequence"""
    batch, seq, d_model, d_ff = distinct(2, 9, 4, seed="sizes")
    return {
        f"output, {name}": fed(swiglu, d, width)(normal(b, n, d, seed="x", std=3.0))
        for name, (b, n, d, width) in one_of_each(batch=batch, seq=seq, d_model=d_model, d_ff=d_ff)
    }


usual(exercise, vectors, build)


@exercise.misconception
class SiluForgotten(SwiGLU):
    """You multiply gate(x) by up(x) as they are: there is no silu.

    Then the network is a product of two linear maps. The gate is to shut where gate(x) is far below 0, and to be open
    where it is far above.
    """

    def _open(self, z: Tensor) -> Tensor:
        return z


@exercise.misconception
class SigmoidAlone(SwiGLU):
    """You gate with σ(gate(x)), without the factor gate(x).

    That is GLU of 2017, whose gates lie between 0 and 1. silu(z) is z·σ(z), and grows with z.
    """

    def _open(self, z: Tensor) -> Tensor:
        return torch.sigmoid(z)


@exercise.misconception
class GeluGate(SwiGLU):
    """Your gate is a GELU.

    That is GEGLU, which T5's later versions have. Here the gate is silu(z) = z·σ(z); the curves look alike, but
    weights that were trained with one are read with the same.
    """

    def _open(self, z: Tensor) -> Tensor:
        return F.gelu(z)


@exercise.misconception
class ApproximateGeluGate(SwiGLU):
    """Your gate is GELU's approximation by a tanh.

    That is the gate of Gemma. Here it is silu(z) = z·σ(z).
    """

    def _open(self, z: Tensor) -> Tensor:
        return F.gelu(z, approximate="tanh")


@exercise.misconception
class ReluGate(SwiGLU):
    """Your gate is a ReLU.

    silu lets a little through on the left of 0, and has no corner.
    """

    def _open(self, z: Tensor) -> Tensor:
        return z.relu()


@exercise.misconception
class TanhGate(SwiGLU):
    """Your gate is a tanh.

    tanh lies between -1 and 1 and lets the far negative through with the other sign. silu(z) = z·σ(z) is 0 there.
    """

    def _open(self, z: Tensor) -> Tensor:
        return z.tanh()


@exercise.misconception
class SteeperSilu(SwiGLU):
    """Your silu is z·σ(1.702·z).

    With this factor it approximates GELU, as the paper of GELU says itself. In silu the factor inside σ is 1.
    """

    def _open(self, z: Tensor) -> Tensor:
        return z * torch.sigmoid(1.702 * z)


@exercise.misconception
class ExponentialOverflows(SwiGLU):
    """Your silu is NaN where gate(x) is large: infinity divided by infinity.

    e^z has no place in float32 from z = 89 on. Which form of σ needs no power of a large positive number? torch has
    it ready, too: `torch.sigmoid` is allowed.
    """

    def _open(self, z: Tensor) -> Tensor:
        return z * z.exp() / (1 + z.exp())


@exercise.misconception
class GradientNotANumber(SwiGLU):
    """Your output is right, but its gradient is NaN where gate(x) is far below 0.

    e^(-z) is infinite there. 1 divided by it is 0, as it should be; on the way back this 0 is multiplied by the
    infinity, and that is no number.
    """

    def _open(self, z: Tensor) -> Tensor:
        return z / (1 + torch.exp(-z))


@exercise.misconception
class GateAndUpExchanged(SwiGLU):
    """You put silu on `up` and let `gate` pass as it is.

    Both are matrices of one shape, so nothing is refused. But the names say who is gated: silu belongs to `gate`, in
    Llama's files as here.
    """

    def _gate(self, x: Tensor) -> Tensor:
        return self.up(x)

    def _up(self, x: Tensor) -> Tensor:
        return self.gate(x)


@exercise.misconception
class SiluOnBoth(SwiGLU):
    """You put silu on both ways.

    One way says how much passes, the other what passes. What passes should be free to be negative: `up` stays linear.
    """

    def _up(self, x: Tensor) -> Tensor:
        return self._open(self.up(x))


@exercise.misconception
class SiluOfTheProduct(SwiGLU):
    """You take silu of the product gate(x)·up(x).

    silu comes before the two meet: it makes a gate of gate(x) alone.
    """

    def _open(self, z: Tensor) -> Tensor:
        return z

    def _down(self, opened: Tensor, passing: Tensor) -> Tensor:
        return self.down(super()._open(opened * passing))


@exercise.misconception
class SumForProduct(SwiGLU):
    """You add the two ways.

    A sum shuts nothing out: where the gate is 0, what passes is as large as before. They are multiplied, component by
    component.
    """

    def _down(self, opened: Tensor, passing: Tensor) -> Tensor:
        return self.down(opened + passing)


@exercise.misconception
class UpForgotten(SwiGLU):
    """You never use `up`: this is down(silu(gate(x))).

    That is the feed-forward network of chapter 7 with another activation. Here the activation is multiplied with a
    second linear map of x.
    """

    def _down(self, opened: Tensor, passing: Tensor) -> Tensor:
        return self.down(opened)


@exercise.misconception
class SiluAtTheEnd(SwiGLU):
    """You take silu of the result.

    What is added to the stream should be free to be negative: `down` is the last step.
    """

    def _open(self, z: Tensor) -> Tensor:
        return z

    def _down(self, opened: Tensor, passing: Tensor) -> Tensor:
        return super()._open(self.down(opened * passing))


@exercise.misconception
class InputAdded(SwiGLU):
    """You add x.

    The layer around this network does so; here it would be added twice.
    """

    def forward(self, x: Tensor) -> Tensor:
        return x + super().forward(x)


@exercise.misconception
class GateHeld(SwiGLU):
    """Your values are right, but no gradient passes through the gate.

    It leaves the graph on the way, by `detach()` or something like it. A gate has to learn what to let through.
    """

    def _gate(self, x: Tensor) -> Tensor:
        return self.gate(x).detach()


squeezes(exercise)
unpacks(exercise, "x", "batch", "seq", "d_model")
