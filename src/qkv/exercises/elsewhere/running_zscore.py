"""The exercise `running_zscore`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, normal, number, uniform, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.elsewhere import (
    running_zscore,
)

SHIFTED = (
    "a z-score does not change with the series' level; the digits that this level saves are more than is asked for"
)


exercise = Exercise(
    running_zscore,
    section="No look ahead",
    minutes=20,
    difficulty=3,
    why="Normalised with the future, a random walk looks predictable. You now have the version that does not flatter.",
    hints=[
        "What is known at time t: x_0 … x_t, and nothing else. Begin with a loop over t that gets the right numbers.",
        "A sum over all that came so far is `cumsum`; divide by how many there are: 1, 2, 3, …",
        "For the variance, the mean of the squares minus the square of the mean loses its digits at a mean of 100. "
        "Either take for each t the deviations of all earlier values from the mean at t, or use Welford's step: a new "
        "value adds (x_t - mean before) · (x_t - mean after) to the sum of squares.",
    ],
    equivalents={
        "moved = precise - precise[..., :1]  ->  moved = precise": SHIFTED,
        "moved = precise - precise[..., :1]  ->  moved = precise + precise[..., :1]": SHIFTED,
        "seen = torch.arange(1, x.shape[-1] + 1, dtype=precise.dtype, device=x.device)  ->  "
        "seen = torch.arange(1, x.shape[-1] + 1, device=x.device)": "divided by whole numbers a tensor keeps its dtype",
        "precise = x.to(torch.promote_types(x.dtype, torch.float32))  ->  "
        "precise = x.to(torch.promote_types(torch.float32, x.dtype))": "the larger of two dtypes, in either order",
    },
)


def swinging(*shape: int, seed: str, mean: float = 0.0, size: float = 1.0) -> Tensor:
    """A series that swings up and down by about `size`, so that at no time after the first the variance is small."""
    signs = 1 - 2 * (torch.arange(shape[-1]) % 2)
    return (mean + size * signs * uniform(*shape, seed=seed, low=0.5, high=1.5, dtype=torch.float64)).float()


def a_few_series() -> tuple[Tensor]:
    a, time = distinct(3, 8, 2, seed="sizes")
    return (swinging(a, time, seed="x", mean=0.5),)


@exercise.probe
def several_series(running_zscore: Any) -> Seen:
    """several series, `eps` left at its default"""
    a, time = distinct(5, 12, 2, seed="sizes")
    return {"z": running_zscore(normal(a, time, seed="x", std=2.0))}


@exercise.probe
def one_or_two_dimensions_before(running_zscore: Any) -> Seen:
    """one series without a leading dimension; two leading dimensions"""
    a, b, time = distinct(3, 8, 3, seed="sizes")
    return {
        "z of one": running_zscore(normal(time, seed="one", mean=3.0)),
        "z of many": running_zscore(normal(a, b, time, seed="many", mean=-1.0)),
    }


@exercise.probe
def drifting(running_zscore: Any) -> Seen:
    """series that rise all the time"""
    a, time = distinct(4, 9, 2, seed="sizes")
    return {"z": running_zscore(uniform(a, time, seed="steps", low=0.2, high=1.0).cumsum(-1))}


@exercise.probe
def another_small_constant(running_zscore: Any) -> Seen:
    """an eps between 0.3 and 0.9"""
    a, time = distinct(4, 9, 2, seed="sizes")
    return {"z": running_zscore(normal(a, time, seed="x"), number(0.3, 0.9, seed="eps"))}


@exercise.probe
def hardly_moving(running_zscore: Any) -> Seen:
    """series that move so little that eps decides"""
    a, time = distinct(4, 9, 2, seed="sizes")
    return {"z": running_zscore(normal(a, time, seed="x", std=3e-3))}


@exercise.probe
def a_single_value(running_zscore: Any) -> Seen:
    """series of a single value, and series that begin with a few equal ones"""
    a, time = distinct(4, 9, 2, seed="sizes")
    x = normal(a, time, seed="x")
    x[:, :3] = torch.tensor(0.25 * whole(1, 9, seed="still"))
    return {
        "z of single values": running_zscore(normal(a, 1, seed="single")),
        "z after standing still": running_zscore(x),
    }


@exercise.probe
def a_large_mean_of_all(running_zscore: Any) -> Seen:
    """a series with a mean of 100 and a deviation of 1"""
    return {"z": running_zscore(swinging(whole(50, 70, seed="time"), seed="x", mean=100.0))}


@exercise.probe
def a_mean_far_above(running_zscore: Any) -> Seen:
    """series with a mean of 100 and a deviation of 0.1"""
    # Single values are as far off as float32 stores the input. Their size over a long time is not.
    series = swinging(6, whole(80, 100, seed="time"), seed="x", mean=100.0, size=0.1)
    sizes = [running_zscore(x)[1:].square().mean().sqrt() for x in series]
    return {"root mean square of z": torch.stack(sizes)}


@exercise.property
def gradient_of_what_stands_still(running_zscore: Any) -> Seen:
    """the gradient of a series that stands still

    Where nothing varies your gradient is not finite, or not what it should be. eps belongs under the root, so that the
    root is never taken of 0.
    """
    x = torch.full((2, 4), 1.5, requires_grad=True)
    z = running_zscore(x)
    if not z.requires_grad:
        return {"gradient": torch.zeros_like(x)}
    (found,) = torch.autograd.grad(z, x, normal(2, 4, seed="incoming"))
    return {"gradient": found}


usual(exercise, a_few_series)


def mean_so_far(so_far: Tensor, x: Tensor) -> Tensor:
    return so_far.mean(-1)


def variance_so_far(so_far: Tensor, x: Tensor) -> Tensor:
    return (so_far - so_far.mean(-1, keepdim=True)).square().mean(-1)


def root_of_both(variance: Tensor, eps: float) -> Tensor:
    return (variance + eps).sqrt()


@exercise.assembled
def zscore_in_steps(
    x: Tensor,
    eps: float = 1e-5,
    *,
    centre: Any = mean_so_far,
    spread: Any = variance_so_far,
    divisor: Any = root_of_both,
) -> Tensor:
    found = []
    for t in range(x.shape[-1]):
        so_far = x[..., : t + 1]
        found.append((x[..., t] - centre(so_far, x)) / divisor(spread(so_far, x), eps))
    return torch.stack(found, -1)


@exercise.misconception
def normalised_with_the_future(x: Tensor, eps: float = 1e-5) -> Tensor:
    """You normalise with the mean and the variance of the whole series.

    At time t the values after t are not known. Whoever sees their mean sees a part of the answer: that is a leak, and
    it flatters every forecast that is tested on the result.
    """
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + eps).sqrt()


@exercise.instead_of("centre")
def mean_of_the_future(so_far: Tensor, x: Tensor) -> Tensor:
    """Your mean is that of the whole series.

    At time t the values after t are not known: the mean is that of x_0 … x_t, as the variance is.
    """
    return x.mean(-1)


@exercise.instead_of("spread")
def variance_of_the_future(so_far: Tensor, x: Tensor) -> Tensor:
    """Your variance is that of the whole series.

    At time t the values after t are not known: the variance is that of x_0 … x_t, as the mean is.
    """
    return x.var(-1, correction=0)


@exercise.instead_of("centre")
def mean_left_in(so_far: Tensor, x: Tensor) -> Tensor:
    """You do not subtract the mean.

    A z-score says how far a value is from what was usual until then.
    """
    return torch.zeros_like(x[..., 0])


@exercise.instead_of("centre")
def divided_by_the_whole_length(so_far: Tensor, x: Tensor) -> Tensor:
    """You divide the running sum by the length of the whole series.

    At time t there are t + 1 values in the sum.
    """
    return so_far.sum(-1) / x.shape[-1]


@exercise.instead_of("centre")
def first_value_as_the_mean(so_far: Tensor, x: Tensor) -> Tensor:
    """You subtract the first value; it should be the mean of all so far.

    To move the series by its first value is a good first step, against rounding. The mean of what is left is still to
    be subtracted.
    """
    return x[..., 0]


@exercise.instead_of("spread")
def variance_for_a_population(so_far: Tensor, x: Tensor) -> Tensor:
    """You divide the sum of squares by one less than there are values: the unbiased variance.

    torch's `var` does so unless told otherwise. Of a single value it is 0/0, so that your first z-score is NaN.
    """
    return so_far.var(-1)


@exercise.instead_of("spread")
def difference_of_squares(so_far: Tensor, x: Tensor) -> Tensor:
    """You compute the variance as the mean of the squares minus the square of the mean.

    For a mean of 100 both are near 10,000 and float32 keeps about seven digits: their difference has lost most of its
    own. Subtract a mean first.
    """
    return so_far.square().mean(-1) - so_far.mean(-1).square()


@exercise.instead_of("spread")
def each_from_its_own_mean(so_far: Tensor, x: Tensor) -> Tensor:
    """You average the squared distances of each value from the mean *at its own time*.

    The variance at t is about one mean, that at t, for all values so far. The sum of squares has to follow when the
    mean moves.
    """
    count = torch.arange(1, so_far.shape[-1] + 1, dtype=x.dtype, device=x.device)
    return (so_far - so_far.cumsum(-1) / count).square().mean(-1)


@exercise.instead_of("divisor")
def constant_after_the_root(variance: Tensor, eps: float) -> Tensor:
    """You add eps after the square root.

    Under the root it sets the smallest deviation to √eps, about 0.003; beside it to eps itself, 300 times less.
    """
    return variance.sqrt() + eps


@exercise.instead_of("divisor")
def constant_left_out(variance: Tensor, eps: float) -> Tensor:
    """You leave eps out.

    The first value has no variance at all, and your first z-score is 0/0.
    """
    return variance.sqrt()


@exercise.instead_of("divisor")
def root_left_out(variance: Tensor, eps: float) -> Tensor:
    """You divide by the variance; the square root is missing.

    A z-score counts in standard deviations. Divided by the variance it would depend on the unit of the series.
    """
    return variance + eps


@exercise.misconception
def constant_never_changed(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Your eps is always 1e-5, whatever eps the caller asks for.

    The argument has a default, and is an argument all the same.
    """
    return running_zscore(x)


