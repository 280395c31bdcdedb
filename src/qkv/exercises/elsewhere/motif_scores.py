"""The exercise `motif_scores`."""

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
from qkv.exercises.elsewhere.shared import (
    UNKNOWN,
    a_with_g,
    all_but_the_last,
    all_windows,
    bases,
    complement,
    other_strand,
    windows_in_steps,
    windows_past_the_end,
    with_unknown,
)
from qkv.model.elsewhere import (
    motif_scores,
)

exercise = Exercise(
    motif_scores,
    section="A motif on either strand",
    minutes=15,
    difficulty=2,
    why="It is how binding sites are found: a convolution over letters, looked for on both strands.",
    hints=[
        "Place the motif at t. Base t + i stands below row i of the matrix and picks one of four numbers. Sum these.",
        "An N picks a number as well: give every row a fifth column for it. What is in that column?",
        "The other strand of the *same* window: its bases in reverse order, each as its complement. Turning the window "
        "is one way; turning the matrix is another. The result stays at t.",
    ],
    equivalents={
        "complement = torch.where(windows == 4, 4, 3 - windows)  ->  "
        "complement = torch.where(windows == 5, 4, 3 - windows)": (
            "N becomes -1, and the last of the five columns is the one for N"
        ),
        "worth = F.pad(pwm, (0, 1))  ->  worth = F.pad(pwm, (0, 2))": "a sixth column of zeros is never asked for",
    },
)


def motif_of(m: int) -> Tensor:
    """Numbers of all sizes; no row or column has a mean of 0."""
    return normal(m, 4, seed="pwm", mean=0.4)


def reads_and_motif() -> tuple[Tensor, Tensor]:
    a, m = distinct(3, 7, 2, seed="sizes")
    return with_unknown(a, 3 * m + 2, seed="ids"), motif_of(m)


def both_strands(motif_scores: Any, *arguments: Tensor, of: str = "") -> Seen:
    forward, backward = motif_scores(*arguments)
    return {f"forward{of}": forward, f"backward{of}": backward}


@exercise.probe
def known_bases(motif_scores: Any) -> Seen:
    """several reads, all bases known"""
    a, m = distinct(3, 7, 2, seed="sizes")
    return both_strands(motif_scores, bases(a, 3 * m + 1, seed="ids"), motif_of(m))


@exercise.probe
def some_unknown_bases(motif_scores: Any) -> Seen:
    """reads with an N here and there"""
    return both_strands(motif_scores, *reads_and_motif())


@exercise.probe
def one_read_and_many(motif_scores: Any) -> Seen:
    """one read without a leading dimension; reads with two leading dimensions"""
    a, b, m = distinct(2, 6, 3, seed="sizes")
    return {
        **both_strands(motif_scores, with_unknown(4 * m + 7, seed="one read"), motif_of(m), of=" of one read"),
        **both_strands(motif_scores, with_unknown(a, b, 3 * m + 4, seed="many reads"), motif_of(m), of=" of many"),
    }


@exercise.probe
def hardly_any_room(motif_scores: Any) -> Seen:
    """a motif of one base; reads as long as the motif, shorter than the motif, and empty"""
    a, m = distinct(3, 8, 2, seed="sizes")
    return {
        **both_strands(motif_scores, with_unknown(a, m + 6, seed="ids"), motif_of(1), of=", motif of one base"),
        **both_strands(motif_scores, bases(a, m, seed="just fits"), motif_of(m), of=", reads of m bases"),
        **both_strands(motif_scores, bases(a, m - 1, seed="too short"), motif_of(m), of=", reads of m - 1 bases"),
        **both_strands(motif_scores, bases(a, 0, seed="empty"), motif_of(m), of=", empty reads"),
    }


@exercise.probe
def as_many_places_as_bases(motif_scores: Any) -> Seen:
    """a motif of four places, so that a turned matrix still fits"""
    return both_strands(motif_scores, with_unknown(whole(2, 6, seed="reads"), 13, seed="ids"), motif_of(4))


usual(exercise, reads_and_motif)


def nothing_for_n(pwm: Tensor) -> Tensor:
    return F.pad(pwm, (0, 1))


def summed_up(worths: Tensor) -> Tensor:
    return worths.sum(-1)


@exercise.assembled
def motif_in_steps(
    ids: Tensor,
    pwm: Tensor,
    *,
    cut: Any = all_windows,
    turn: Any = other_strand,
    table: Any = nothing_for_n,
    total: Any = summed_up,
) -> tuple[Tensor, Tensor]:
    windows, worth = cut(ids, len(pwm)), table(pwm)
    place = torch.arange(len(pwm), device=ids.device)
    return total(worth[place, windows]), total(worth[place, turn(windows)])


@exercise.instead_of("turn")
def window_not_reversed(windows: Tensor) -> Tensor:
    """On the other strand you take the complement of each base, but read it in the old order.

    The strands run in opposite directions: there the last base of the window meets the first row of the motif.
    """
    return complement(windows)


