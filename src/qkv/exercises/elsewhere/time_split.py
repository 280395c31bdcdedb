"""The exercise `time_split`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, number, whole
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.elsewhere import (
    time_split,
)

exercise = Exercise(
    time_split,
    section="Split by time",
    minutes=15,
    difficulty=2,
    why="A test tells of the future only if nothing that it asks for was there to be learned from.",
    hints=[
        "Draw one window on paper: what it reads, what it predicts. Which is the last time at which it may start?",
        "The side of a window is decided by what it *predicts*: from s + context to s + context + horizon - 1.",
        "Two conditions, one for each side: the last predicted time is before cut, or the first one is at or after it. "
        "What is true of neither stays out.",
    ],
)


def split(time_split: Any, *arguments: int, of: str = "") -> Seen:
    train, test = time_split(*arguments)
    return {f"train{of}": train, f"test{of}": test}


def a_series_to_split(seed: str, cut_in: tuple[float, float] = (0.5, 0.7)) -> tuple[int, int, int, int]:
    """With windows on both sides, and some that straddle the cut; no two of the sizes are equal."""
    context, horizon = distinct(3, 8, 2, seed=seed)
    length = whole(50, 70, seed=f"{seed}: length")
    return length, context, horizon, int(number(*cut_in, seed=f"{seed}: cut") * length)


@exercise.probe
def on_both_sides(time_split: Any) -> Seen:
    """a long series with a cut past its middle"""
    return split(time_split, *a_series_to_split("split"))


@exercise.probe
def one_step_ahead(time_split: Any) -> Seen:
    """windows that predict a single value; windows that read a single value"""
    length, context, horizon, cut = a_series_to_split("one")
    return {
        **split(time_split, length, context, 1, cut, of=", horizon 1"),
        **split(time_split, length, 1, horizon, cut, of=", context 1"),
    }


@exercise.probe
def nothing_to_read(time_split: Any) -> Seen:
    """windows that read nothing: a context of 0"""
    length, _, horizon, cut = a_series_to_split("nothing")
    return split(time_split, length, 0, horizon, cut)


@exercise.probe
def cut_at_the_ends(time_split: Any) -> Seen:
    """a cut at 0, at the end of the series, and within what the first window reads"""
    length, context, horizon, _ = a_series_to_split("ends")
    return {
        **split(time_split, length, context, horizon, 0, of=", cut 0"),
        **split(time_split, length, context, horizon, length, of=", cut at the end"),
        **split(time_split, length, context, horizon, context - 1, of=", an early cut"),
    }


@exercise.probe
def hardly_a_window(time_split: Any) -> Seen:
    """series with two windows, with one, with none, and without a value"""
    length, context, horizon, cut = a_series_to_split("hardly")
    size = context + horizon
    return {
        **split(time_split, length, context, horizon, cut, of=" of many"),
        **split(time_split, size + 1, context, horizon, size, of=" of two"),
        **split(time_split, size, context, horizon, context, of=" of one"),
        **split(time_split, size - 1, context, horizon, context, of=" of none"),
        **split(time_split, horizon, context, horizon, horizon, of=" of none at all"),
        **split(time_split, 0, context, horizon, 0, of=" of an empty series"),
    }


exercise.property(repeats(lambda parts: [parts(20, 3, 2, 10), parts(21, 3, 2, 11)]))


def starts_inside(length: int, context: int, horizon: int) -> Tensor:
    return torch.arange(max(length - context - horizon + 1, 0))


def all_of_it_before(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    return first + horizon <= cut


def all_of_it_after(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    return first >= cut


@exercise.assembled
def split_in_steps(
    length: int,
    context: int,
    horizon: int,
    cut: int,
    *,
    windows: Any = starts_inside,
    learned: Any = all_of_it_before,
    tested: Any = all_of_it_after,
) -> tuple[Tensor, Tensor]:
    starts = windows(length, context, horizon)
    first = starts + context
    return starts[learned(first, context, horizon, cut)], starts[tested(first, context, horizon, cut)]


@exercise.instead_of("windows")
def last_window_lost(length: int, context: int, horizon: int) -> Tensor:
    """The last window is missing.

    It starts at length - context - horizon, and it counts: its last value is the last of the series.
    """
    return torch.arange(max(length - context - horizon, 0))


@exercise.instead_of("windows")
def predicting_past_the_end(length: int, context: int, horizon: int) -> Tensor:
    """Your last windows predict values that the series does not have.

    A window lies inside with all that it reads *and* all that it predicts.
    """
    return torch.arange(max(length - context, 0))


@exercise.instead_of("windows")
def windows_apart(length: int, context: int, horizon: int) -> Tensor:
    """Your windows do not overlap.

    A window may start at every time. Neighbours may share values, as long as they are on one side of the cut.
    """
    return starts_inside(length, context, horizon)[:: context + horizon]


@exercise.instead_of("windows")
def steps_of_a_horizon(length: int, context: int, horizon: int) -> Tensor:
    """Your windows move on by a horizon.

    A window may start at every time.
    """
    return starts_inside(length, context, horizon)[::horizon]


@exercise.instead_of("learned")
def straddling_in_train(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """You train on windows that predict values from both sides of the cut.

    What lies at or after the cut is what the test asks for: it would be learned by heart. *All* that is predicted has
    to be before cut.
    """
    return first < cut


@exercise.instead_of("learned")
def train_ends_too_early(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """Your last training window is missing: the one that predicts up to cut - 1.

    Its last value is before cut, so nothing of the test is in it.
    """
    return first + horizon < cut


@exercise.instead_of("learned")
def cut_learned(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """You train on a window that predicts the value at cut.

    The test begins at cut, with this value. The last one to learn from is at cut - 1.
    """
    return first + horizon <= cut + 1


@exercise.instead_of("learned")
def train_by_its_start(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """You train on every window that starts before the cut.

    Most of what the last of them predict lies after it. What counts is where a window's prediction ends.
    """
    return first - context < cut


@exercise.instead_of("tested")
def straddling_in_test(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """You test on windows that predict values from both sides of the cut.

    Some of these values were there to be learned from. *All* that is predicted has to be at or after cut.
    """
    return first + horizon > cut


@exercise.instead_of("tested")
def test_begins_too_late(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """Your first test window is missing: the one whose prediction begins exactly at cut.

    At or after: the value at cut belongs to the test.
    """
    return first > cut


@exercise.instead_of("tested")
def test_begins_too_early(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """You test on a window that predicts the value at cut - 1, which was learned from.

    The first predicted value of a test window is at cut or later.
    """
    return first >= cut - 1


@exercise.instead_of("tested")
def test_reads_nothing_old(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """You ask that a test window also *reads* nothing from before the cut.

    When the future comes the past is known, and may be read. Only what is predicted has to be new.
    """
    return first - context >= cut


@exercise.misconception
def split_by_starts(length: int, context: int, horizon: int, cut: int) -> tuple[Tensor, Tensor]:
    """You split by where a window starts.

    The last windows that start before the cut predict what lies after it: the test would be learned from. A window
    belongs to the side of what it *predicts*.
    """
    starts = starts_inside(length, context, horizon)
    return starts[starts < cut], starts[starts >= cut]


@exercise.misconception
def train_and_test_exchanged(length: int, context: int, horizon: int, cut: int) -> tuple[Tensor, Tensor]:
    """You return the test first.

    Train first, then test.
    """
    train, test = time_split(length, context, horizon, cut)
    return test, train


@exercise.misconception
def first_predictions_returned(length: int, context: int, horizon: int, cut: int) -> tuple[Tensor, Tensor]:
    """You return where the prediction of a window begins.

    The windows are named by where they start, which is `context` earlier.
    """
    train, test = time_split(length, context, horizon, cut)
    return train + context, test + context


@exercise.misconception
def last_predictions_returned(length: int, context: int, horizon: int, cut: int) -> tuple[Tensor, Tensor]:
    """You return where a window ends.

    The windows are named by where they start.
    """
    train, test = time_split(length, context, horizon, cut)
    return train + context + horizon - 1, test + context + horizon - 1


squeezes(exercise)
