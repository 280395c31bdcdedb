"""Chapter 06: layer norm forward and backward, batch norm, RMS norm, and where the norm goes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.forbid import Family
from proctor.inside.inputs import distinct, normal, number, seeded
from proctor.inside.properties import usual
from qkv.exercises.forbidden import BATCH_NORM, LAYER_NORM, RMS_NORM
from qkv.model.norm import PostNorm, PreNorm, batch_norm, layer_norm, layer_norm_backward, rms_norm

Seen = dict[str, Any]


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


# layer_norm -----------------------------------------------------------------------------------------------------------

layer = Exercise(
    layer_norm,
    section="Layer norm, forward",
    minutes=10,
    difficulty=1,
    why="It keeps every vector at one scale, whatever the layers before it do.",
    hints=[
        "Take one vector and a pencil: what are its mean and its variance? What do you do with each?",
        "Mean and variance belong to a vector: both are taken over the last dimension. Keep it, and they broadcast.",
        "The variance is the mean of the squared deviations (divide by d, not by d - 1), and eps goes under the root.",
    ],
    forbid=[LAYER_NORM, BATCH_NORM, RMS_NORM],
)


def vectors() -> tuple[Tensor, Tensor, Tensor]:
    x = normal(2, 3, 5, seed="x", std=2.0)
    x[1, 2] = 1.5  # nothing varies here: neither value nor gradient may become NaN
    return x, gains(5), shifts(5)


def vectors_of_one_shape() -> tuple[Tensor, ...]:
    return normal(6, seed="x"), gains(6), shifts(6)


@layer.probe
def a_batch_of_vectors(layer_norm: Any) -> Seen:
    """a batch of 2 × 3 vectors of five components, the last of them constant"""
    return {"normalised": layer_norm(*vectors())}


@layer.probe
def sizes_of_one(layer_norm: Any) -> Seen:
    """vectors in shapes that have sizes of 1"""
    return {
        f"normalised, shape {shape}": layer_norm(normal(*shape, seed="x"), gains(shape[-1]), shifts(shape[-1]))
        for shape in ones_in_turn("layer")
    }


@layer.probe
def a_single_vector(layer_norm: Any) -> Seen:
    """one vector of seven components, without a batch dimension"""
    return {"normalised": layer_norm(normal(7, seed="x", mean=3.0), gains(7), shifts(7))}


@layer.probe
def as_many_vectors_as_components(layer_norm: Any) -> Seen:
    """four vectors of four components, so that a wrong axis still fits"""
    return {"normalised": layer_norm(normal(4, 4, seed="x"), gains(4), shifts(4))}


@layer.probe
def a_large_mean(layer_norm: Any) -> Seen:
    """vectors with a mean of 100 and a deviation of 1"""
    return {"normalised": layer_norm(normal(3, 64, seed="x", mean=100.0), gains(64), torch.zeros(64))}


@layer.probe
def a_mean_far_above_the_deviation(layer_norm: Any) -> Seen:
    """vectors with a mean of 100 and a deviation of 0.1"""
    # Single components are as far off as float32 stores the input. Their deviation is not: it should be 1.
    found = layer_norm(normal(5, 64, seed="x", mean=100.0, std=0.1), torch.ones(64), torch.zeros(64))
    return {"deviation of the result": found.std(-1, unbiased=False)}


@layer.probe
def small_deviations(layer_norm: Any) -> Seen:
    """vectors so small that eps decides"""
    return {"normalised": layer_norm(normal(3, 6, seed="x", std=3e-3), torch.ones(6), torch.zeros(6))}


@layer.probe
def another_eps(layer_norm: Any) -> Seen:
    """an eps between 0.3 and 0.9"""
    return {"normalised": layer_norm(*vectors(), eps=number(0.3, 0.9, seed="eps"))}


usual(layer, vectors, alike=vectors_of_one_shape)


def mean_of(x: Tensor) -> Tensor:
    return x.mean(-1, keepdim=True)


def biased(x: Tensor) -> Tensor:
    return (x - mean_of(x)).square().mean(-1, keepdim=True)


def root(variance: Tensor, eps: float) -> Tensor:
    return (variance + eps).sqrt()


@layer.assembled
def layer_norm_in_steps(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    eps: float = 1e-5,
    *,
    centre: Any = lambda x: x - mean_of(x),
    spread: Any = biased,
    divisor: Any = root,
) -> Tensor:
    return gamma * centre(x) / divisor(spread(x), eps) + beta


@layer.instead_of("spread")
def unbiased_variance(x: Tensor) -> Tensor:
    """You divide the sum of squares by d - 1: the unbiased variance.

    torch's `var` does so unless told otherwise. A norm describes the numbers that it has, it does not estimate a
    population.
    """
    return x.var(-1, keepdim=True)


@layer.instead_of("spread")
def variance_without_digits(x: Tensor) -> Tensor:
    """You compute the variance as the mean of the squares minus the square of the mean.

    For a mean of 100 both are near 10,000 and float32 keeps about seven digits: their difference has lost most of
    its own. Subtract the mean first.
    """
    return x.square().mean(-1, keepdim=True) - mean_of(x).square()


@layer.instead_of("divisor")
def eps_beside_the_root(variance: Tensor, eps: float) -> Tensor:
    """You add eps after the square root.

    Under the root it sets the smallest deviation to √eps, about 0.003; beside it to eps itself, 300 times less.
    """
    return variance.sqrt() + eps


@layer.instead_of("divisor")
def eps_forgotten(variance: Tensor, eps: float) -> Tensor:
    """You leave eps out.

    A vector of equal numbers is then divided by 0, and a nearly constant one is blown up to full size, noise and all.
    """
    return variance.sqrt()


@layer.instead_of("divisor")
def divided_by_the_variance(variance: Tensor, eps: float) -> Tensor:
    """You divide by the variance; the square root is missing.

    Dividing by the standard deviation makes the deviation 1. Dividing by the variance makes it 1/σ.
    """
    return variance + eps


@layer.instead_of("divisor")
def squared_instead_of_rooted(variance: Tensor, eps: float) -> Tensor:
    """You divide by the square of the variance, eps included; its root is asked for.

    A power of 2 where 1/2 belongs: the larger the deviation, the smaller the result, by its fourth power.
    """
    return (variance + eps) ** 2


@layer.instead_of("divisor")
def root_of_the_deviation(variance: Tensor, eps: float) -> Tensor:
    """You take the root of the deviation, which is a root already.

    The variance has one root on the way to the deviation. With a second one, the result's deviation is √σ instead of 1.
    """
    return (variance.sqrt() + eps).sqrt()


@layer.instead_of("centre")
def not_centred(x: Tensor) -> Tensor:
    """You do not subtract the mean.

    The result keeps its offset. (A norm without centring exists, the RMS norm, but that one divides by something else.)
    """
    return x


@layer.misconception
def over_the_batch(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """Your mean and variance are taken over the first dimension, across vectors.

    That is batch norm. Layer norm looks at one vector at a time: no vector's result may depend on its neighbours.
    """
    centred = x - x.mean(0, keepdim=True)
    return gamma * centred / (centred.square().mean(0, keepdim=True) + eps).sqrt() + beta


@layer.misconception
def over_everything(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You take one mean and one variance for the whole tensor.

    Each vector is normalised by its own; otherwise a loud vector quiets all others.
    """
    return gamma * (x - x.mean()) / (x.var(unbiased=False) + eps).sqrt() + beta