@exercise.instead_of("turn")
def window_not_complemented(windows: Tensor) -> Tensor:
    """On the other strand you read the bases in reverse order, but not their complements.

    Opposite A stands T, opposite C stands G. Turning the rows of the matrix alone is this mistake, too.
    """
    return windows.flip(-1)


@exercise.instead_of("turn")
def window_of_wrong_partners(windows: Tensor) -> Tensor:
    """Your complement pairs A with G and C with T.

    A goes with T, and C with G. With the ids 0 1 2 3 that is 3 - b.
    """
    return a_with_g(windows)


@exercise.instead_of("turn")
def complement_of_n_is_t(windows: Tensor) -> Tensor:
    """On the other strand your N becomes a T.

    3 - 4 is -1, and the column -1 is the last one. Nobody knows the base opposite an unknown one: it adds 0 there, too.
    """
    return torch.where(windows == UNKNOWN, 3, 3 - windows).flip(-1)


@exercise.instead_of("turn")
def same_strand_twice(windows: Tensor) -> Tensor:
    """Both of your scores are those of the forward strand.

    The second one is the score of the reverse complement of the window.
    """
    return windows


@exercise.instead_of("table")
def n_worth_the_mean(pwm: Tensor) -> Tensor:
    """Your N is worth the mean of its row.

    That is a guess, and for a matrix whose rows do not sum to 0 it is no neutral one. An N adds 0.
    """
    return torch.cat([pwm, pwm.mean(1, keepdim=True)], 1)


@exercise.instead_of("table")
def n_worth_the_least(pwm: Tensor) -> Tensor:
    """Your N is worth as little as the worst base of its row.

    An unknown base is evidence neither for the motif nor against it: it adds 0.
    """
    return torch.cat([pwm, pwm.amin(1, keepdim=True)], 1)


@exercise.instead_of("table")
def motif_reversed(pwm: Tensor) -> Tensor:
    """You slide the motif along back to front, as a convolution does in mathematics.

    Row 0 of the matrix meets the base at t, row 1 the base at t + 1. (What torch calls a convolution does so, too.)
    """
    return nothing_for_n(pwm.flip(0))


@exercise.instead_of("total")
def worth_averaged(worths: Tensor) -> Tensor:
    """You take the mean of the m numbers; their sum is asked for.

    Each place of the motif is one piece of evidence, and a longer motif has more of it.
    """
    return worths.mean(-1)


@exercise.instead_of("total")
def worth_multiplied(worths: Tensor) -> Tensor:
    """You multiply the numbers; they should be summed.

    Probabilities would be multiplied. The entries of a weight matrix are logarithms of such, and may be negative.
    """
    return worths.prod(-1)


@exercise.instead_of("cut")
def last_place_lost(ids: Tensor, size: int) -> Tensor:
    """The last place of the motif is missing.

    A motif of m bases fits at t = 0 … seq - m: that makes seq - m + 1 places.
    """
    return all_but_the_last(ids, size)


@exercise.instead_of("cut")
def motif_in_leaps(ids: Tensor, size: int) -> Tensor:
    """Your motif moves on by its own length; it should move by one base.

    A motif begins where it likes. Every position t gets a score.
    """
    return windows_in_steps(ids, size)


@exercise.instead_of("cut")
def motif_past_the_end(ids: Tensor, size: int) -> Tensor:
    """Your motif slides out over the end of the read, where a part of it meets nothing.

    Only places where all of it fits count: seq - m + 1 of them, and none in a read that is shorter than the motif.
    """
    return windows_past_the_end(ids, size)


@exercise.misconception
def n_counted_as_an_a(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """You count an N as an A.

    N means that nobody knows the base. It adds 0.
    """
    return motif_scores(ids.masked_fill(ids == UNKNOWN, 0), pwm)


@exercise.misconception
def n_counted_as_a_t(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """You count an N as a T: ids above 3 are cut down to 3.

    N means that nobody knows the base. It adds 0.
    """
    return motif_scores(ids.clamp(max=3), pwm)


@exercise.misconception
def window_given_up_for_an_n(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """One N makes the score of your whole window 0.

    The other bases are known, and count. Only the N adds 0.
    """
    spoilt = (all_windows(ids, len(pwm)) == UNKNOWN).any(-1)
    forward, backward = motif_scores(ids, pwm)
    return forward.masked_fill(spoilt, 0.0), backward.masked_fill(spoilt, 0.0)


@exercise.misconception
def counted_from_the_other_end(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """Your backward scores are those of the other strand, counted from its own beginning.

    Turned as a whole, the read begins with what was its end. backward[t] belongs to the same bases as forward[t].
    """
    forward, backward = motif_scores(ids, pwm)
    return forward, backward.flip(-1)


@exercise.misconception
def strands_exchanged(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """You return the backward scores first.

    Forward first, then backward.
    """
    forward, backward = motif_scores(ids, pwm)
    return backward, forward


@exercise.misconception
def better_strand_alone(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """You return the better of the two strands, twice.

    Which strand it was is worth knowing: the two scores are asked for one by one.
    """
    better = torch.maximum(*motif_scores(ids, pwm))
    return better, better


squeezes(exercise)
unpacks(exercise, "ids", "batch", "seq")
