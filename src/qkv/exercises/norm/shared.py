"""What several exercises of this chapter share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, normal, seeded
from proctor.inside.properties import usual
from proctor.inside.situations import Seen


def gains(d: int) -> Tensor:
    """Around 1, and every third around -1: a trained gain may change its sign."""
    sizes = normal(d, seed="gamma", mean=1.0, std=0.3)
    return torch.where(torch.arange(d) % 3 == 1, -sizes, sizes)


def shifts(d: int) -> Tensor:
    return normal(d, seed="beta", std=0.5)


def ones_in_turn(seed: str) -> list[tuple[int, ...]]:
    """Shapes of vectors in which each dimension in turn is 1: the first, the second, the width, all, the only one."""
    a, b, d = distinct(4, 10, 3, seed=seed)  # of two components a gradient is all but 0
    return [(1, b, d), (a, 1, d), (a, b, 1), (1, 1, 1), (1,)]


def mean_of(x: Tensor) -> Tensor:
    return x.mean(-1, keepdim=True)


def biased(x: Tensor) -> Tensor:
    return (x - mean_of(x)).square().mean(-1, keepdim=True)


def root(variance: Tensor, eps: float) -> Tensor:
    return (variance + eps).sqrt()


def squash(x: Tensor, *shifts: Tensor) -> Tensor:
    """A sublayer that is not linear, so that it matters what goes into it."""
    return torch.tanh(1.5 * x.flip(-1) + sum(shifts, torch.zeros((), dtype=x.dtype, device=x.device)))


def around_squash(cls: Any) -> Any:
    return seeded(cls(5, squash))


def around_linear(cls: Any) -> Any:
    return seeded(cls(5, torch.nn.Linear(5, 5)))


def stream() -> tuple[Tensor]:
    return (normal(2, 3, 5, seed="x", std=2.0, mean=0.5),)


def stream_and_shifts() -> tuple[Tensor, Tensor, Tensor]:
    return normal(3, 5, seed="x"), normal(3, 5, seed="a"), normal(3, 5, seed="b")


def turned_and_halved(x: Tensor) -> Tensor:
    return x.flip(-1) / 2


class Halving:
    """A sublayer that is neither a function nor a module, and takes more than tensors."""

    def __call__(self, x: Tensor, mask: Tensor | None, times: int) -> Tensor:
        return x.flip(-1).sin() / 2**times + (0.0 if mask is None else mask)


def look_at(exercise: Exercise) -> None:
    """Both wrappers are looked at in the same situations."""

    @exercise.probe
    def around_a_function(wrapper: Any) -> Seen:
        """2 × 3 vectors of five components around a function"""
        return {"output": around_squash(wrapper)(*stream())}

    @exercise.probe
    def around_a_module(wrapper: Any) -> Seen:
        """2 × 3 vectors around a linear layer"""
        return {"output": around_linear(wrapper)(*stream())}

    @exercise.probe
    def with_more_arguments(wrapper: Any) -> Seen:
        """a sublayer that takes two more arguments"""
        extra = normal(3, 1, seed="a"), normal(5, seed="b")
        return {"output": around_squash(wrapper)(normal(3, 5, seed="x"), *extra)}

    @exercise.probe
    def with_one_more_argument(wrapper: Any) -> Seen:
        """a sublayer that takes one more argument"""
        return {"output": around_squash(wrapper)(normal(3, 5, seed="x"), normal(5, seed="a"))}

    @exercise.probe
    def one_vector_only(wrapper: Any) -> Seen:
        """one vector of four components"""
        return {"output": seeded(wrapper(4, squash))(normal(4, seed="x", std=3.0))}

    @exercise.probe
    def around_an_object(wrapper: Any) -> Seen:
        """a sublayer that takes None and a number"""
        return {"output": seeded(wrapper(6, Halving()))(normal(2, 6, seed="x", std=2.0), None, 2)}

    @exercise.probe
    def in_sizes_of_one(wrapper: Any) -> Seen:
        """streams in shapes that have sizes of 1"""
        return {
            f"output, shape {shape}": seeded(wrapper(shape[-1], squash))(normal(*shape, seed="x", std=2.0))
            for shape in ones_in_turn("stream")
        }

    usual(exercise, stream, around_linear)

    @exercise.property
    def keeps_the_stream_and_the_arguments(wrapper: Any) -> Seen:
        """inputs of one shape that the caller goes on using

        You write into a tensor that you were given. The caller still needs it: compute a new one instead.
        """
        arguments = stream_and_shifts()
        around_squash(wrapper)(*arguments)
        return {f"argument {i} after the call": argument for i, argument in enumerate(arguments)}

    @exercise.property
    def where_eps_decides(wrapper: Any) -> Seen:
        """a stream that hardly varies, so that eps decides

        On vectors that hardly vary, where eps decides, your numbers differ. The norm is `nn.LayerNorm(d_model)`, whose
        eps is 1e-5.
        """
        return {"output": seeded(wrapper(5, turned_and_halved))(normal(4, 5, seed="x", std=3e-3))}
