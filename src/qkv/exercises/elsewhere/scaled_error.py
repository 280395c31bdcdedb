"""The exercise `scaled_error`."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.elsewhere import (
    scaled_error,
)

exercise = Exercise(
    scaled_error,
    section="Better than what?",
    minutes=10,
    difficulty=1,
    why="It compares with the simplest rival there is, in any unit: above 1 you could have repeated the last season.",
    hints=[
        "Two means, one division. The one above is about the forecast; the one below is about the history alone.",
        "The naive forecast says: as it was one season ago. How far off was it, on average, within the history?",
        "`history[..., season:]` and `history[..., :-season]` stand side by side, a season apart. Absolute values "
        "before the mean.",
    ],
)


def forecasts(*leading: int, horizon: int, time: int) -> tuple[Tensor, Tensor, Tensor]:
    """A history that drifts, so that the sum of its steps is not 0, and no forecast that is right."""
    history = normal(*leading, time, seed="history", mean=0.3).cumsum(-1) + 5
    actual = history[..., -1:] + normal(*leading, horizon, seed="actual", std=1.5)
    return actual + normal(*leading, horizon, seed="misses"), actual, history


def some_forecasts() -> tuple[Any, ...]:
    a, horizon, season = distinct(2, 7, 3, seed="sizes")
    return *forecasts(a, horizon=horizon, time=3 * season + 2), season


@exercise.probe
def seasonal_forecasts(scaled_error: Any) -> Seen:
    """several forecasts, and a season"""
    return {"error": scaled_error(*some_forecasts())}


@exercise.probe
def season_left_out(scaled_error: Any) -> Seen:
    """a call that leaves `season` at its default"""
    a, horizon, time = distinct(4, 11, 3, seed="sizes")
    return {"error": scaled_error(*forecasts(a, horizon=horizon, time=time))}


@exercise.probe
def one_forecast_and_many(scaled_error: Any) -> Seen:
    """one forecast without a leading dimension; a batch of one; two leading dimensions"""
    a, b, horizon, season = distinct(2, 8, 4, seed="sizes")
    return {
        "error of one": scaled_error(*forecasts(horizon=horizon, time=2 * season + 3), season),
        "error of a batch of one": scaled_error(*forecasts(1, horizon=horizon, time=2 * season + 3), season),
        "error of many": scaled_error(*forecasts(a, b, horizon=horizon, time=4 * season + 1), season),
    }


@exercise.probe
def shortest_series(scaled_error: Any) -> Seen:
    """a horizon of one step; a history that is longer than a season by one value"""
    a, horizon, season = distinct(3, 8, 3, seed="sizes")
    return {
        "error of one step": scaled_error(*forecasts(a, horizon=1, time=3 * season), season),
        "error after a short history": scaled_error(*forecasts(a, horizon=horizon, time=season + 1), season),
        "error after two values": scaled_error(*forecasts(a, horizon=horizon, time=2), 1),
    }


def around_zero(forecast: Tensor, actual: Tensor, history: Tensor, season: int) -> tuple[Any, ...]:
    """The same error of values of both signs: of positive ones `abs_` and `relu_` would change nothing."""
    last, middle = history[..., -1:], history.mean(-1, keepdim=True)
    return forecast - last, actual - last, history - middle, season


usual(
    exercise,
    lambda: around_zero(*some_forecasts()),
    alike=lambda: around_zero(*forecasts(3, horizon=6, time=6), 2),
)


def absolute_misses(forecast: Tensor, actual: Tensor) -> Tensor:
    return (forecast - actual).abs().mean(-1)


def absolute_steps(history: Tensor, season: int) -> Tensor:
    return (history[..., season:] - history[..., :-season]).abs().mean(-1)


@exercise.assembled
def scaled_in_steps(
    forecast: Tensor,
    actual: Tensor,
    history: Tensor,
    season: int = 1,
    *,
    miss: Any = absolute_misses,
    naive: Any = absolute_steps,
) -> Tensor:
    return miss(forecast, actual) / naive(history, season)


@exercise.instead_of("miss")
def misses_squared(forecast: Tensor, actual: Tensor) -> Tensor:
    """You square the misses of the forecast; absolute values are asked for.

    Squares have another unit than what you divide by: the result would change with the unit of the series.
    """
    return (forecast - actual).square().mean(-1)


@exercise.instead_of("miss")
def misses_that_cancel(forecast: Tensor, actual: Tensor) -> Tensor:
    """You average the misses with their signs, so that too much and too little cancel.

    Take the absolute value of each before the mean.
    """
    return (forecast - actual).mean(-1)


@exercise.instead_of("miss")
def absolute_after_the_mean(forecast: Tensor, actual: Tensor) -> Tensor:
    """You take the absolute value after the mean of the misses.

    By then too much and too little have cancelled. Each miss counts: absolute values first.
    """
    return (forecast - actual).mean(-1).abs()


@exercise.instead_of("miss")
def misses_summed(forecast: Tensor, actual: Tensor) -> Tensor:
    """You sum the misses over the horizon; their mean is asked for.

    Otherwise a longer horizon is a worse forecast.
    """
    return (forecast - actual).abs().sum(-1)


@exercise.instead_of("naive")
def season_overlooked(history: Tensor, season: int) -> Tensor:
    """You compare neighbours in the history, whatever `season` says.

    The naive forecast of a seasonal series repeats the value of one season ago.
    """
    return absolute_steps(history, 1)


@exercise.instead_of("naive")
def differences_of_differences(history: Tensor, season: int) -> Tensor:
    """You take differences of differences, `season` times over: the `n` of `torch.diff` does that.

    What is asked for is one difference, over the distance of a season.
    """
    return history.diff(n=season).abs().mean(-1)


@exercise.instead_of("naive")
def steps_that_cancel(history: Tensor, season: int) -> Tensor:
    """You average the steps of the history with their signs, so that up and down cancel.

    What is left is how far the series got. Take the absolute value of each step before the mean.
    """
    return (history[..., season:] - history[..., :-season]).mean(-1)


@exercise.instead_of("naive")
def round_the_end(history: Tensor, season: int) -> Tensor:
    """Your first values are compared with the last ones: `roll` goes round the end.

    The first season has nothing before it. The mean is over t = season … time - 1.
    """
    return (history - history.roll(season, -1)).abs().mean(-1)


@exercise.instead_of("naive")
def steps_miscounted(history: Tensor, season: int) -> Tensor:
    """You divide the sum of the steps by the length of the history.

    There are fewer steps than values, by one season: time - season.
    """
    return (history[..., season:] - history[..., :-season]).abs().sum(-1) / history.shape[-1]


@exercise.instead_of("naive")
def steps_squared(history: Tensor, season: int) -> Tensor:
    """You square the steps of the history; absolute values are asked for.

    Squares have another unit than the misses: the result would change with the unit of the series.
    """
    return (history[..., season:] - history[..., :-season]).square().mean(-1)


@exercise.instead_of("naive")
def deviation_of_the_history(history: Tensor, season: int) -> Tensor:
    """You divide by the standard deviation of the history.

    That of a series which drifts grows with its length. The yardstick is the naive forecast, one season back.
    """
    return history.std(-1)


@exercise.instead_of("naive")
def size_of_the_history(history: Tensor, season: int) -> Tensor:
    """You divide by the mean size of the history.

    Then adding 1,000 to everything would make the forecast look better. The yardstick is the naive forecast.
    """
    return history.abs().mean(-1)


@exercise.misconception
def squares_above_and_below(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You compare mean squares; mean absolute values are asked for.

    Squares count a large miss more. That is another measure, and one that nobody's 1 can be compared with.
    """
    return scaled_in_steps(forecast, actual, history, season, miss=misses_squared, naive=steps_squared)


