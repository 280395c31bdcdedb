"""The exercise `retrieval_recall`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, normal, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.elsewhere import (
    retrieval_recall,
)

exercise = Exercise(
    retrieval_recall,
    section="Pictures with words",
    minutes=15,
    difficulty=2,
    why="You can now say how well two encoders found each other, and no model that answers the same to all fools you.",
    hints=[
        "For one image: how many *other* texts score as high as its own, or higher? Ask the same of all rows at once.",
        "Own entries are on the diagonal. As a column they are compared with rows; and as a row?",
        "No sorting is needed, and it would hide the ties: count the entries that are ≥ own, without own itself, and "
        "ask whether there are fewer than k.",
    ],
)


def fitting(n: int, seed: str, lift: float = 1.2) -> Tensor:
    """Scores without ties, the right ones a little higher; images find their texts more often than texts theirs."""
    return normal(n, n, seed=seed) + lift * torch.eye(n) + torch.linspace(-1.5, 1.5, n)[:, None]


def with_ties(n: int, seed: str) -> Tensor:
    """Small whole numbers, so that many are equal, the right ones a little higher; rows of different height."""
    rows = integers(0, 2, n, 1, seed=f"{seed}: rows")
    return (integers(0, 5, n, n, seed=seed) + 2 * torch.eye(n).long() + rows).float()


def recalls(retrieval_recall: Any, scores: Tensor, k: int, of: str = "") -> Seen:
    to_text, to_image = retrieval_recall(scores, k)
    return {f"image to text{of}": to_text, f"text to image{of}": to_image}


def one_table() -> tuple[Tensor, int]:
    return with_ties(whole(13, 18, seed="n"), "scores") - 3, 2  # of both signs, as cosines are


@exercise.probe
def without_ties(retrieval_recall: Any) -> Seen:
    """tables without ties, for k = 1, 2 and 4"""
    found: Seen = {}
    for k, n in zip((1, 2, 4), distinct(12, 24, 3, seed="sizes"), strict=True):
        found |= recalls(retrieval_recall, fitting(n, f"table {k}"), k, of=f" at k = {k}")
    return found


@exercise.probe
def many_ties(retrieval_recall: Any) -> Seen:
    """tables with many equal scores, for k = 1, 2 and 4"""
    found: Seen = {}
    for k, n in zip((1, 2, 4), distinct(14, 26, 3, seed="sizes"), strict=True):
        found |= recalls(retrieval_recall, with_ties(n, f"table {k}"), k, of=f" at k = {k}")
    return found


@exercise.probe
def constant_models(retrieval_recall: Any) -> Seen:
    """a model that gives all pairs one score, and one that gives each image one score for all texts"""
    n = whole(5, 12, seed="n")
    found = recalls(retrieval_recall, torch.full((n, n), float(whole(-3, 4, seed="score"))), 1, of=" of a constant")
    blind = normal(n, 1, seed="blind").expand(n, n)
    found |= recalls(retrieval_recall, blind.contiguous(), n - 1, of=" of a model that is blind to texts")
    return found | recalls(retrieval_recall, with_ties(n + 7, "beside"), 2, of=" of another")


@exercise.probe
def large_k(retrieval_recall: Any) -> Seen:
    """k = n - 1, k = n and k above n; a single pair"""
    n = whole(6, 12, seed="n")
    found = recalls(retrieval_recall, with_ties(n + 5, "beside"), 3, of=" of another")
    for k, size in ((n - 1, "n - 1"), (n, "n"), (n + 3, "n + 3")):
        found |= recalls(retrieval_recall, fitting(n, "scores", lift=-1.0), k, of=f" at k = {size}")
    return found | recalls(retrieval_recall, normal(1, 1, seed="single"), 1, of=" of a single pair")


usual(exercise, one_table, without=("gradients",))


def others_ahead(table: Tensor) -> Tensor:
    """For each row, how many entries other than its own are as large as that, or larger."""
    return (table >= table.diagonal()[:, None]).sum(1) - 1


def fewer_than_k(ahead: Tensor, k: int) -> Tensor:
    return ahead < k


def share_of_rows(found: Tensor, k: int) -> Tensor:
    return found.float().mean()


@exercise.assembled
def recall_in_steps(
    scores: Tensor,
    k: int,
    *,
    ahead: Any = others_ahead,
    found: Any = fewer_than_k,
    share: Any = share_of_rows,
) -> tuple[Tensor, Tensor]:
    to_text, to_image = (share(found(ahead(table), k), k).to(scores.dtype) for table in (scores, scores.T))
    return to_text, to_image


@exercise.instead_of("ahead")
def ties_won(table: Tensor) -> Tensor:
    """You count a tie as won.

    Then a model that gives all pairs one score finds everything. An entry that equals the right one is ahead of it.
    """
    return (table > table.diagonal()[:, None]).sum(1)


@exercise.instead_of("ahead")
def ties_by_place(table: Tensor) -> Tensor:
    """Where scores are equal, the place in the table decides for you, as it does when you sort.

    Sorted, a model that gives all pairs one score finds the first k of n, by luck. Most public code sorts; here a tie
    is lost, so that such a model finds nothing.
    """
    order = table.argsort(dim=1, descending=True, stable=True)
    own = torch.arange(len(table), device=table.device)[:, None]
    return (order == own).int().argmax(1)


@exercise.instead_of("ahead")
def ties_halved(table: Tensor) -> Tensor:
    """You count a tie as half a place.

    That would be fair on average. Here a tie is lost: an entry that equals the right one counts as ahead of it.
    """
    own = table.diagonal()[:, None]
    return (table > own).sum(1) + ((table == own).sum(1) - 1) / 2


@exercise.instead_of("ahead")
def own_among_the_others(table: Tensor) -> Tensor:
    """You count the right entry itself among those that are as large as it.

    Then nothing is ever found at k = 1. Only *other* entries count.
    """
    return (table >= table.diagonal()[:, None]).sum(1)


@exercise.instead_of("ahead")
def smallest_is_best(table: Tensor) -> Tensor:
    """For you the smallest scores are the best.

    So it would be with distances. These are scores: the larger, the better the fit.
    """
    return others_ahead(-table)


@exercise.instead_of("found")
def one_more_than_k(ahead: Tensor, k: int) -> Tensor:
    """You allow k others ahead of the right one; then it is at place k + 1.

    Among the k best means that *fewer than* k others are ahead.
    """
    return ahead <= k


@exercise.instead_of("found")
def first_place_only(ahead: Tensor, k: int) -> Tensor:
    """You ask for the first place, whatever k is.

    The right entry may be anywhere among the k best.
    """
    return ahead < 1


@exercise.instead_of("found")
def exactly_at_k(ahead: Tensor, k: int) -> Tensor:
    """You count the rows whose right entry is exactly at place k.

    Better places count as well: among the k best.
    """
    return ahead == k - 1


@exercise.instead_of("share")
def hits_counted(found: Tensor, k: int) -> Tensor:
    """You return how many were found; the share is asked for.

    Divide by the number of rows. Otherwise a larger table looks better.
    """
    return found.float().sum()


@exercise.instead_of("share")
def in_percent(found: Tensor, k: int) -> Tensor:
    """You return percent; a share is asked for, from 0 to 1.

    Papers print recall in percent. A function had better not.
    """
    return 100 * found.float().mean()


@exercise.instead_of("share")
def divided_by_k(found: Tensor, k: int) -> Tensor:
    """You divide by k as well: that is the precision.

    Of k answers at most one is right, so the precision is at most 1/k. Recall asks whether the right one is among them.
    """
    return found.float().mean() / k


@exercise.instead_of("share")
def share_of_the_missed(found: Tensor, k: int) -> Tensor:
    """You return the share of those that were *not* found.

    Recall is the share of those that were.
    """
    return (~found).float().mean()


@exercise.misconception
def reciprocal_places(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """You average 1/place of the right entry, up to place k.

    That is the mean reciprocal rank. For recall every place up to k counts 1.
    """

    def one_way(table: Tensor) -> Tensor:
        ahead = others_ahead(table)
        return ((ahead < k) / (ahead + 1.0)).mean().to(scores.dtype)

    return one_way(scores), one_way(scores.T)


@exercise.misconception
def directions_exchanged(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Your two results are exchanged: the columns come first.

    A row belongs to an image and holds its texts, so rows are image to text, and they come first.
    """
    to_text, to_image = retrieval_recall(scores, k)
    return to_image, to_text


@exercise.misconception
def rows_both_times(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Both of your results are image to text.

    For text to image the right entry is compared with its column.
    """
    to_text, _ = retrieval_recall(scores, k)
    return to_text, to_text


@exercise.misconception
def columns_both_times(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Both of your results are text to image.

    For image to text the right entry is compared with its row.
    """
    _, to_image = retrieval_recall(scores, k)
    return to_image, to_image


@exercise.misconception
def mean_of_both_ways(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """You return the mean of both directions, twice.

    The two directions often differ, and are reported one by one.
    """
    to_text, to_image = retrieval_recall(scores, k)
    mean = (to_text + to_image) / 2
    return mean, mean
