"""The exercise `relative_bucket`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import ignores, squeezes
from proctor.inside.inputs import integers, permutation, whole
from proctor.inside.properties import FLOATING, usual
from proctor.inside.situations import Seen
from qkv.model.positions import (
    relative_bucket,
)

exercise = Exercise(
    relative_bucket,
    section="Buckets for far distances",
    minutes=20,
    difficulty=3,
    why="Near distances exactly and far ones roughly: how T5 gets along with few parameters.",
    hints=[
        "Take the sign away first: which half of the buckets is decided by it, and distance 0 belongs to which half?",
        "With 32 buckets a side has 16: eight for the sizes 0 … 7, eight for everything beyond.",
        "A logarithm makes equal steps of equal ratios. Scale it: 0 at the first far size, 1 at max_distance.",
        "Round down, not to the nearest. And what happens to a distance of 1000?",
    ],
    equivalents={
        "def relative_bucket(distance, n_buckets=32, max_distance=128):  ->  "
        "def relative_bucket(distance, n_buckets=33, max_distance=128):": "33 is cut down as 32 is",
    },
)


def off_the_borders(distance: Tensor, n_buckets: int = 32, max_distance: int = 128) -> Tensor:
    """Where a bucket begins at a whole number, or nearly, the last bit of a logarithm decides: do not look there."""
    exact = n_buckets // 4
    borders = exact * (max_distance / exact) ** (torch.arange(1, exact, dtype=torch.float64) / exact)
    on_border = ((distance.abs()[..., None] - borders).abs() < 1e-3).any(-1)
    return torch.where(on_border, distance + distance.sign(), distance)


def far_and_near() -> tuple[Tensor]:
    return (off_the_borders(integers(-200, 200, 5, 8, seed="distances")),)


@exercise.probe
def near_distances(relative_bucket: Any) -> Seen:
    """distances from -15 to 15 in random order, 32 buckets"""
    return {"buckets": relative_bucket(permutation(31, seed="near") - 15)}


@exercise.probe
def distances_of_hundreds(relative_bucket: Any) -> Seen:
    """a table of distances between -200 and 200, 32 buckets"""
    return {"buckets": relative_bucket(*far_and_near())}


@exercise.probe
def beyond_the_maximum(relative_bucket: Any) -> Seen:
    """distances around the maximum of 128 and far beyond it"""
    ends = torch.tensor([-200000, -5000, -129, -128, -91, -90, 90, 91, 127, 400, 5000, 200000])
    distance = torch.cat([ends, off_the_borders(integers(-9000, 9000, 6, seed="far"))])
    return {"buckets": relative_bucket(distance[permutation(18, seed="order")])}


@exercise.probe
def the_same_place(relative_bucket: Any) -> Seen:
    """distances -1, 0 and 1, in random order"""
    distance = torch.tensor([-1, 0, 1] * 4)
    return {"buckets": relative_bucket(distance[permutation(12, seed="order")])}


@exercise.probe
def another_number_of_buckets(relative_bucket: Any) -> Seen:
    """distances between -120 and 120, another number of buckets, another maximum"""
    n_buckets, maximum = 4 * whole(3, 11, seed="n_buckets"), whole(60, 110, seed="maximum")
    distance = off_the_borders(integers(-120, 120, 40, seed="d"), n_buckets, maximum)
    return {"buckets": relative_bucket(distance, n_buckets=n_buckets, max_distance=maximum)}


@exercise.probe
def twelve_buckets(relative_bucket: Any) -> Seen:
    """every distance from -60 to 60 in random order, 12 buckets up to a distance of about 50"""
    maximum = whole(40, 58, seed="maximum")
    distance = off_the_borders(permutation(121, seed="order") - 60, 12, maximum)
    return {"buckets": relative_bucket(distance, 12, maximum)}


@exercise.probe
def as_few_as_possible(relative_bucket: Any) -> Seen:
    """four buckets; a single distance, in tensors of one dimension, of two, and of none"""
    far, near, behind = integers(9, 40, 1, seed="far"), integers(1, 8, 1, seed="near"), -integers(1, 40, 1, seed="back")
    return {
        "four buckets": relative_bucket(integers(-30, 30, 3, 7, seed="four"), n_buckets=4, max_distance=20),
        "bucket in one dimension": relative_bucket(off_the_borders(far)),
        "bucket in two dimensions": relative_bucket(off_the_borders(behind)[None]),
        "bucket without dimensions": relative_bucket(near[0]),
    }


usual(exercise, far_and_near, without=FLOATING)


def after_the_query(distance: Tensor) -> Tensor:
    return distance > 0


def shares(n_buckets: int) -> tuple[int, int]:
    return n_buckets // 2, n_buckets // 4  # of a side, exact of a side


def by_logarithm(size: Tensor, exact: int, side: int, max_distance: int) -> Tensor:
    progress = (size.clamp(min=exact) / exact).log() / math.log(max_distance / exact)
    return exact + (progress * (side - exact)).long()


def in_the_last_bucket(bucket: Tensor, side: int) -> Tensor:
    return bucket.clamp(max=side - 1)


@exercise.assembled
def bucket_in_steps(
    distance: Tensor,
    n_buckets: int = 32,
    max_distance: int = 128,
    *,
    second_half: Any = after_the_query,
    share: Any = shares,
    grow: Any = by_logarithm,
    stop: Any = in_the_last_bucket,
) -> Tensor:
    side, exact = share(n_buckets)
    size = distance.abs()
    far = stop(grow(size, exact, side, max_distance), side)
    return torch.where(size < exact, size, far) + (n_buckets // 2) * second_half(distance)


@exercise.instead_of("second_half")
def past_in_the_second_half(distance: Tensor) -> Tensor:
    """You offset the negative distances; the positive ones should be.

    A distance is key minus query: positive means that the key comes after the query.
    """
    return distance < 0


@exercise.instead_of("second_half")
def zero_in_the_second_half(distance: Tensor) -> Tensor:
    """You offset distance 0 as well.

    A token's distance to itself is not positive: it has bucket 0.
    """
    return distance >= 0


@exercise.instead_of("second_half")
def both_sides_together(distance: Tensor) -> Tensor:
    """Past and future share their buckets: nothing is offset.

    Half of the buckets is never used, and "three before" cannot be told from "three after".
    """
    return torch.zeros_like(distance, dtype=torch.bool)


@exercise.instead_of("share")
def half_of_all_buckets_exact(n_buckets: int) -> tuple[int, int]:
    """You give each side an exact bucket for n_buckets/2 sizes, so none is left for the logarithm.

    Each side has n_buckets/2 in all, and half of those, n_buckets/4, are exact.
    """
    return n_buckets // 2, n_buckets // 2 - 1


@exercise.instead_of("grow")
def rounded_to_the_nearest(size: Tensor, exact: int, side: int, max_distance: int) -> Tensor:
    """You round the logarithm to the nearest bucket.

    A bucket begins where the logarithm reaches its number, so the fraction is cut off: round down.
    """
    progress = (size.clamp(min=exact) / exact).log() / math.log(max_distance / exact)
    return exact + (progress * (side - exact)).round().long()


@exercise.instead_of("grow")
def rounded_up(size: Tensor, exact: int, side: int, max_distance: int) -> Tensor:
    """You round the logarithm up to the next bucket.

    A bucket begins where the logarithm reaches its number, so the fraction is cut off: round down.
    """
    progress = (size.clamp(min=exact) / exact).log() / math.log(max_distance / exact)
    return exact + (progress * (side - exact)).ceil().long()


@exercise.instead_of("grow")
def logarithm_ends_too_late(size: Tensor, exact: int, side: int, max_distance: int) -> Tensor:
    """You divide by log(max_distance), so your buckets grow too fast and the last ones stay empty.

    The logarithm of size/exact runs from 0 to log(max_distance/exact): that is what it has to be divided by.
    """
    progress = (size.clamp(min=exact) / exact).log() / math.log(max_distance)
    return exact + (progress * (side - exact)).long()


@exercise.instead_of("grow")
def far_ones_in_equal_steps(size: Tensor, exact: int, side: int, max_distance: int) -> Tensor:
    """Your far buckets are all of the same width.

    Between 100 and 108 nobody needs to tell; between 8 and 16 somebody may. A logarithm makes buckets that widen
    with the distance.
    """
    return exact + (size.clamp(min=exact) - exact) * (side - exact) // (max_distance - exact)


@exercise.instead_of("stop")
def past_the_last_bucket(bucket: Tensor, side: int) -> Tensor:
    """Distances beyond max_distance run past the last bucket of their side.

    On the left they land among the buckets for the right, on the right they are no bucket at all. From max_distance
    on, all share the last one.
    """
    return bucket


@exercise.instead_of("stop")
def last_bucket_of_all(bucket: Tensor, side: int) -> Tensor:
    """You stop at the last bucket of all, not at the last one of a side.

    Far distances on the left land among the buckets for the right. Each side ends at n_buckets/2 - 1 before the offset.
    """
    return bucket.clamp(max=2 * side - 1)


@exercise.instead_of("stop")
def one_bucket_short(bucket: Tensor, side: int) -> Tensor:
    """The last bucket of each side stays empty: you stop one before it.

    Buckets count from 0, so a side of n_buckets/2 ends with n_buckets/2 - 1.
    """
    return bucket.clamp(max=side - 2)


@exercise.misconception
def buckets_as_floats(distance: Tensor, n_buckets: int = 32, max_distance: int = 128) -> Tensor:
    """Your buckets are floating numbers.

    They will be looked up in a table, and only whole numbers can be: return int64.
    """
    return relative_bucket(distance, n_buckets, max_distance).float()


@exercise.misconception
def buckets_for_the_past_only(distance: Tensor, n_buckets: int = 32, max_distance: int = 128) -> Tensor:
    """You use all buckets for the past, and every key after the query falls into bucket 0.

    That is T5's version for a decoder, which never looks ahead. This one looks both ways.
    """
    size = (-distance).clamp(min=0)
    exact = n_buckets // 2
    far = by_logarithm(size, exact, n_buckets, max(max_distance, exact + 1)).clamp(max=n_buckets - 1)
    return torch.where(size < exact, size, far)


squeezes(exercise)
ignores(exercise, "n_buckets")
ignores(exercise, "max_distance")
