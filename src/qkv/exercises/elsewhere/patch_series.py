"""The exercise `patch_series`."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, normal, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.elsewhere.shared import all_windows
from qkv.model.elsewhere import (
    patch_series,
)

exercise = Exercise(
    patch_series,
    section="A series in patches",
    minutes=8,
    difficulty=1,
    why="A single number says little. A patch is a token with some meaning, and there are fewer of them to attend to.",
    hints=[
        "How many whole patches are there? How many values are left over, and on which side?",
        "The newest value says most about what comes next, so it is the oldest ones that have to go.",
        "Drop them from the front; what is left can be reshaped. Beware of `x[..., -n:]`: for n = 0 it is all of x.",
    ],
)


def series_with_a_rest(*leading: int, seed: str) -> tuple[Tensor, int]:
    """Of a length at which at least two values are left over, and never as many as a patch."""
    patch = whole(4, 7, seed=f"{seed}: patch")
    n, rest = whole(3, 9, seed=f"{seed}: n"), whole(2, 4, seed=f"{seed}: rest")
    return normal(*leading, n * patch + rest, seed=seed), patch


def some_series() -> tuple[Tensor, int]:
    return series_with_a_rest(whole(2, 5, seed="leading"), seed="x")


@exercise.probe
def values_left_over(patch_series: Any) -> Seen:
    """several series, some values left over"""
    return {"patches": patch_series(*some_series())}


@exercise.probe
def nothing_left_over(patch_series: Any) -> Seen:
    """series that are divided without a remainder"""
    a, n, patch = distinct(2, 7, 3, seed="sizes")
    return {"patches": patch_series(normal(a, n * patch, seed="x"), patch)}


@exercise.probe
def one_series_and_many(patch_series: Any) -> Seen:
    """one series without a leading dimension; two leading dimensions"""
    a, b = distinct(2, 6, 2, seed="sizes")
    return {
        "patches of one": patch_series(*series_with_a_rest(seed="one")),
        "patches of many": patch_series(*series_with_a_rest(a, b, seed="many")),
    }


@exercise.probe
def patches_of_extreme_sizes(patch_series: Any) -> Seen:
    """patches of one value; one patch that takes all; one patch, and a rest; a rest of a single value"""
    a, time = distinct(4, 9, 2, seed="sizes")
    return {
        "patches of one value": patch_series(normal(a, time, seed="x"), 1),
        "a patch of all values": patch_series(normal(a, time, seed="x"), time),
        "one patch and a rest": patch_series(normal(a, time, seed="x"), time - 2),
        "patches and a rest of one": patch_series(normal(a, 3 * time + 1, seed="longer"), time),
    }


@exercise.probe
def too_short_for_a_patch(patch_series: Any) -> Seen:
    """series that are shorter than a patch, or empty, beside a long one"""
    a, time = distinct(3, 8, 2, seed="sizes")
    return {
        "patches of a short series": patch_series(normal(a, time, seed="short"), time + 1),
        "patches of an empty series": patch_series(normal(a, 0, seed="empty"), time),
        "patches of a long series": patch_series(normal(a, 2 * time + 2, seed="long"), time),
    }


usual(exercise, some_series)


def newest_kept(x: Tensor, patch: int) -> Tensor:
    return x[..., x.shape[-1] % patch :]


def side_by_side(x: Tensor, patch: int) -> Tensor:
    return x.unflatten(-1, (x.shape[-1] // patch, patch))


@exercise.assembled
def patches_in_steps(x: Tensor, patch: int, *, keep: Any = newest_kept, cut: Any = side_by_side) -> Tensor:
    return cut(keep(x, patch), patch)


@exercise.instead_of("keep")
def newest_dropped(x: Tensor, patch: int) -> Tensor:
    """You drop the newest values, which are left over at the end.

    They say most about what comes next. The rest is dropped at the front, where the series is oldest.
    """
    return x[..., : x.shape[-1] - x.shape[-1] % patch]


@exercise.instead_of("keep")
def zeros_before(x: Tensor, patch: int) -> Tensor:
    """You fill up the first patch with zeros.

    They never happened: the model would learn from values that nobody measured. What fills no patch is dropped.
    """
    return F.pad(x, (-x.shape[-1] % patch, 0))


@exercise.instead_of("keep")
def zeros_after(x: Tensor, patch: int) -> Tensor:
    """You fill up the last patch with zeros.

    They never happened, and look like the latest news. The last patch ends with the newest value.
    """
    return F.pad(x, (0, -x.shape[-1] % patch))


@exercise.instead_of("keep")
def last_value_repeated(x: Tensor, patch: int) -> Tensor:
    """You fill up the last patch by repeating the newest value.

    Some papers do. Here the last patch ends with the newest value itself, and the oldest ones are dropped.
    """
    missing = -x.shape[-1] % patch
    return torch.cat([x, x[..., -1:].expand(*x.shape[:-1], missing)], -1)


@exercise.instead_of("keep")
def both_ends_dropped(x: Tensor, patch: int) -> Tensor:
    """You drop what is left over half at the front and half at the end.

    With a picture one may do so. Of a series the newest value is the one that must not be lost.
    """
    rest = x.shape[-1] % patch
    return x[..., rest // 2 : x.shape[-1] - (rest - rest // 2)]


@exercise.instead_of("cut")
def newest_patch_first(x: Tensor, patch: int) -> Tensor:
    """Your patches come in reverse order, the newest first.

    Within a patch time runs forward, and so it should from patch to patch.
    """
    return side_by_side(x, patch).flip(-2)


@exercise.instead_of("cut")
def backwards_within_a_patch(x: Tensor, patch: int) -> Tensor:
    """Within a patch your values come in reverse order.

    Time runs forward there, too: the last value of a patch is its newest.
    """
    return side_by_side(x, patch).flip(-1)


@exercise.instead_of("cut")
def everything_backwards(x: Tensor, patch: int) -> Tensor:
    """Your series runs backwards, patches and values.

    If you turned it round to count from the newest value, turn the result round again.
    """
    return side_by_side(x, patch).flip(-1, -2)


@exercise.instead_of("cut")
def every_nth_value(x: Tensor, patch: int) -> Tensor:
    """Your patches take every n-th value; they should take neighbours.

    The order in which a reshape reads is that of memory: the last dimension must be the patch when you reshape.
    """
    return x.unflatten(-1, (patch, x.shape[-1] // patch)).mT


@exercise.instead_of("cut")
def patches_as_columns(x: Tensor, patch: int) -> Tensor:
    """Your patches are the columns; they should be the rows.

    A token is a row: (..., time // patch, patch).
    """
    return side_by_side(x, patch).mT


@exercise.misconception
def so_many_patches(x: Tensor, patch: int) -> Tensor:
    """You make as many patches as `patch` says.

    `patch` is how many values a patch has. How many patches there are follows from the length of the series.
    """
    size = x.shape[-1] // patch
    return x[..., x.shape[-1] % patch :].unflatten(-1, (patch, size))


@exercise.misconception
def windows_at_every_step(x: Tensor, patch: int) -> Tensor:
    """Your patches overlap: one begins at every value.

    Then there are as many tokens as values, which saves nothing. Patches stand side by side.
    """
    return all_windows(x, patch)


@exercise.misconception
def patches_that_overlap_by_half(x: Tensor, patch: int) -> Tensor:
    """Your patches overlap by half.

    Some papers do so. Here each value belongs to one patch: they stand side by side.
    """
    return all_windows(x.flip(-1), patch)[..., :: max(patch // 2, 1), :].flip(-1, -2)


@exercise.misconception
def series_joined(x: Tensor, patch: int) -> Tensor:
    """You lay all series end to end, and cut them as one.

    Each is a series of its own. Leading dimensions stay; only the last is cut.
    """
    return patch_series(x.flatten(), patch)


@exercise.misconception
def mean_taken_out(x: Tensor, patch: int) -> Tensor:
    """You subtract from each patch its own mean.

    Whether that helps is another question. Here the values stay as they are, only their shape changes.
    """
    found = patch_series(x, patch)
    return found - found.mean(-1, keepdim=True)


squeezes(exercise)
unpacks(exercise, "x", "batch", "time")