@exercise.misconception
def itself_left_out(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Your mean and variance are those of the values *before* t.

    x_t is known at time t, and counts: mean and variance are those of x_0 … x_t, itself included.
    """
    found = [x[..., 0] / eps**0.5]
    for t in range(1, x.shape[-1]):
        before = x[..., :t]
        found.append((x[..., t] - before.mean(-1)) / (before.var(-1, correction=0) + eps).sqrt())
    return torch.stack(found, -1)


@exercise.misconception
def from_here_to_the_end(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Your mean and variance are those of x_t and all that comes *after* it.

    That is the future. What is known at t is x_0 … x_t.
    """
    return running_zscore(x.flip(-1), eps).flip(-1)


@exercise.misconception
def across_the_series(x: Tensor, eps: float = 1e-5) -> Tensor:
    """You run along the first dimension, from series to series.

    Time is the last dimension, however many there are before it.
    """
    return running_zscore(x.movedim(0, -1), eps).movedim(-1, 0)


@exercise.misconception
def series_run_together(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Your sums run on from one series into the next.

    Each series begins anew: only the last dimension is summed along.
    """
    return running_zscore(x.flatten(), eps).reshape(x.shape)


@exercise.misconception
def statistics_cut_off(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Your values are right, but no gradient goes through the mean and the variance.

    Both depend on x. `.detach()` and `torch.no_grad()` cut them out of the graph.
    """
    parts = [x.detach()[..., : t + 1] for t in range(x.shape[-1])]
    mean = torch.stack([mean_so_far(so_far, x) for so_far in parts], -1)
    variance = torch.stack([variance_so_far(so_far, x) for so_far in parts], -1)
    return (x - mean) / root_of_both(variance, eps)


squeezes(exercise)
unpacks(exercise, "x", "batch", "time")
