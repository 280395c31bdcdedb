"""The exercise `layer_norm_backward`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.forbid import Family
from proctor.inside.inputs import normal, number
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.norm.shared import biased, gains, mean_of, ones_in_turn, root
from qkv.model.norm import layer_norm, layer_norm_backward

LAYER_NORM_BACKWARD = Family.of(
    "torch's own way back through layer norm", contained=("native_layer_norm_backward", "layer_norm_backward")
)


exercise = Exercise(
    layer_norm_backward,
    section="Layer norm, backward",
    minutes=30,
    difficulty=3,
    why="You have now seen where the two projections in its gradient come from, which autograd hides.",
    hints=[
        "Start with what is easy: y = gamma·u + beta. What are the gradients with respect to beta, gamma, and u?",
        "u does not change when x is shifted, nor (nearly) when it is stretched. "
        "So the gradient with respect to x has no component along either.",
        "Call p = grad·gamma. Take from p its mean, and its component along u; divide what is left by σ.",
    ],
    forbid=[LAYER_NORM_BACKWARD],
)


def on_the_way_back() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 3, 8, seed="grad"), normal(2, 3, 8, seed="x", std=2.0), gains(8)


def gradients_of_one_shape() -> tuple[Tensor, ...]:
    return normal(6, seed="grad"), normal(6, seed="x"), gains(6)


def refuse(tensor: Tensor) -> Tensor:
    raise RuntimeError("layer_norm_backward is asked for by hand: autograd and torch.func are not at work here")


def three_gradients(backward: Any, *arguments: Any, **options: Any) -> Seen:
    by_hand = torch.autograd.graph.saved_tensors_hooks(refuse, refuse)  # whoever turns autograd on again hears of it
    with torch.inference_mode(), by_hand:
        dx, dgamma, dbeta = backward(*arguments, **options)
    return {"dx": dx, "dgamma": dgamma, "dbeta": dbeta}


@exercise.probe
def two_leading_dimensions(layer_norm_backward: Any) -> Seen:
    """a batch of 2 × 3 vectors of eight components"""
    return three_gradients(layer_norm_backward, *on_the_way_back())


@exercise.probe
def one_vector(layer_norm_backward: Any) -> Seen:
    """one vector of six components, without a batch dimension"""
    return three_gradients(layer_norm_backward, normal(6, seed="grad"), normal(6, seed="x"), gains(6))


@exercise.probe
def square(layer_norm_backward: Any) -> Seen:
    """four vectors of four components, so that a wrong axis still fits"""
    return three_gradients(layer_norm_backward, normal(4, 4, seed="grad"), normal(4, 4, seed="x"), gains(4))


@exercise.probe
def tiny_deviations(layer_norm_backward: Any) -> Seen:
    """vectors so small that eps decides"""
    x = normal(3, 7, seed="x", std=3e-3)
    return three_gradients(layer_norm_backward, normal(3, 7, seed="grad"), x, gains(7))


@exercise.probe
def with_another_eps(layer_norm_backward: Any) -> Seen:
    """an eps between 0.3 and 0.9"""
    return three_gradients(layer_norm_backward, *on_the_way_back(), eps=number(0.3, 0.9, seed="eps"))


@exercise.probe
def a_large_mean_on_the_way_back(layer_norm_backward: Any) -> Seen:
    """vectors with a mean of 100 and a deviation of 1"""
    x = normal(3, 32, seed="x", mean=100.0)
    return three_gradients(layer_norm_backward, normal(3, 32, seed="grad"), x, gains(32))


@exercise.probe
def gradients_in_sizes_of_one(layer_norm_backward: Any) -> Seen:
    """vectors in shapes that have sizes of 1"""
    found: Seen = {}
    for shape in ones_in_turn("backward"):
        arguments = normal(*shape, seed="grad"), normal(*shape, seed="x"), gains(shape[-1])
        result = three_gradients(layer_norm_backward, *arguments)
        found |= {f"{name}, shape {shape}": value for name, value in result.items()}
    return found


# By hand, so its own gradient is not looked at; through numpy is welcome, which knows neither bfloat16 nor a GPU.
usual(
    exercise,
    on_the_way_back,
    alike=gradients_of_one_shape,
    without=("gradients", "in_bfloat16", "other_device"),
)


def parts(grad: Tensor, x: Tensor, gamma: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """σ, the unit vectors, and the gradient that reaches them."""
    sigma = root(biased(x), eps)
    return sigma, (x - mean_of(x)) / sigma, grad * gamma


def with_dx(dx: Tensor, grad: Tensor, x: Tensor, gamma: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    _, dgamma, dbeta = layer_norm_backward(grad, x, gamma, eps)
    return dx, dgamma, dbeta


@exercise.misconception
def mean_and_deviation_as_constants(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You treat mean and deviation as constants.

    Both depend on x. Their share of the gradient is just what makes it blind to shifting and stretching.
    """
    sigma, _, pull = parts(grad, x, gamma, eps)
    return with_dx(pull / sigma, grad, x, gamma, eps)