@exercise.misconception
def roots_of_squares(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You compare roots of mean squares; mean absolute values are asked for.

    That measure exists (RMSSE). This one takes absolute values (MASE).
    """
    return scaled_in_steps(forecast, actual, history, season, miss=misses_squared, naive=steps_squared).sqrt()


@exercise.misconception
def sums_above_and_below(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You divide a sum by a sum; both should be means.

    There are far more steps in the history than in the horizon, and a longer history would make any forecast look good.
    """
    steps = (history[..., season:] - history[..., :-season]).abs().sum(-1)
    return (forecast - actual).abs().sum(-1) / steps


@exercise.misconception
def scaled_by_what_came(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You divide by the mean size of what came.

    Near 0 that explodes, and it changes when 1,000 is added to everything. The yardstick is the naive forecast.
    """
    return absolute_misses(forecast, actual) / actual.abs().mean(-1)


@exercise.misconception
def naive_forecast_of_what_came(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """Your yardstick is the naive forecast's error on the values that came; it is to be made from the history.

    Some published code does so. The yardstick then depends on the very values that are to be predicted: where the test
    is calm, a good forecast looks bad, and over a short horizon there are hardly any steps to average.
    """
    return absolute_misses(forecast, actual) / absolute_steps(actual, season)


@exercise.misconception
def each_in_its_own_share(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You divide each miss by the value that came, as a percentage error does.

    Where a value is near 0 that explodes. All misses are divided by one number, the error of the naive forecast.
    """
    return ((forecast - actual) / actual).abs().mean(-1)


@exercise.misconception
def repeated_from_the_end(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You divide by the error that the last value of the history makes on what came.

    A fair rival, but with a short horizon it may be lucky. The yardstick is taken from the history, which is long.
    """
    return absolute_misses(forecast, actual) / (actual - history[..., -1:]).abs().mean(-1)


@exercise.misconception
def upside_down(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """Your fraction is upside down: the naive error divided by that of the forecast.

    A smaller error should be better. Below 1 the forecast beats the naive one.
    """
    return 1 / scaled_error(forecast, actual, history, season)


@exercise.misconception
def one_number_for_all(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You average over all series together.

    Each series has an error of its own, in its own unit: only the last dimension is averaged.
    """
    return (forecast - actual).abs().mean() / (history[..., season:] - history[..., :-season]).abs().mean()


squeezes(exercise)
unpacks(exercise, "forecast", "batch", "horizon")