@layer.misconception
def gain_and_shift_forgotten(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You normalise, but gamma and beta are not used.

    They let the network choose another mean and deviation where it needs them.
    """
    return layer_norm(x, torch.ones_like(gamma), torch.zeros_like(beta), eps)


@layer.misconception
def shifted_before_the_gain(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You add beta before you multiply by gamma.

    The shift is then stretched as well. Multiply first, add afterwards.
    """
    return gamma * (layer_norm(x, torch.ones_like(gamma), torch.zeros_like(beta), eps) + beta)


@layer.misconception
def gain_and_shift_confused(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You multiply by beta and add gamma.

    gamma is the gain, around 1, and multiplies; beta is the shift, around 0, and is added.
    """
    return layer_norm(x, beta, gamma, eps)


@layer.misconception
def eps_fixed(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """Your eps is always 1e-5, whatever eps the caller asks for.

    The argument has a default, and is an argument all the same: models differ in it.
    """
    return layer_norm(x, gamma, beta)


@layer.misconception
def over_the_second_dimension(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """Your mean and variance are taken over the second dimension, which is the last one only in a batch of vectors.

    `...` may be none, one or several dimensions. The components are always in the last: -1.
    """
    centred = x - x.mean(1, keepdim=True)
    return gamma * centred / (centred.square().mean(1, keepdim=True) + eps).sqrt() + beta


# layer_norm_backward --------------------------------------------------------------------------------------------------

LAYER_NORM_BACKWARD = Family.of(
    "torch's own way back through layer norm", contained=("native_layer_norm_backward", "layer_norm_backward")
)

backward = Exercise(
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


@backward.probe
def two_leading_dimensions(layer_norm_backward: Any) -> Seen:
    """a batch of 2 × 3 vectors of eight components"""
    return three_gradients(layer_norm_backward, *on_the_way_back())


@backward.probe
def one_vector(layer_norm_backward: Any) -> Seen:
    """one vector of six components, without a batch dimension"""
    return three_gradients(layer_norm_backward, normal(6, seed="grad"), normal(6, seed="x"), gains(6))


@backward.probe
def square(layer_norm_backward: Any) -> Seen:
    """four vectors of four components, so that a wrong axis still fits"""
    return three_gradients(layer_norm_backward, normal(4, 4, seed="grad"), normal(4, 4, seed="x"), gains(4))


@backward.probe
def tiny_deviations(layer_norm_backward: Any) -> Seen:
    """vectors so small that eps decides"""
    x = normal(3, 7, seed="x", std=3e-3)
    return three_gradients(layer_norm_backward, normal(3, 7, seed="grad"), x, gains(7))


@backward.probe
def with_another_eps(layer_norm_backward: Any) -> Seen:
    """an eps between 0.3 and 0.9"""
    return three_gradients(layer_norm_backward, *on_the_way_back(), eps=number(0.3, 0.9, seed="eps"))


@backward.probe
def a_large_mean_on_the_way_back(layer_norm_backward: Any) -> Seen:
    """vectors with a mean of 100 and a deviation of 1"""
    x = normal(3, 32, seed="x", mean=100.0)
    return three_gradients(layer_norm_backward, normal(3, 32, seed="grad"), x, gains(32))


@backward.probe
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
    backward,
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


@backward.misconception
def mean_and_deviation_as_constants(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You treat mean and deviation as constants.

    Both depend on x. Their share of the gradient is just what makes it blind to shifting and stretching.
    """
    sigma, _, pull = parts(grad, x, gamma, eps)
    return with_dx(pull / sigma, grad, x, gamma, eps)


@backward.misconception
def deviation_as_a_constant(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You let the gradient pass through the mean but not through the deviation.

    σ depends on x too: the component of the gradient along the normalised vector is missing from what you subtract.
    """
    sigma, _, pull = parts(grad, x, gamma, eps)
    return with_dx((pull - mean_of(pull)) / sigma, grad, x, gamma, eps)


@backward.misconception
def mean_as_a_constant(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You let the gradient pass through the deviation but not through the mean.

    The mean depends on every component of x, so the average of the gradient has to be taken off.
    """
    sigma, unit, pull = parts(grad, x, gamma, eps)
    return with_dx((pull - unit * mean_of(pull * unit)) / sigma, grad, x, gamma, eps)


@backward.misconception
def gain_forgotten(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You forget gamma on the way back to x.

    Forward, the normalised vector is multiplied by gamma; backward, so is the gradient.
    """
    return with_dx(layer_norm_backward(grad, x, torch.ones_like(gamma), eps)[0], grad, x, gamma, eps)


@backward.misconception
def not_divided_by_sigma(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You do not divide dx by σ.

    The forward pass divides by σ, so the gradient does too: small deviations make large gradients.
    """
    sigma, _, _ = parts(grad, x, gamma, eps)
    return with_dx(layer_norm_backward(grad, x, gamma, eps)[0] * sigma, grad, x, gamma, eps)


@backward.misconception
def summed_instead_of_averaged(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You subtract sums over the components where means belong.

    Mean and variance are averages over d components, so each component has a share of 1/d in them.
    """
    sigma, unit, pull = parts(grad, x, gamma, eps)
    dx = (pull - pull.sum(-1, keepdim=True) - unit * (pull * unit).sum(-1, keepdim=True)) / sigma
    return with_dx(dx, grad, x, gamma, eps)


@backward.misconception
def not_summed_over_the_batch(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """Your dgamma and dbeta still have the batch dimensions.

    One gamma serves all vectors, so the gradients of all vectors add up in it.
    """
    _, unit, _ = parts(grad, x, gamma, eps)
    return layer_norm_backward(grad, x, gamma, eps)[0], grad * unit, grad


@backward.misconception
def averaged_over_the_batch(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You average dgamma and dbeta over the batch instead of summing.

    If the loss is a mean, its gradient carries that division already; here contributions add up.
    """
    dx, dgamma, dbeta = layer_norm_backward(grad, x, gamma, eps)
    count = x.numel() // x.shape[-1]
    return dx, dgamma / count, dbeta / count


@backward.misconception
def gradient_of_gamma_from_x(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """Your dgamma uses x where it needs the normalised x.

    gamma multiplies the normalised vector; that is its derivative.
    """
    dx, _, dbeta = layer_norm_backward(grad, x, gamma, eps)
    return dx, (grad * x).reshape(-1, x.shape[-1]).sum(0), dbeta


@backward.misconception
def left_to_autograd(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You let autograd do it, and the probes run without autograd.

    The exercise is the formula: three lines that you can derive with a pencil.
    """
    x = x.detach().clone().requires_grad_()
    return torch.autograd.grad(layer_norm(x, gamma, torch.zeros_like(gamma), eps), x, grad)


@backward.misconception
def left_to_torch_func(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You let `torch.func` do it, and the probes run without it.

    The exercise is the formula: three lines that you can derive with a pencil.
    """
    vjp: Any = torch.func.vjp
    _, back = vjp(lambda x, gamma, beta: layer_norm(x, gamma, beta, eps), x, gamma, torch.zeros_like(gamma))
    return back(grad)


@backward.misconception
def stretch_added(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You add the component along the normalised vector where it is to be taken off.

    Stretching x changes nothing, so nothing of the gradient may be left in that direction; with the wrong sign it
    doubles.
    """
    sigma, unit, pull = parts(grad, x, gamma, eps)
    return with_dx((pull - mean_of(pull) + unit * mean_of(pull * unit)) / sigma, grad, x, gamma, eps)


@backward.misconception
def gain_and_shift_exchanged(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You return dbeta before dgamma.

    The order is that of the arguments of the way forward: x, gamma, beta.
    """
    dx, dgamma, dbeta = layer_norm_backward(grad, x, gamma, eps)
    return dx, dbeta, dgamma


@backward.misconception
def unbiased_on_the_way_back(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """Your σ has d - 1 under its sum of squares: the unbiased variance.

    torch's `var` and `std` do so unless told otherwise. The way back uses the same σ as the way forward.
    """
    sigma = root(x.var(-1, keepdim=True), eps)
    unit, pull = (x - mean_of(x)) / sigma, grad * gamma
    dx = (pull - mean_of(pull) - unit * mean_of(pull * unit)) / sigma
    d = x.shape[-1]
    return dx, (grad * unit).reshape(-1, d).sum(0), grad.reshape(-1, d).sum(0)


@backward.misconception
def one_batch_dimension(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """You sum dgamma and dbeta over the first dimension only, which is right for a single batch dimension.

    `...` may be none, one or several dimensions, and gamma serves them all: sum over everything but the last.
    """
    _, unit, _ = parts(grad, x, gamma, eps)
    return layer_norm_backward(grad, x, gamma, eps)[0], (grad * unit).sum(0), grad.sum(0)


@backward.misconception
def eps_fixed_on_the_way_back(grad: Tensor, x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Any:
    """Your eps is always 1e-5, whatever eps the caller asks for.

    σ has to be the one of the way forward, and eps is part of it.
    """
    return layer_norm_backward(grad, x, gamma)


# batch_norm -----------------------------------------------------------------------------------------------------------

batch = Exercise(
    batch_norm,
    section="Batch norm",
    minutes=15,
    difficulty=2,
    why="The same formula over another axis: here examples of a batch change one another.",
    hints=[
        "Layer norm takes a row at a time, batch norm a column: which dimension is the batch?",
        "In training mode the statistics are those of this very batch; no running averages.",
        "The variance is biased here as well: divide by the size of the batch.",
    ],
    forbid=[BATCH_NORM],
)


def a_batch() -> tuple[Tensor, Tensor, Tensor]:
    return normal(6, 4, seed="x", std=2.0, mean=1.0), gains(4), shifts(4)


@batch.probe
def six_vectors(batch_norm: Any) -> Seen:
    """a batch of six vectors of four components"""
    return {"normalised": batch_norm(*a_batch())}


@batch.probe
def square_batch(batch_norm: Any) -> Seen:
    """five vectors of five components, so that a wrong axis still fits"""
    return {"normalised": batch_norm(normal(5, 5, seed="x"), gains(5), shifts(5))}


@batch.probe
def batches_with_sizes_of_one(batch_norm: Any) -> Seen:
    """a batch of one vector, vectors of one component, and both"""
    size, d = distinct(2, 9, 2, seed="sizes")
    return {
        f"normalised, shape {shape}": batch_norm(normal(*shape, seed="x"), gains(shape[1]), shifts(shape[1]))
        for shape in [(1, d), (size, 1), (1, 1)]
    }


@batch.probe
def nearly_constant(batch_norm: Any) -> Seen:
    """components so nearly constant that eps decides"""
    return {"normalised": batch_norm(normal(7, 3, seed="x", std=3e-3), torch.ones(3), torch.zeros(3))}


@batch.probe
def another_eps_here(batch_norm: Any) -> Seen:
    """an eps between 0.3 and 0.9"""
    return {"normalised": batch_norm(*a_batch(), eps=number(0.3, 0.9, seed="eps"))}


usual(batch, a_batch)


@batch.misconception
def each_vector_by_itself(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You normalise each vector by itself.

    That is layer norm. Batch norm gives each *component* mean 0 over the batch, so every vector depends on the others.
    """
    return layer_norm(x, gamma, beta, eps)


@batch.misconception
def one_statistic_for_all(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You take one mean and one variance for the whole batch.

    Each component has its own: they may live on very different scales.
    """
    return over_everything(x, gamma, beta, eps)


@batch.misconception
def unbiased_over_the_batch(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You divide the sum of squares by batch - 1.

    In training mode batch norm uses the biased variance. (torch keeps the unbiased one for its running average, and
    for that alone.)
    """
    centred = x - x.mean(0)
    return gamma * centred / (centred.square().sum(0) / (len(x) - 1) + eps).sqrt() + beta


@batch.misconception
def eps_after_the_root(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You add eps after the square root.

    Under the root it matters as soon as σ comes near 0.003; beside the root only at 0.00001.
    """
    return gamma * (x - x.mean(0)) / (x.var(0, unbiased=False).sqrt() + eps) + beta


@batch.misconception
def variance_instead_of_deviation(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You divide by the variance; the square root is missing.

    Then a component with a large spread becomes too small, one with a small spread too large.
    """
    return gamma * (x - x.mean(0)) / (x.var(0, unbiased=False) + eps) + beta


@batch.misconception
def gain_and_shift_unused(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You normalise, but gamma and beta are not used.

    They belong to the layer: after normalising, each component is stretched and shifted.
    """
    return batch_norm(x, torch.ones_like(gamma), torch.zeros_like(beta), eps)


@batch.misconception
def eps_left_out(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You leave eps out.

    A component that is the same in the whole batch, a dead unit say, is then divided by 0; and so is a batch of one.
    """
    return gamma * (x - x.mean(0)) / x.var(0, unbiased=False).sqrt() + beta


@batch.misconception
def mean_kept(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You divide by the deviation, but do not subtract the mean.

    Each component keeps its offset. After batch norm it has the mean that beta says, and no other.
    """
    return gamma * x / (x.var(0, unbiased=False) + eps).sqrt() + beta


@batch.misconception
def shifted_before_the_stretch(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You add beta before you multiply by gamma.

    The shift is then stretched as well. Multiply first, add afterwards.
    """
    return gamma * (batch_norm(x, torch.ones_like(gamma), torch.zeros_like(beta), eps) + beta)


@batch.misconception
def stretched_before_normalising(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You stretch and shift x first and normalise it afterwards.

    Normalising undoes both: only the sign of gamma is left. Gain and shift come last.
    """
    return batch_norm(gamma * x + beta, torch.ones_like(gamma), torch.zeros_like(beta), eps)


@batch.misconception
def squared_where_a_root_belongs(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You divide by the square of the variance, eps included; its root is asked for.

    A power of 2 where 1/2 belongs: the larger the deviation, the smaller the result, by its fourth power.
    """
    return gamma * (x - x.mean(0)) / (x.var(0, unbiased=False) + eps) ** 2 + beta


@batch.misconception
def eps_always_the_same(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """Your eps is always 1e-5, whatever eps the caller asks for.

    The argument has a default, and is an argument all the same: models differ in it.
    """
    return batch_norm(x, gamma, beta)


# rms_norm -------------------------------------------------------------------------------------------------------------

rms = Exercise(
    rms_norm,
    section="RMS norm",
    minutes=5,
    difficulty=1,
    why="LayerNorm without the mean and the shift; many large models of today do without both.",
    hints=[
        "Root, mean, square: read the name from right to left.",
        "Nothing is centred and nothing is shifted: there is no mean to subtract and no beta to add.",
        "It is the mean of the squares, not their sum, and eps goes under the root.",
    ],
    forbid=[RMS_NORM],
)


def vectors_and_gains() -> tuple[Tensor, Tensor]:
    return normal(2, 3, 5, seed="x", std=2.0, mean=1.0), gains(5)


@rms.probe
def a_batch_off_centre(rms_norm: Any) -> Seen:
    """2 × 3 vectors of five components that do not average to 0"""
    return {"normalised": rms_norm(*vectors_and_gains())}


@rms.probe
def one_vector_alone(rms_norm: Any) -> Seen:
    """one vector of seven components"""
    return {"normalised": rms_norm(normal(7, seed="x"), gains(7))}


@rms.probe
def a_square_batch(rms_norm: Any) -> Seen:
    """four vectors of four components, so that a wrong axis still fits"""
    return {"normalised": rms_norm(normal(4, 4, seed="x"), gains(4))}


@rms.probe
def vectors_with_sizes_of_one(rms_norm: Any) -> Seen:
    """vectors in shapes that have sizes of 1"""
    return {
        f"normalised, shape {shape}": rms_norm(normal(*shape, seed="x"), gains(shape[-1]))
        for shape in ones_in_turn("rms")
    }


@rms.probe
def tiny_vectors(rms_norm: Any) -> Seen:
    """vectors so small that eps decides"""
    return {"normalised": rms_norm(normal(3, 6, seed="x", std=1e-3), torch.ones(6))}


@rms.probe
def a_large_eps(rms_norm: Any) -> Seen:
    """an eps between 0.3 and 0.9"""
    return {"normalised": rms_norm(*vectors_and_gains(), eps=number(0.3, 0.9, seed="eps"))}


def vector_and_gain_of_one_shape() -> tuple[Tensor, Tensor]:
    return normal(6, seed="x"), gains(6)


usual(rms, vectors_and_gains, alike=vector_and_gain_of_one_shape)


@rms.misconception
def centred_first(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You subtract the mean first.

    That is layer norm without its shift. RMS norm saves that step: dividing is what keeps the network calm.
    """
    return rms_norm(x - mean_of(x), gamma, eps)


@rms.misconception
def divided_by_the_length(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You divide by the length of the vector: the root of the *sum* of squares.

    Components then shrink as vectors grow wider. With the mean of the squares, their typical size is 1 at any width.
    """
    return gamma * x / (x.square().sum(-1, keepdim=True) + eps).sqrt()


@rms.misconception
def eps_outside_the_root(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You add eps after the square root.

    Under the root it acts from an RMS of about 0.001 on, beside it from 0.000001.
    """
    return gamma * x / (x.square().mean(-1, keepdim=True).sqrt() + eps)


@rms.misconception
def root_forgotten(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You divide by the mean square; the root is missing.

    A vector of twice the size should come out the same, not half as large.
    """
    return gamma * x / (x.square().mean(-1, keepdim=True) + eps)


@rms.misconception
def absolute_mean(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You divide by the mean of the absolute values.

    It is a measure of size too, but another one: squares first, then the mean, then the root.
    """
    return gamma * x / (x.abs().mean(-1, keepdim=True) + eps)


@rms.misconception
def gains_unused(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You normalise, but gamma is not used.

    Each component has a gain that is learned; multiply by it.
    """
    return rms_norm(x, torch.ones_like(gamma), eps)


@rms.misconception
def over_all_vectors(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You take one root mean square for the whole tensor.

    Each vector is measured by itself, along the last dimension.
    """
    return gamma * x / (x.square().mean() + eps).sqrt()


@rms.misconception
def no_eps_at_all(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You leave eps out.

    Some libraries scale the vector to the length √d and have no eps, or one so small that it never acts. Here it is
    an argument, and decides for very small vectors.
    """
    return gamma * x / x.square().mean(-1, keepdim=True).sqrt()


@rms.misconception
def one_added_to_the_gain(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You multiply by 1 + gamma.

    Gemma's code does so, with gains that start at 0. Here gamma is the gain itself.
    """
    return rms_norm(x, 1 + gamma, eps)


@rms.misconception
def across_the_vectors(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """Your mean of the squares is taken over the first dimension, across vectors.

    No vector's result may depend on its neighbours: the mean is over the last dimension.
    """
    return gamma * x / (x.square().mean(0, keepdim=True) + eps).sqrt()


@rms.misconception
def stretched_first(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You multiply by gamma before you normalise.

    The root mean square is then that of the stretched vector, and divides most of the gain away again.
    """
    return rms_norm(gamma * x, torch.ones_like(gamma), eps)


@rms.misconception
def square_of_the_mean(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You square the mean; it is the mean of the squares that is asked for.

    The mean of a vector may be near 0 however large its entries are. Square first, then average.
    """
    return gamma * x / (x.mean(-1, keepdim=True).square() + eps).sqrt()


@rms.misconception
def eps_not_the_callers(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """Your eps is always 1e-6, whatever eps the caller asks for.

    The argument has a default, and is an argument all the same: models differ in it.
    """
    return rms_norm(x, gamma)


@rms.misconception
def along_the_second_dimension(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """Your mean of the squares is taken over the second dimension, which is the last one only in a batch of vectors.

    `...` may be none, one or several dimensions. The components are always in the last: -1.
    """
    return gamma * x / (x.square().mean(1, keepdim=True) + eps).sqrt()


# PreNorm and PostNorm -------------------------------------------------------------------------------------------------


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


pre = Exercise(
    PreNorm,
    section="Before or after",
    minutes=10,
    difficulty=2,
    why="The stream stays untouched from bottom to top: gradients have a straight way back.",
    hints=[
        "Two ways lead through the block: one around the sublayer, one through it. Which of them meets the norm?",
        "The way around stays untouched: what is added at the end is x itself.",
        "The sublayer may take more than x: hand `*args` on.",
    ],
)
look_at(pre)


@pre.misconception
class NormalisedAfterwards(PreNorm):
    """You normalise the sum: that is post-norm.

    Then the way around the sublayer passes through the norm of every layer; in pre-norm it stays free.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x + self.sublayer(x, *args))


@pre.misconception
class NormalisedStream(PreNorm):
    """You add the normalised x instead of x.

    The way around should carry x as it is. Normalised, it forgets its size in every layer.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        x = self.norm(x)
        return x + self.sublayer(x, *args)


@pre.misconception
class NoWayAround(PreNorm):
    """You do not add x.

    Without the residual connection a deep stack passes on only what every sublayer lets through.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.sublayer(self.norm(x), *args)


@pre.misconception
class SublayerNormalised(PreNorm):
    """You normalise what comes out of the sublayer, not what goes in.

    In pre-norm the sublayer reads a normalised x, and what it says is added as it is.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.norm(self.sublayer(x, *args))


@pre.misconception
class NormForgotten(PreNorm):
    """You do not use the norm.

    What remains is a residual connection; the stream grows from layer to layer and each sublayer sees larger numbers.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.sublayer(x, *args)


@pre.misconception
class ArgumentsDropped(PreNorm):
    """You do not hand the further arguments on to the sublayer.

    A mask, for example, travels that way. Without it attention sees everything.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.sublayer(self.norm(x))


@pre.misconception
class ArgumentsInOnePiece(PreNorm):
    """You hand the further arguments on as one tuple.

    The sublayer takes them one by one: the star that packed them in the signature unpacks them in the call.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.sublayer(self.norm(x), args)


@pre.misconception
class NormalisedOnBothSides(PreNorm):
    """You normalise what goes into the sublayer and what comes out of it.

    Some models do so. In pre-norm what the sublayer says is added as it is, so that it can be loud or quiet.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.norm(self.sublayer(self.norm(x), *args))


@pre.misconception
class NormalisedAtTheEndToo(PreNorm):
    """You normalise what goes into the sublayer, and then the sum as well.

    The norm comes once, before the sublayer; normalised again, the stream is not a free way any more.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x + self.sublayer(self.norm(x), *args))


@pre.misconception
class WaysExchanged(PreNorm):
    """You normalise the way around and let the sublayer read x as it is.

    It is the other way round: the sublayer reads the normalised x, and what is added at the end is x itself.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x) + self.sublayer(x, *args)


post = Exercise(
    PostNorm,
    section="Before or after",
    minutes=10,
    difficulty=2,
    why="The order of 2017: which rates it bears, and what a warm-up changes, is measured in chapter 9.",
    hints=[
        "First the sum, then the norm: what does the sublayer read?",
        "The norm comes last, over x and the sublayer's answer together.",
        "The sublayer may take more than x: hand `*args` on.",
    ],
)
look_at(post)


@post.misconception
class NormalisedBefore(PostNorm):
    """You normalise what goes into the sublayer: that is pre-norm.

    Post-norm, as the original Transformer has it, normalises the sum of x and the sublayer's answer.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.sublayer(self.norm(x), *args)


@post.misconception
class OnlyTheSublayerNormalised(PostNorm):
    """You normalise the sublayer's answer and then add x.

    The norm belongs around the whole sum, so that what leaves the block has a known size.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.norm(self.sublayer(x, *args))


@post.misconception
class NothingAdded(PostNorm):
    """You do not add x.

    Without the residual connection the block forgets everything that its sublayer does not pass on.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(self.sublayer(x, *args))


@post.misconception
class NormalisedTwice(PostNorm):
    """You normalise before the sublayer and after the sum.

    In post-norm the sublayer reads x as it is; the norm comes once, at the end.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x + self.sublayer(self.norm(x), *args))


@post.misconception
class NotNormalised(PostNorm):
    """You do not use the norm.

    What remains is the residual connection, whose sum grows from layer to layer.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.sublayer(x, *args)


@post.misconception
class FurtherArgumentsDropped(PostNorm):
    """You do not hand the further arguments on to the sublayer.

    A mask, for example, travels that way. Without it attention sees everything.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x + self.sublayer(x))


@post.misconception
class FurtherArgumentsInOnePiece(PostNorm):
    """You hand the further arguments on as one tuple.

    The sublayer takes them one by one: the star that packed them in the signature unpacks them in the call.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x + self.sublayer(x, args))


@post.misconception
class StreamAloneNormalised(PostNorm):
    """You normalise x, and add the sublayer's answer afterwards.

    The norm belongs around the whole sum, so that what leaves the block has a known size.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x) + self.sublayer(x, *args)


@post.misconception
class SummandsNormalised(PostNorm):
    """You normalise both summands instead of their sum.

    Then x and the sublayer's answer always weigh the same, however little the sublayer has to say.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x) + self.norm(self.sublayer(x, *args))


@post.misconception
class AnswerNormalisedToo(PostNorm):
    """You normalise the sublayer's answer, and then the sum.

    The norm comes once, at the end: how much the sublayer says is its own business.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x + self.norm(self.sublayer(x, *args)))