@exercise.misconception
def deviation_as_a_constant(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You let the gradient pass through the mean but not through the deviation.

    σ depends on x too: the component of the gradient along the normalised vector is missing from what you subtract.
    """
    sigma, _, pull = parts(grad, x, gamma, eps)
    return with_dx((pull - mean_of(pull)) / sigma, grad, x, gamma, eps)


@exercise.misconception
def mean_as_a_constant(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You let the gradient pass through the deviation but not through the mean.

    The mean depends on every component of x, so the average of the gradient has to be taken off.
    """
    sigma, unit, pull = parts(grad, x, gamma, eps)
    return with_dx((pull - unit * mean_of(pull * unit)) / sigma, grad, x, gamma, eps)


@exercise.misconception
def gain_forgotten(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You forget gamma on the way back to x.

    Forward, the normalised vector is multiplied by gamma; backward, so is the gradient.
    """
    return with_dx(layer_norm_backward(grad, x, torch.ones_like(gamma), eps)[0], grad, x, gamma, eps)


@exercise.misconception
def not_divided_by_sigma(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You do not divide dx by σ.

    The forward pass divides by σ, so the gradient does too: small deviations make large gradients.
    """
    sigma, _, _ = parts(grad, x, gamma, eps)
    return with_dx(layer_norm_backward(grad, x, gamma, eps)[0] * sigma, grad, x, gamma, eps)


@exercise.misconception
def summed_instead_of_averaged(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You subtract sums over the components where means belong.

    Mean and variance are averages over d components, so each component has a share of 1/d in them.
    """
    sigma, unit, pull = parts(grad, x, gamma, eps)
    dx = (pull - pull.sum(-1, keepdim=True) - unit * (pull * unit).sum(-1, keepdim=True)) / sigma
    return with_dx(dx, grad, x, gamma, eps)


@exercise.misconception
def not_summed_over_the_batch(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """Your dgamma and dbeta still have the batch dimensions.

    One gamma serves all vectors, so the gradients of all vectors add up in it.
    """
    _, unit, _ = parts(grad, x, gamma, eps)
    return layer_norm_backward(grad, x, gamma, eps)[0], grad * unit, grad


@exercise.misconception
def averaged_over_the_batch(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You average dgamma and dbeta over the batch instead of summing.

    If the loss is a mean, its gradient carries that division already; here contributions add up.
    """
    dx, dgamma, dbeta = layer_norm_backward(grad, x, gamma, eps)
    count = x.numel() // x.shape[-1]
    return dx, dgamma / count, dbeta / count


@exercise.misconception
def gradient_of_gamma_from_x(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """Your dgamma uses x where it needs the normalised x.

    gamma multiplies the normalised vector; that is its derivative.
    """
    dx, _, dbeta = layer_norm_backward(grad, x, gamma, eps)
    return dx, (grad * x).reshape(-1, x.shape[-1]).sum(0), dbeta


@exercise.misconception
def left_to_autograd(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You let autograd do it, and the checks run without autograd.

    The exercise is the formula: three lines that you can derive with a pencil.
    """
    x = x.detach().clone().requires_grad_()
    return torch.autograd.grad(layer_norm(x, gamma, torch.zeros_like(gamma), eps), x, grad)


@exercise.misconception
def left_to_torch_func(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You let `torch.func` do it, and the checks run without it.

    The exercise is the formula: three lines that you can derive with a pencil.
    """
    vjp: Any = torch.func.vjp
    _, back = vjp(lambda x, gamma, beta: layer_norm(x, gamma, beta, eps), x, gamma, torch.zeros_like(gamma))
    return back(grad)


@exercise.misconception
def stretch_added(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You add the component along the normalised vector where it is to be taken off.

    Stretching x changes nothing, so nothing of the gradient may be left in that direction; with the wrong sign it
    doubles.
    """
    sigma, unit, pull = parts(grad, x, gamma, eps)
    return with_dx((pull - mean_of(pull) + unit * mean_of(pull * unit)) / sigma, grad, x, gamma, eps)


@exercise.misconception
def gain_and_shift_exchanged(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You return dbeta before dgamma.

    The order is that of the arguments of `layer_norm`: x, gamma, beta.
    """
    dx, dgamma, dbeta = layer_norm_backward(grad, x, gamma, eps)
    return dx, dbeta, dgamma


@exercise.misconception
def unbiased_on_the_way_back(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """Your σ has d - 1 under its sum of squares: the unbiased variance.

    torch's `var` and `std` do so unless told otherwise. The backward pass uses the same σ as the forward pass.
    """
    sigma = root(x.var(-1, keepdim=True), eps)
    unit, pull = (x - mean_of(x)) / sigma, grad * gamma
    dx = (pull - mean_of(pull) - unit * mean_of(pull * unit)) / sigma
    d = x.shape[-1]
    return dx, (grad * unit).reshape(-1, d).sum(0), grad.reshape(-1, d).sum(0)


@exercise.misconception
def one_batch_dimension(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You sum dgamma and dbeta over the first dimension only, which is right for a single batch dimension.

    `...` may be none, one or several dimensions, and gamma serves them all: sum over everything but the last.
    """
    _, unit, _ = parts(grad, x, gamma, eps)
    return layer_norm_backward(grad, x, gamma, eps)[0], (grad * unit).sum(0), grad.sum(0)


@exercise.misconception
def eps_fixed_on_the_way_back(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """Your eps is always 1e-5, whatever eps the caller asks for.

    σ has to be the one of the forward pass, and eps is part of it.
    """
    return layer_norm_backward(grad, x, gamma)


squeezes(exercise)
unpacks(exercise, "grad", "batch", "d")
