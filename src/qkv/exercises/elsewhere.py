"""Chapter 16: words and motifs of DNA, patches of a series, honest splits and errors, pictures and their words."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, normal, number, uniform, whole
from proctor.inside.properties import DTYPES, usual
from qkv.model.elsewhere import (
    kmer_ids,
    motif_scores,
    patch_series,
    retrieval_recall,
    running_zscore,
    scaled_error,
    time_split,
)

Seen = dict[str, Any]
FLOATING = ("gradients", *(f"in_{str(dtype).removeprefix('torch.')}" for dtype in DTYPES))
UNKNOWN = 4  # the id of N


# what both exercises on DNA do ----------------------------------------------------------------------------------------


def bases(*shape: int, seed: str) -> Tensor:
    """Reads without an N."""
    return integers(0, 4, *shape, seed=seed)


def with_unknown(*shape: int, seed: str) -> Tensor:
    """Reads with an N inside all of them, one that begins with N, and one that ends with it."""
    ids = bases(*shape, seed=seed)
    ids[..., whole(2, shape[-1] - 2, seed=f"{seed}: place of N")] = UNKNOWN
    rows = ids.view(-1, shape[-1])
    rows[0, 0], rows[-1, -1] = UNKNOWN, UNKNOWN
    return ids


def all_windows(x: Tensor, size: int) -> Tensor:
    n = max(x.shape[-1] - size + 1, 0)
    return x[..., torch.arange(n, device=x.device)[:, None] + torch.arange(size, device=x.device)]


def all_but_the_last(x: Tensor, size: int) -> Tensor:
    n = max(x.shape[-1] - size, 0)
    return all_windows(x, size)[..., :n, :]


def windows_in_steps(x: Tensor, size: int) -> Tensor:
    return all_windows(x, size)[..., ::size, :]


def windows_past_the_end(ids: Tensor, size: int) -> Tensor:
    """One from every position on; what lies past the end is N."""
    return all_windows(F.pad(ids, (0, size - 1), value=UNKNOWN), size)


def complement(ids: Tensor) -> Tensor:
    return torch.where(ids == UNKNOWN, ids, 3 - ids)


def other_strand(windows: Tensor) -> Tensor:
    return complement(windows).flip(-1)


def a_with_g(windows: Tensor) -> Tensor:
    """The other strand if A stood opposite G, and C opposite T."""
    return torch.where(windows == UNKNOWN, windows, (windows + 2) % 4).flip(-1)


# kmer_ids -------------------------------------------------------------------------------------------------------------

words = Exercise(
    kmer_ids,
    section="Words of DNA",
    minutes=15,
    difficulty=2,
    why="DNA comes without spaces. Now it has words that a Transformer can look up, the same on either strand.",
    hints=[
        "Read ACG as you read a number: each digit counts four times as much as the one to its right.",
        "Cut all windows first, `(..., n, k)`; `unfold` does it, or a table of positions. Then multiply by the "
        "powers of 4 and sum. What if the text is shorter than a word?",
        "On the other strand the *last* base comes first, as its complement: 3 - b. Turn each window by itself, and "
        "give the words with an N their number at the very end.",
    ],
)


def some_reads() -> tuple[Tensor, int, bool]:
    a, k = distinct(3, 7, 2, seed="sizes")
    return with_unknown(a, 3 * k + 2, seed="ids"), k, True


@words.probe
def reads_in_words(kmer_ids: Any) -> Seen:
    """several reads, all bases known, `canonical` not given"""
    a, k = distinct(3, 7, 2, seed="sizes")
    return {"words": kmer_ids(bases(a, 3 * k + 1, seed="ids"), k)}


@words.probe
def unknown_bases(kmer_ids: Any) -> Seen:
    """reads with an N here and there"""
    ids, k, _ = some_reads()
    return {"words": kmer_ids(ids, k, False)}


@words.probe
def canonical_words(kmer_ids: Any) -> Seen:
    """canonical words, all bases known"""
    a, k = distinct(3, 7, 2, seed="sizes")
    return {"words": kmer_ids(bases(a, 5 * k, seed="ids"), k, canonical=True)}


@words.probe
def canonical_words_with_unknown_bases(kmer_ids: Any) -> Seen:
    """canonical words of reads with an N here and there"""
    return {"words": kmer_ids(*some_reads())}


@words.probe
def any_leading_dimensions_of_reads(kmer_ids: Any) -> Seen:
    """one read without a leading dimension; reads with two leading dimensions"""
    a, b, k = distinct(2, 6, 3, seed="sizes")
    found = {}
    for kind, canonical in (("words", False), ("canonical words", True)):
        found[f"{kind} of one read"] = kmer_ids(with_unknown(4 * k + 7, seed="one read"), k, canonical)
        found[f"{kind} of many"] = kmer_ids(with_unknown(a, b, 3 * k + 4, seed="many reads"), k, canonical)
    return found


@words.probe
def short_reads(kmer_ids: Any) -> Seen:
    """words of one base; reads as long as a word, shorter than a word, and empty"""
    a, k = distinct(3, 8, 2, seed="sizes")
    found = {}
    for canonical in (False, True):
        kind = "canonical words" if canonical else "words"
        found[f"{kind} of one base"] = kmer_ids(with_unknown(a, k + 6, seed="single bases"), 1, canonical)
        found[f"{kind} of reads of k bases"] = kmer_ids(bases(a, k, seed="just fits"), k, canonical)
        found[f"{kind} of reads of k - 1 bases"] = kmer_ids(bases(a, k - 1, seed="too short"), k, canonical)
        found[f"{kind} of empty reads"] = kmer_ids(bases(a, 0, seed="empty"), k, canonical)
    return found


@words.probe
def long_words(kmer_ids: Any) -> Seen:
    """words of more than 13 bases, and of nearly 31, whose numbers an int64 just holds"""
    found = {}
    for k in (whole(14, 25, seed="long"), whole(28, 32, seed="longest")):
        for kind, canonical in (("words", False), ("canonical words", True)):
            found[f"{kind} of {k} bases"] = kmer_ids(bases(3, k + 7, seed=f"ids of {k}"), k, canonical)
    return found


usual(words, some_reads, without=FLOATING)


def in_base_four(windows: Tensor) -> Tensor:
    size = windows.shape[-1]
    return (windows * 4 ** torch.arange(size - 1, -1, -1, device=windows.device)).sum(-1)


def unknown_marked(numbers: Tensor, windows: Tensor) -> Tensor:
    return numbers.masked_fill((windows == UNKNOWN).any(-1), 4 ** windows.shape[-1])


@words.assembled
def words_in_steps(
    ids: Tensor,
    k: int,
    canonical: bool = False,
    *,
    cut: Any = all_windows,
    encode: Any = in_base_four,
    turn: Any = other_strand,
    choose: Any = torch.minimum,
    mark: Any = unknown_marked,
) -> Tensor:
    windows = cut(ids, k)
    numbers = encode(windows)
    if canonical:
        numbers = choose(numbers, encode(turn(windows)))
    return mark(numbers, windows)


@words.instead_of("encode")
def first_base_lowest(windows: Tensor) -> Tensor:
    """Your first base counts least; it should count most.

    A number is read from the left: in CAT the C stands for 1·16. Turn the powers of 4 round.
    """
    return in_base_four(windows.flip(-1))


@words.instead_of("encode")
def in_base_five(windows: Tensor) -> Tensor:
    """You count in base 5, as if N were a digit.

    There are four bases, so k of them make 4**k words. A word with an N in it is none of these.
    """
    size = windows.shape[-1]
    return (windows * 5 ** torch.arange(size - 1, -1, -1, device=windows.device)).sum(-1)


@words.instead_of("encode")
def through_float32(windows: Tensor) -> Tensor:
    """Your numbers pass through float32, which loses the last bases of a long word.

    float32 has 24 bits, which is twelve bases. Stay with int64: two bits for each base, up to 31 bases.
    """
    powers = 4.0 ** torch.arange(windows.shape[-1] - 1, -1, -1, dtype=torch.float32, device=windows.device)
    return (windows * powers).sum(-1).long()


@words.instead_of("cut")
def words_side_by_side(ids: Tensor, size: int) -> Tensor:
    """Your words stand side by side; one should begin at every position.

    There are no spaces in DNA. If the words did not overlap, one base lost at the front would change all of them.
    """
    return windows_in_steps(ids, size)


@words.instead_of("cut")
def last_word_lost(ids: Tensor, size: int) -> Tensor:
    """The last word is missing.

    A read of seq bases has seq - k + 1 words: the last begins at seq - k, and it counts.
    """
    return all_but_the_last(ids, size)


@words.instead_of("cut")
def words_past_the_end(ids: Tensor, size: int) -> Tensor:
    """You go on past the end: your last words have fewer than k bases.

    Only whole words count, so there are seq - k + 1 of them, and none in a read that is shorter than a word.
    """
    return windows_past_the_end(ids, size)


@words.instead_of("turn")
def word_not_reversed(windows: Tensor) -> Tensor:
    """For the other strand you take the complement, but do not reverse the word.

    The other strand runs the other way: what was the last base is read first there.
    """
    return complement(windows)


@words.instead_of("turn")
def word_not_complemented(windows: Tensor) -> Tensor:
    """For the other strand you reverse the word, but do not take the complement.

    Opposite A stands T, opposite C stands G: every base becomes 3 - b.
    """
    return windows.flip(-1)


@words.instead_of("turn")
def word_of_wrong_partners(windows: Tensor) -> Tensor:
    """Your complement pairs A with G and C with T.

    A goes with T, and C with G. With the ids 0 1 2 3 that is 3 - b.
    """
    return a_with_g(windows)


@words.instead_of("choose")
def larger_word(here: Tensor, there: Tensor) -> Tensor:
    """Of a word and its reverse complement you take the larger number; the smaller is asked for.

    Either would give both strands one number. That it is the smaller one is a convention that all have to share.
    """
    return torch.maximum(here, there)


@words.instead_of("choose")
def always_the_other_strand(here: Tensor, there: Tensor) -> Tensor:
    """`canonical=True` gives you the word of the other strand, always.

    Then the two strands still have different numbers. Canonical is the smaller of both.
    """
    return there


@words.instead_of("mark")
def n_as_a_digit(numbers: Tensor, windows: Tensor) -> Tensor:
    """You count an N as the digit 4.

    Base 4 has no such digit: AN would be the number of CA. A word with an N gets a number that no other word has, 4**k.
    """
    return numbers


@words.instead_of("mark")
def n_as_minus_one(numbers: Tensor, windows: Tensor) -> Tensor:
    """A word with an N is -1 in your result, expected 4**k.

    The words are rows of a table of embeddings, and the unknown word is its last row: number 4**k, after the others.
    """
    return numbers.masked_fill((windows == UNKNOWN).any(-1), -1)


@words.instead_of("mark")
def n_as_the_last_word(numbers: Tensor, windows: Tensor) -> Tensor:
    """A word with an N is 4**k - 1 in your result, which is TT…T.

    The known words have the numbers 0 to 4**k - 1. The first number that is free is 4**k.
    """
    return numbers.masked_fill((windows == UNKNOWN).any(-1), 4 ** windows.shape[-1] - 1)


@words.misconception
def n_as_an_a(ids: Tensor, k: int, canonical: bool = False) -> Tensor:
    """You read an N as an A.

    N means that nobody knows the base. A word with an N in it is 4**k.
    """
    return kmer_ids(ids.masked_fill(ids == UNKNOWN, 0), k, canonical)


@words.misconception
def n_as_a_t(ids: Tensor, k: int, canonical: bool = False) -> Tensor:
    """You read an N as a T: ids above 3 are cut down to 3.

    N means that nobody knows the base. A word with an N in it is 4**k.
    """
    return kmer_ids(ids.clamp(max=3), k, canonical)


@words.misconception
def strands_kept_apart(ids: Tensor, k: int, canonical: bool = False) -> Tensor:
    """You do not look at `canonical`.

    If it is True, a word and its reverse complement get one number: the smaller of both.
    """
    return kmer_ids(ids, k)


@words.misconception
def always_canonical(ids: Tensor, k: int, canonical: bool = False) -> Tensor:
    """Your words are always canonical.

    That is right where `canonical` is True. Otherwise the word is the number of its own strand.
    """
    return kmer_ids(ids, k, True)


@words.misconception
def whole_read_turned(ids: Tensor, k: int, canonical: bool = False) -> Tensor:
    """You turn the whole read, and compare a word with another place of the other strand.

    Turned as a whole, the first word comes last. The reverse complement of *this* word is what it is compared with.
    """
    here = kmer_ids(ids, k)
    return torch.minimum(here, kmer_ids(other_strand(ids), k)) if canonical else here


# motif_scores ---------------------------------------------------------------------------------------------------------

motif = Exercise(
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


@motif.probe
def known_bases(motif_scores: Any) -> Seen:
    """several reads, all bases known"""
    a, m = distinct(3, 7, 2, seed="sizes")
    return both_strands(motif_scores, bases(a, 3 * m + 1, seed="ids"), motif_of(m))


@motif.probe
def some_unknown_bases(motif_scores: Any) -> Seen:
    """reads with an N here and there"""
    return both_strands(motif_scores, *reads_and_motif())


@motif.probe
def one_read_and_many(motif_scores: Any) -> Seen:
    """one read without a leading dimension; reads with two leading dimensions"""
    a, b, m = distinct(2, 6, 3, seed="sizes")
    return {
        **both_strands(motif_scores, with_unknown(4 * m + 7, seed="one read"), motif_of(m), of=" of one read"),
        **both_strands(motif_scores, with_unknown(a, b, 3 * m + 4, seed="many reads"), motif_of(m), of=" of many"),
    }


@motif.probe
def hardly_any_room(motif_scores: Any) -> Seen:
    """a motif of one base; reads as long as the motif, shorter than the motif, and empty"""
    a, m = distinct(3, 8, 2, seed="sizes")
    return {
        **both_strands(motif_scores, with_unknown(a, m + 6, seed="ids"), motif_of(1), of=", motif of one base"),
        **both_strands(motif_scores, bases(a, m, seed="just fits"), motif_of(m), of=", reads of m bases"),
        **both_strands(motif_scores, bases(a, m - 1, seed="too short"), motif_of(m), of=", reads of m - 1 bases"),
        **both_strands(motif_scores, bases(a, 0, seed="empty"), motif_of(m), of=", empty reads"),
    }


@motif.probe
def as_many_places_as_bases(motif_scores: Any) -> Seen:
    """a motif of four places, so that a turned matrix still fits"""
    return both_strands(motif_scores, with_unknown(whole(2, 6, seed="reads"), 13, seed="ids"), motif_of(4))


usual(motif, reads_and_motif)


def nothing_for_n(pwm: Tensor) -> Tensor:
    return F.pad(pwm, (0, 1))


def summed_up(worths: Tensor) -> Tensor:
    return worths.sum(-1)


@motif.assembled
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


@motif.instead_of("turn")
def window_not_reversed(windows: Tensor) -> Tensor:
    """On the other strand you take the complement of each base, but read it in the old order.

    The strands run in opposite directions: there the last base of the window meets the first row of the motif.
    """
    return complement(windows)


@motif.instead_of("turn")
def window_not_complemented(windows: Tensor) -> Tensor:
    """On the other strand you read the bases in reverse order, but not their complements.

    Opposite A stands T, opposite C stands G. Turning the rows of the matrix alone is this mistake, too.
    """
    return windows.flip(-1)


@motif.instead_of("turn")
def window_of_wrong_partners(windows: Tensor) -> Tensor:
    """Your complement pairs A with G and C with T.

    A goes with T, and C with G. With the ids 0 1 2 3 that is 3 - b.
    """
    return a_with_g(windows)


@motif.instead_of("turn")
def complement_of_n_is_t(windows: Tensor) -> Tensor:
    """On the other strand your N becomes a T.

    3 - 4 is -1, and the column -1 is the last one. Nobody knows the base opposite an unknown one: it adds 0 there, too.
    """
    return torch.where(windows == UNKNOWN, 3, 3 - windows).flip(-1)


@motif.instead_of("turn")
def same_strand_twice(windows: Tensor) -> Tensor:
    """Both of your scores are those of the forward strand.

    The second one is the score of the reverse complement of the window.
    """
    return windows


@motif.instead_of("table")
def n_worth_the_mean(pwm: Tensor) -> Tensor:
    """Your N is worth the mean of its row.

    That is a guess, and for a matrix whose rows do not sum to 0 it is no neutral one. An N adds 0.
    """
    return torch.cat([pwm, pwm.mean(1, keepdim=True)], 1)


@motif.instead_of("table")
def n_worth_the_least(pwm: Tensor) -> Tensor:
    """Your N is worth as little as the worst base of its row.

    An unknown base is evidence neither for the motif nor against it: it adds 0.
    """
    return torch.cat([pwm, pwm.amin(1, keepdim=True)], 1)


@motif.instead_of("table")
def motif_reversed(pwm: Tensor) -> Tensor:
    """You slide the motif along back to front, as a convolution does in mathematics.

    Row 0 of the matrix meets the base at t, row 1 the base at t + 1. (What torch calls a convolution does so, too.)
    """
    return nothing_for_n(pwm.flip(0))


@motif.instead_of("total")
def worth_averaged(worths: Tensor) -> Tensor:
    """You take the mean of the m numbers; their sum is asked for.

    Each place of the motif is one piece of evidence, and a longer motif has more of it.
    """
    return worths.mean(-1)


@motif.instead_of("total")
def worth_multiplied(worths: Tensor) -> Tensor:
    """You multiply the numbers; they should be summed.

    Probabilities would be multiplied. The entries of a weight matrix are logarithms of such, and may be negative.
    """
    return worths.prod(-1)


@motif.instead_of("cut")
def last_place_lost(ids: Tensor, size: int) -> Tensor:
    """The last place of the motif is missing.

    A motif of m bases fits at t = 0 … seq - m: that makes seq - m + 1 places.
    """
    return all_but_the_last(ids, size)


@motif.instead_of("cut")
def motif_in_leaps(ids: Tensor, size: int) -> Tensor:
    """Your motif moves on by its own length; it should move by one base.

    A motif begins where it likes. Every position t gets a score.
    """
    return windows_in_steps(ids, size)


@motif.instead_of("cut")
def motif_past_the_end(ids: Tensor, size: int) -> Tensor:
    """Your motif slides out over the end of the read, where a part of it meets nothing.

    Only places where all of it fits count: seq - m + 1 of them, and none in a read that is shorter than the motif.
    """
    return windows_past_the_end(ids, size)


@motif.misconception
def n_counted_as_an_a(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """You count an N as an A.

    N means that nobody knows the base. It adds 0.
    """
    return motif_scores(ids.masked_fill(ids == UNKNOWN, 0), pwm)


@motif.misconception
def n_counted_as_a_t(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """You count an N as a T: ids above 3 are cut down to 3.

    N means that nobody knows the base. It adds 0.
    """
    return motif_scores(ids.clamp(max=3), pwm)


@motif.misconception
def window_given_up_for_an_n(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """One N makes the score of your whole window 0.

    The other bases are known, and count. Only the N adds 0.
    """
    spoilt = (all_windows(ids, len(pwm)) == UNKNOWN).any(-1)
    forward, backward = motif_scores(ids, pwm)
    return forward.masked_fill(spoilt, 0.0), backward.masked_fill(spoilt, 0.0)


@motif.misconception
def counted_from_the_other_end(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """Your backward scores are those of the other strand, counted from its own beginning.

    Turned as a whole, the read begins with what was its end. backward[t] belongs to the same bases as forward[t].
    """
    forward, backward = motif_scores(ids, pwm)
    return forward, backward.flip(-1)


@motif.misconception
def strands_exchanged(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """You return the backward scores first.

    Forward first, then backward.
    """
    forward, backward = motif_scores(ids, pwm)
    return backward, forward


@motif.misconception
def better_strand_alone(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """You return the better of the two strands, twice.

    Which strand it was is worth knowing: the two scores are asked for one by one.
    """
    better = torch.maximum(*motif_scores(ids, pwm))
    return better, better


# patch_series ---------------------------------------------------------------------------------------------------------

patching_series = Exercise(
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


@patching_series.probe
def values_left_over(patch_series: Any) -> Seen:
    """several series, some values left over"""
    return {"patches": patch_series(*some_series())}


@patching_series.probe
def nothing_left_over(patch_series: Any) -> Seen:
    """series that are divided without a rest"""
    a, n, patch = distinct(2, 7, 3, seed="sizes")
    return {"patches": patch_series(normal(a, n * patch, seed="x"), patch)}


@patching_series.probe
def one_series_and_many(patch_series: Any) -> Seen:
    """one series without a leading dimension; two leading dimensions"""
    a, b = distinct(2, 6, 2, seed="sizes")
    return {
        "patches of one": patch_series(*series_with_a_rest(seed="one")),
        "patches of many": patch_series(*series_with_a_rest(a, b, seed="many")),
    }


@patching_series.probe
def patches_of_extreme_sizes(patch_series: Any) -> Seen:
    """patches of one value; one patch that takes all; one patch, and a rest; a rest of a single value"""
    a, time = distinct(4, 9, 2, seed="sizes")
    return {
        "patches of one value": patch_series(normal(a, time, seed="x"), 1),
        "a patch of all values": patch_series(normal(a, time, seed="x"), time),
        "one patch and a rest": patch_series(normal(a, time, seed="x"), time - 2),
        "patches and a rest of one": patch_series(normal(a, 3 * time + 1, seed="longer"), time),
    }


@patching_series.probe
def too_short_for_a_patch(patch_series: Any) -> Seen:
    """series that are shorter than a patch, or empty, beside a long one"""
    a, time = distinct(3, 8, 2, seed="sizes")
    return {
        "patches of a short series": patch_series(normal(a, time, seed="short"), time + 1),
        "patches of an empty series": patch_series(normal(a, 0, seed="empty"), time),
        "patches of a long series": patch_series(normal(a, 2 * time + 2, seed="long"), time),
    }


usual(patching_series, some_series)


def newest_kept(x: Tensor, patch: int) -> Tensor:
    return x[..., x.shape[-1] % patch :]


def side_by_side(x: Tensor, patch: int) -> Tensor:
    return x.unflatten(-1, (x.shape[-1] // patch, patch))


@patching_series.assembled
def patches_in_steps(x: Tensor, patch: int, *, keep: Any = newest_kept, cut: Any = side_by_side) -> Tensor:
    return cut(keep(x, patch), patch)


@patching_series.instead_of("keep")
def newest_dropped(x: Tensor, patch: int) -> Tensor:
    """You drop the newest values, which are left over at the end.

    They say most about what comes next. The rest is dropped at the front, where the series is oldest.
    """
    return x[..., : x.shape[-1] - x.shape[-1] % patch]


@patching_series.instead_of("keep")
def zeros_before(x: Tensor, patch: int) -> Tensor:
    """You fill up the first patch with zeros.

    They never happened: the model would learn from values that nobody measured. What fills no patch is dropped.
    """
    return F.pad(x, (-x.shape[-1] % patch, 0))


@patching_series.instead_of("keep")
def zeros_after(x: Tensor, patch: int) -> Tensor:
    """You fill up the last patch with zeros.

    They never happened, and look like the latest news. The last patch ends with the newest value.
    """
    return F.pad(x, (0, -x.shape[-1] % patch))


@patching_series.instead_of("keep")
def last_value_repeated(x: Tensor, patch: int) -> Tensor:
    """You fill up the last patch by repeating the newest value.

    Some papers do. Here the last patch ends with the newest value itself, and the oldest ones are dropped.
    """
    missing = -x.shape[-1] % patch
    return torch.cat([x, x[..., -1:].expand(*x.shape[:-1], missing)], -1)


@patching_series.instead_of("keep")
def both_ends_dropped(x: Tensor, patch: int) -> Tensor:
    """You drop what is left over half at the front and half at the end.

    With a picture one may do so. Of a series the newest value is the one that must not be lost.
    """
    rest = x.shape[-1] % patch
    return x[..., rest // 2 : x.shape[-1] - (rest - rest // 2)]


@patching_series.instead_of("cut")
def newest_patch_first(x: Tensor, patch: int) -> Tensor:
    """Your patches come in reverse order, the newest first.

    Within a patch time runs forward, and so it should from patch to patch.
    """
    return side_by_side(x, patch).flip(-2)


@patching_series.instead_of("cut")
def backwards_within_a_patch(x: Tensor, patch: int) -> Tensor:
    """Within a patch your values come in reverse order.

    Time runs forward there, too: the last value of a patch is its newest.
    """
    return side_by_side(x, patch).flip(-1)


@patching_series.instead_of("cut")
def everything_backwards(x: Tensor, patch: int) -> Tensor:
    """Your series runs backwards, patches and values.

    If you turned it round to count from the newest value, turn the result round again.
    """
    return side_by_side(x, patch).flip(-1, -2)


@patching_series.instead_of("cut")
def every_nth_value(x: Tensor, patch: int) -> Tensor:
    """Your patches take every n-th value; they should take neighbours.

    The order in which a reshape reads is that of memory: the last dimension must be the patch when you reshape.
    """
    return x.unflatten(-1, (patch, x.shape[-1] // patch)).mT


@patching_series.instead_of("cut")
def patches_as_columns(x: Tensor, patch: int) -> Tensor:
    """Your patches are the columns; they should be the rows.

    A token is a row: (..., time // patch, patch).
    """
    return side_by_side(x, patch).mT


@patching_series.misconception
def so_many_patches(x: Tensor, patch: int) -> Tensor:
    """You make as many patches as `patch` says.

    `patch` is how many values a patch has. How many patches there are follows from the length of the series.
    """
    size = x.shape[-1] // patch
    return x[..., x.shape[-1] % patch :].unflatten(-1, (patch, size))


@patching_series.misconception
def windows_at_every_step(x: Tensor, patch: int) -> Tensor:
    """Your patches overlap: one begins at every value.

    Then there are as many tokens as values, which saves nothing. Patches stand side by side.
    """
    return all_windows(x, patch)


@patching_series.misconception
def patches_that_overlap_by_half(x: Tensor, patch: int) -> Tensor:
    """Your patches overlap by half.

    Some papers do so. Here each value belongs to one patch: they stand side by side.
    """
    return all_windows(x.flip(-1), patch)[..., :: max(patch // 2, 1), :].flip(-1, -2)


@patching_series.misconception
def series_joined(x: Tensor, patch: int) -> Tensor:
    """You lay all series end to end, and cut them as one.

    Each is a series of its own. Leading dimensions stay; only the last is cut.
    """
    return patch_series(x.flatten(), patch)


@patching_series.misconception
def mean_taken_out(x: Tensor, patch: int) -> Tensor:
    """You subtract from each patch its own mean.

    Whether that helps is another question. Here the values stay as they are, only their shape changes.
    """
    found = patch_series(x, patch)
    return found - found.mean(-1, keepdim=True)


# time_split -----------------------------------------------------------------------------------------------------------

splitting = Exercise(
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


@splitting.probe
def on_both_sides(time_split: Any) -> Seen:
    """a long series with a cut past its middle"""
    return split(time_split, *a_series_to_split("split"))


@splitting.probe
def one_step_ahead(time_split: Any) -> Seen:
    """windows that predict a single value; windows that read a single value"""
    length, context, horizon, cut = a_series_to_split("one")
    return {
        **split(time_split, length, context, 1, cut, of=", horizon 1"),
        **split(time_split, length, 1, horizon, cut, of=", context 1"),
    }


@splitting.probe
def nothing_to_read(time_split: Any) -> Seen:
    """windows that read nothing: a context of 0"""
    length, _, horizon, cut = a_series_to_split("nothing")
    return split(time_split, length, 0, horizon, cut)


@splitting.probe
def cut_at_the_ends(time_split: Any) -> Seen:
    """a cut at 0, at the end of the series, and within what the first window reads"""
    length, context, horizon, _ = a_series_to_split("ends")
    return {
        **split(time_split, length, context, horizon, 0, of=", cut 0"),
        **split(time_split, length, context, horizon, length, of=", cut at the end"),
        **split(time_split, length, context, horizon, context - 1, of=", an early cut"),
    }


@splitting.probe
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


def starts_inside(length: int, context: int, horizon: int) -> Tensor:
    return torch.arange(max(length - context - horizon + 1, 0))


def all_of_it_before(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    return first + horizon <= cut


def all_of_it_after(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    return first >= cut


@splitting.assembled
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


@splitting.instead_of("windows")
def last_window_lost(length: int, context: int, horizon: int) -> Tensor:
    """The last window is missing.

    It starts at length - context - horizon, and it counts: its last value is the last of the series.
    """
    return torch.arange(max(length - context - horizon, 0))


@splitting.instead_of("windows")
def predicting_past_the_end(length: int, context: int, horizon: int) -> Tensor:
    """Your last windows predict values that the series does not have.

    A window lies inside with all that it reads *and* all that it predicts.
    """
    return torch.arange(max(length - context, 0))


@splitting.instead_of("windows")
def windows_apart(length: int, context: int, horizon: int) -> Tensor:
    """Your windows do not overlap.

    A window may start at every time. Neighbours may share values, as long as they are on one side of the cut.
    """
    return starts_inside(length, context, horizon)[:: context + horizon]


@splitting.instead_of("windows")
def steps_of_a_horizon(length: int, context: int, horizon: int) -> Tensor:
    """Your windows move on by a horizon.

    A window may start at every time.
    """
    return starts_inside(length, context, horizon)[::horizon]


@splitting.instead_of("learned")
def straddling_in_train(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """You train on windows that predict values from both sides of the cut.

    What lies at or after the cut is what the test asks for: it would be learned by heart. *All* that is predicted has
    to be before cut.
    """
    return first < cut


@splitting.instead_of("learned")
def train_ends_too_early(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """Your last training window is missing: the one that predicts up to cut - 1.

    Its last value is before cut, so nothing of the test is in it.
    """
    return first + horizon < cut


@splitting.instead_of("learned")
def cut_learned(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """You train on a window that predicts the value at cut.

    The test begins at cut, with this value. The last one to learn from is at cut - 1.
    """
    return first + horizon <= cut + 1


@splitting.instead_of("learned")
def train_by_its_start(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """You train on every window that starts before the cut.

    Most of what the last of them predict lies after it. What counts is where a window's prediction ends.
    """
    return first - context < cut


@splitting.instead_of("tested")
def straddling_in_test(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """You test on windows that predict values from both sides of the cut.

    Some of these values were there to be learned from. *All* that is predicted has to be at or after cut.
    """
    return first + horizon > cut


@splitting.instead_of("tested")
def test_begins_too_late(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """Your first test window is missing: the one whose prediction begins exactly at cut.

    At or after: the value at cut belongs to the test.
    """
    return first > cut


@splitting.instead_of("tested")
def test_begins_too_early(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """You test on a window that predicts the value at cut - 1, which was learned from.

    The first predicted value of a test window is at cut or later.
    """
    return first >= cut - 1


@splitting.instead_of("tested")
def test_reads_nothing_old(first: Tensor, context: int, horizon: int, cut: int) -> Tensor:
    """You ask that a test window also *reads* nothing from before the cut.

    When the future comes the past is known, and may be read. Only what is predicted has to be new.
    """
    return first - context >= cut


@splitting.misconception
def split_by_starts(length: int, context: int, horizon: int, cut: int) -> tuple[Tensor, Tensor]:
    """You split by where a window starts.

    The last windows that start before the cut predict what lies after it: the test would be learned from. A window
    belongs to the side of what it *predicts*.
    """
    starts = starts_inside(length, context, horizon)
    return starts[starts < cut], starts[starts >= cut]


@splitting.misconception
def train_and_test_exchanged(length: int, context: int, horizon: int, cut: int) -> tuple[Tensor, Tensor]:
    """You return the test first.

    Train first, then test.
    """
    train, test = time_split(length, context, horizon, cut)
    return test, train


@splitting.misconception
def first_predictions_returned(length: int, context: int, horizon: int, cut: int) -> tuple[Tensor, Tensor]:
    """You return where the prediction of a window begins.

    The windows are named by where they start, which is `context` earlier.
    """
    train, test = time_split(length, context, horizon, cut)
    return train + context, test + context


@splitting.misconception
def last_predictions_returned(length: int, context: int, horizon: int, cut: int) -> tuple[Tensor, Tensor]:
    """You return where a window ends.

    The windows are named by where they start.
    """
    train, test = time_split(length, context, horizon, cut)
    return train + context + horizon - 1, test + context + horizon - 1


# running_zscore -------------------------------------------------------------------------------------------------------

SHIFTED = (
    "a z-score does not change with the series' level; the digits that this level saves are more than is asked for"
)

normalising = Exercise(
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


@normalising.probe
def several_series(running_zscore: Any) -> Seen:
    """several series, eps not given"""
    a, time = distinct(5, 12, 2, seed="sizes")
    return {"z": running_zscore(normal(a, time, seed="x", std=2.0))}


@normalising.probe
def one_or_two_dimensions_before(running_zscore: Any) -> Seen:
    """one series without a leading dimension; two leading dimensions"""
    a, b, time = distinct(3, 8, 3, seed="sizes")
    return {
        "z of one": running_zscore(normal(time, seed="one", mean=3.0)),
        "z of many": running_zscore(normal(a, b, time, seed="many", mean=-1.0)),
    }


@normalising.probe
def drifting(running_zscore: Any) -> Seen:
    """series that rise all the time"""
    a, time = distinct(4, 9, 2, seed="sizes")
    return {"z": running_zscore(uniform(a, time, seed="steps", low=0.2, high=1.0).cumsum(-1))}


@normalising.probe
def another_small_constant(running_zscore: Any) -> Seen:
    """an eps between 0.3 and 0.9"""
    a, time = distinct(4, 9, 2, seed="sizes")
    return {"z": running_zscore(normal(a, time, seed="x"), number(0.3, 0.9, seed="eps"))}


@normalising.probe
def hardly_moving(running_zscore: Any) -> Seen:
    """series that move so little that eps decides"""
    a, time = distinct(4, 9, 2, seed="sizes")
    return {"z": running_zscore(normal(a, time, seed="x", std=3e-3))}


@normalising.probe
def a_single_value(running_zscore: Any) -> Seen:
    """series of a single value, and series that begin with a few equal ones"""
    a, time = distinct(4, 9, 2, seed="sizes")
    x = normal(a, time, seed="x")
    x[:, :3] = torch.tensor(0.25 * whole(1, 9, seed="still"))
    return {
        "z of single values": running_zscore(normal(a, 1, seed="single")),
        "z after standing still": running_zscore(x),
    }


@normalising.probe
def a_large_mean_of_all(running_zscore: Any) -> Seen:
    """a series with a mean of 100 and a deviation of 1"""
    return {"z": running_zscore(swinging(whole(50, 70, seed="time"), seed="x", mean=100.0))}


@normalising.probe
def a_mean_far_above(running_zscore: Any) -> Seen:
    """series with a mean of 100 and a deviation of 0.1"""
    # Single values are as far off as float32 stores the input. Their size over a long time is not.
    series = swinging(6, whole(80, 100, seed="time"), seed="x", mean=100.0, size=0.1)
    sizes = [running_zscore(x)[1:].square().mean().sqrt() for x in series]
    return {"root mean square of z": torch.stack(sizes)}


@normalising.property
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


usual(normalising, a_few_series)


def mean_so_far(so_far: Tensor, x: Tensor) -> Tensor:
    return so_far.mean(-1)


def variance_so_far(so_far: Tensor, x: Tensor) -> Tensor:
    return (so_far - so_far.mean(-1, keepdim=True)).square().mean(-1)


def root_of_both(variance: Tensor, eps: float) -> Tensor:
    return (variance + eps).sqrt()


@normalising.assembled
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


@normalising.misconception
def normalised_with_the_future(x: Tensor, eps: float = 1e-5) -> Tensor:
    """You normalise with the mean and the variance of the whole series.

    At time t the values after t are not known. Whoever sees their mean sees a part of the answer: that is a leak, and
    it flatters every forecast that is tested on the result.
    """
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + eps).sqrt()


@normalising.instead_of("centre")
def mean_of_the_future(so_far: Tensor, x: Tensor) -> Tensor:
    """Your mean is that of the whole series.

    At time t the values after t are not known: the mean is that of x_0 … x_t, as the variance is.
    """
    return x.mean(-1)


@normalising.instead_of("spread")
def variance_of_the_future(so_far: Tensor, x: Tensor) -> Tensor:
    """Your variance is that of the whole series.

    At time t the values after t are not known: the variance is that of x_0 … x_t, as the mean is.
    """
    return x.var(-1, correction=0)


@normalising.instead_of("centre")
def mean_left_in(so_far: Tensor, x: Tensor) -> Tensor:
    """You do not subtract the mean.

    A z-score says how far a value is from what was usual until then.
    """
    return torch.zeros_like(x[..., 0])


@normalising.instead_of("centre")
def divided_by_the_whole_length(so_far: Tensor, x: Tensor) -> Tensor:
    """You divide the running sum by the length of the whole series.

    At time t there are t + 1 values in the sum.
    """
    return so_far.sum(-1) / x.shape[-1]


@normalising.instead_of("centre")
def first_value_as_the_mean(so_far: Tensor, x: Tensor) -> Tensor:
    """You subtract the first value; it should be the mean of all so far.

    To move the series by its first value is a good first step, against rounding. The mean of what is left is still to
    be subtracted.
    """
    return x[..., 0]


@normalising.instead_of("spread")
def variance_for_a_population(so_far: Tensor, x: Tensor) -> Tensor:
    """You divide the sum of squares by one less than there are values: the unbiased variance.

    torch's `var` does so unless told otherwise. Of a single value it is 0/0, so that your first z-score is NaN.
    """
    return so_far.var(-1)


@normalising.instead_of("spread")
def difference_of_squares(so_far: Tensor, x: Tensor) -> Tensor:
    """You compute the variance as the mean of the squares minus the square of the mean.

    For a mean of 100 both are near 10,000 and float32 keeps about seven digits: their difference has lost most of its
    own. Subtract a mean first.
    """
    return so_far.square().mean(-1) - so_far.mean(-1).square()


@normalising.instead_of("spread")
def each_from_its_own_mean(so_far: Tensor, x: Tensor) -> Tensor:
    """You average the squared distances of each value from the mean *at its own time*.

    The variance at t is about one mean, that at t, for all values so far. The sum of squares has to follow when the
    mean moves.
    """
    count = torch.arange(1, so_far.shape[-1] + 1, dtype=x.dtype, device=x.device)
    return (so_far - so_far.cumsum(-1) / count).square().mean(-1)


@normalising.instead_of("divisor")
def constant_after_the_root(variance: Tensor, eps: float) -> Tensor:
    """You add eps after the square root.

    Under the root it sets the smallest deviation to √eps, about 0.003; beside it to eps itself, 300 times less.
    """
    return variance.sqrt() + eps


@normalising.instead_of("divisor")
def constant_left_out(variance: Tensor, eps: float) -> Tensor:
    """You leave eps out.

    The first value has no variance at all, and your first z-score is 0/0.
    """
    return variance.sqrt()


@normalising.instead_of("divisor")
def root_left_out(variance: Tensor, eps: float) -> Tensor:
    """You divide by the variance; the square root is missing.

    A z-score counts in standard deviations. Divided by the variance it would depend on the unit of the series.
    """
    return variance + eps


@normalising.misconception
def constant_never_changed(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Your eps is always 1e-5, whatever eps the caller asks for.

    The argument has a default, and is an argument all the same.
    """
    return running_zscore(x)


@normalising.misconception
def itself_left_out(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Your mean and variance are those of the values *before* t.

    x_t is known at time t, and counts: mean and variance are those of x_0 … x_t, itself included.
    """
    found = [x[..., 0] / eps**0.5]
    for t in range(1, x.shape[-1]):
        before = x[..., :t]
        found.append((x[..., t] - before.mean(-1)) / (before.var(-1, correction=0) + eps).sqrt())
    return torch.stack(found, -1)


@normalising.misconception
def from_here_to_the_end(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Your mean and variance are those of x_t and all that comes *after* it.

    That is the future. What is known at t is x_0 … x_t.
    """
    return running_zscore(x.flip(-1), eps).flip(-1)


@normalising.misconception
def across_the_series(x: Tensor, eps: float = 1e-5) -> Tensor:
    """You run along the first dimension, from series to series.

    Time is the last dimension, however many there are before it.
    """
    return running_zscore(x.movedim(0, -1), eps).movedim(-1, 0)


@normalising.misconception
def series_run_together(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Your sums run on from one series into the next.

    Each series begins anew: only the last dimension is summed along.
    """
    return running_zscore(x.flatten(), eps).reshape(x.shape)


@normalising.misconception
def statistics_cut_off(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Your values are right, but no gradient goes through the mean and the variance.

    Both depend on x. `.detach()` and `torch.no_grad()` cut them out of the graph.
    """
    parts = [x.detach()[..., : t + 1] for t in range(x.shape[-1])]
    mean = torch.stack([mean_so_far(so_far, x) for so_far in parts], -1)
    variance = torch.stack([variance_so_far(so_far, x) for so_far in parts], -1)
    return (x - mean) / root_of_both(variance, eps)


# scaled_error ---------------------------------------------------------------------------------------------------------

scaling = Exercise(
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


@scaling.probe
def seasonal_forecasts(scaled_error: Any) -> Seen:
    """several forecasts, and a season"""
    return {"error": scaled_error(*some_forecasts())}


@scaling.probe
def season_left_out(scaled_error: Any) -> Seen:
    """`season` not given"""
    a, horizon, time = distinct(4, 11, 3, seed="sizes")
    return {"error": scaled_error(*forecasts(a, horizon=horizon, time=time))}


@scaling.probe
def one_forecast_and_many(scaled_error: Any) -> Seen:
    """one forecast without a leading dimension; two leading dimensions"""
    a, b, horizon, season = distinct(2, 8, 4, seed="sizes")
    return {
        "error of one": scaled_error(*forecasts(horizon=horizon, time=2 * season + 3), season),
        "error of many": scaled_error(*forecasts(a, b, horizon=horizon, time=4 * season + 1), season),
    }


@scaling.probe
def shortest_series(scaled_error: Any) -> Seen:
    """a horizon of one step; a history that is longer than a season by one value"""
    a, horizon, season = distinct(3, 8, 3, seed="sizes")
    return {
        "error of one step": scaled_error(*forecasts(a, horizon=1, time=3 * season), season),
        "error after a short history": scaled_error(*forecasts(a, horizon=horizon, time=season + 1), season),
        "error after two values": scaled_error(*forecasts(a, horizon=horizon, time=2), 1),
    }


usual(scaling, some_forecasts, alike=lambda: (*forecasts(3, horizon=6, time=6), 2))


def absolute_misses(forecast: Tensor, actual: Tensor) -> Tensor:
    return (forecast - actual).abs().mean(-1)


def absolute_steps(history: Tensor, season: int) -> Tensor:
    return (history[..., season:] - history[..., :-season]).abs().mean(-1)


@scaling.assembled
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


@scaling.instead_of("miss")
def misses_squared(forecast: Tensor, actual: Tensor) -> Tensor:
    """You square the misses of the forecast; absolute values are asked for.

    Squares have another unit than what you divide by: the result would change with the unit of the series.
    """
    return (forecast - actual).square().mean(-1)


@scaling.instead_of("miss")
def misses_that_cancel(forecast: Tensor, actual: Tensor) -> Tensor:
    """You average the misses with their signs, so that too much and too little cancel.

    Take the absolute value of each before the mean.
    """
    return (forecast - actual).mean(-1)


@scaling.instead_of("miss")
def absolute_after_the_mean(forecast: Tensor, actual: Tensor) -> Tensor:
    """You take the absolute value after the mean of the misses.

    By then too much and too little have cancelled. Each miss counts: absolute values first.
    """
    return (forecast - actual).mean(-1).abs()


@scaling.instead_of("miss")
def misses_summed(forecast: Tensor, actual: Tensor) -> Tensor:
    """You sum the misses over the horizon; their mean is asked for.

    Otherwise a longer horizon is a worse forecast.
    """
    return (forecast - actual).abs().sum(-1)


@scaling.instead_of("naive")
def season_overlooked(history: Tensor, season: int) -> Tensor:
    """You compare neighbours in the history, whatever `season` says.

    The naive forecast of a seasonal series repeats the value of one season ago.
    """
    return absolute_steps(history, 1)


@scaling.instead_of("naive")
def differences_of_differences(history: Tensor, season: int) -> Tensor:
    """You take differences of differences, `season` times over: the `n` of `torch.diff` does that.

    What is asked for is one difference, over the distance of a season.
    """
    return history.diff(n=season).abs().mean(-1)


@scaling.instead_of("naive")
def steps_that_cancel(history: Tensor, season: int) -> Tensor:
    """You average the steps of the history with their signs, so that up and down cancel.

    What is left is how far the series got. Take the absolute value of each step before the mean.
    """
    return (history[..., season:] - history[..., :-season]).mean(-1)


@scaling.instead_of("naive")
def round_the_end(history: Tensor, season: int) -> Tensor:
    """Your first values are compared with the last ones: `roll` goes round the end.

    The first season has nothing before it. The mean is over t = season … time - 1.
    """
    return (history - history.roll(season, -1)).abs().mean(-1)


@scaling.instead_of("naive")
def steps_miscounted(history: Tensor, season: int) -> Tensor:
    """You divide the sum of the steps by the length of the history.

    There are fewer steps than values, by one season: time - season.
    """
    return (history[..., season:] - history[..., :-season]).abs().sum(-1) / history.shape[-1]


@scaling.instead_of("naive")
def steps_squared(history: Tensor, season: int) -> Tensor:
    """You square the steps of the history; absolute values are asked for.

    Squares have another unit than the misses: the result would change with the unit of the series.
    """
    return (history[..., season:] - history[..., :-season]).square().mean(-1)


@scaling.instead_of("naive")
def deviation_of_the_history(history: Tensor, season: int) -> Tensor:
    """You divide by the standard deviation of the history.

    That of a series which drifts grows with its length. The yardstick is the naive forecast, one season back.
    """
    return history.std(-1)


@scaling.instead_of("naive")
def size_of_the_history(history: Tensor, season: int) -> Tensor:
    """You divide by the mean size of the history.

    Then adding 1,000 to everything would make the forecast look better. The yardstick is the naive forecast.
    """
    return history.abs().mean(-1)


@scaling.misconception
def squares_above_and_below(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You compare mean squares; mean absolute values are asked for.

    Squares count a large miss more. That is another measure, and one that nobody's 1 can be compared with.
    """
    return scaled_in_steps(forecast, actual, history, season, miss=misses_squared, naive=steps_squared)


@scaling.misconception
def roots_of_squares(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You compare roots of mean squares; mean absolute values are asked for.

    That measure exists (RMSSE). This one takes absolute values (MASE).
    """
    return scaled_in_steps(forecast, actual, history, season, miss=misses_squared, naive=steps_squared).sqrt()


@scaling.misconception
def sums_above_and_below(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You divide a sum by a sum; both should be means.

    There are far more steps in the history than in the horizon, and a longer history would make any forecast look good.
    """
    steps = (history[..., season:] - history[..., :-season]).abs().sum(-1)
    return (forecast - actual).abs().sum(-1) / steps


@scaling.misconception
def scaled_by_what_came(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You divide by the mean size of what came.

    Near 0 that explodes, and it changes when 1,000 is added to everything. The yardstick is the naive forecast.
    """
    return absolute_misses(forecast, actual) / actual.abs().mean(-1)


@scaling.misconception
def each_in_its_own_share(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You divide each miss by the value that came, as a percentage error does.

    Where a value is near 0 that explodes. All misses are divided by one number, the error of the naive forecast.
    """
    return ((forecast - actual) / actual).abs().mean(-1)


@scaling.misconception
def repeated_from_the_end(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You divide by the error that the last value of the history makes on what came.

    A fair rival, but with a short horizon it may be lucky. The yardstick is taken from the history, which is long.
    """
    return absolute_misses(forecast, actual) / (actual - history[..., -1:]).abs().mean(-1)


@scaling.misconception
def upside_down(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """Your fraction is upside down: the naive error divided by that of the forecast.

    A smaller error should be better. Below 1 the forecast beats the naive one.
    """
    return 1 / scaled_error(forecast, actual, history, season)


@scaling.misconception
def one_number_for_all(forecast: Tensor, actual: Tensor, history: Tensor, season: int = 1) -> Tensor:
    """You average over all series together.

    Each series has an error of its own, in its own unit: only the last dimension is averaged.
    """
    return (forecast - actual).abs().mean() / (history[..., season:] - history[..., :-season]).abs().mean()


# retrieval_recall -----------------------------------------------------------------------------------------------------

recalling = Exercise(
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
    return with_ties(whole(13, 18, seed="n"), "scores"), 2


@recalling.probe
def without_ties(retrieval_recall: Any) -> Seen:
    """tables without ties, for k = 1, 2 and 4"""
    found: Seen = {}
    for k, n in zip((1, 2, 4), distinct(12, 24, 3, seed="sizes"), strict=True):
        found |= recalls(retrieval_recall, fitting(n, f"table {k}"), k, of=f" at k = {k}")
    return found


@recalling.probe
def many_ties(retrieval_recall: Any) -> Seen:
    """tables with many equal scores, for k = 1, 2 and 4"""
    found: Seen = {}
    for k, n in zip((1, 2, 4), distinct(14, 26, 3, seed="sizes"), strict=True):
        found |= recalls(retrieval_recall, with_ties(n, f"table {k}"), k, of=f" at k = {k}")
    return found


@recalling.probe
def constant_models(retrieval_recall: Any) -> Seen:
    """a model that gives all pairs one score, and one that gives each image one score for all texts"""
    n = whole(5, 12, seed="n")
    found = recalls(retrieval_recall, torch.full((n, n), float(whole(-3, 4, seed="score"))), 1, of=" of a constant")
    blind = normal(n, 1, seed="blind").expand(n, n)
    found |= recalls(retrieval_recall, blind.contiguous(), n - 1, of=" of a model that is blind to texts")
    return found | recalls(retrieval_recall, with_ties(n + 7, "beside"), 2, of=" of another")


@recalling.probe
def large_k(retrieval_recall: Any) -> Seen:
    """k = n - 1, k = n and k above n; a single pair"""
    n = whole(6, 12, seed="n")
    found = recalls(retrieval_recall, with_ties(n + 5, "beside"), 3, of=" of another")
    for k, size in ((n - 1, "n - 1"), (n, "n"), (n + 3, "n + 3")):
        found |= recalls(retrieval_recall, fitting(n, "scores", lift=-1.0), k, of=f" at k = {size}")
    return found | recalls(retrieval_recall, normal(1, 1, seed="single"), 1, of=" of a single pair")


usual(recalling, one_table, without=("gradients",))


def others_ahead(table: Tensor) -> Tensor:
    """For each row, how many entries other than its own are as large as that, or larger."""
    return (table >= table.diagonal()[:, None]).sum(1) - 1


def fewer_than_k(ahead: Tensor, k: int) -> Tensor:
    return ahead < k


def share_of_rows(found: Tensor, k: int) -> Tensor:
    return found.float().mean()


@recalling.assembled
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


@recalling.instead_of("ahead")
def ties_won(table: Tensor) -> Tensor:
    """You count a tie as won.

    Then a model that gives all pairs one score finds everything. An entry that equals the right one is ahead of it.
    """
    return (table > table.diagonal()[:, None]).sum(1)


@recalling.instead_of("ahead")
def ties_by_place(table: Tensor) -> Tensor:
    """Where scores are equal, the place in the table decides for you, as it does when you sort.

    Sorted, a model that gives all pairs one score finds the first k of n, by luck. A tie is lost.
    """
    order = table.argsort(dim=1, descending=True, stable=True)
    own = torch.arange(len(table), device=table.device)[:, None]
    return (order == own).int().argmax(1)


@recalling.instead_of("ahead")
def ties_halved(table: Tensor) -> Tensor:
    """You count a tie as half a place.

    That would be fair on average. Here a tie is lost: an entry that equals the right one counts as ahead of it.
    """
    own = table.diagonal()[:, None]
    return (table > own).sum(1) + ((table == own).sum(1) - 1) / 2


@recalling.instead_of("ahead")
def own_among_the_others(table: Tensor) -> Tensor:
    """You count the right entry itself among those that are as large as it.

    Then nothing is ever found at k = 1. Only *other* entries count.
    """
    return (table >= table.diagonal()[:, None]).sum(1)


@recalling.instead_of("ahead")
def smallest_is_best(table: Tensor) -> Tensor:
    """For you the smallest scores are the best.

    So it would be with distances. These are scores: the larger, the better the fit.
    """
    return others_ahead(-table)


@recalling.instead_of("found")
def one_more_than_k(ahead: Tensor, k: int) -> Tensor:
    """You allow k others ahead of the right one; then it is at place k + 1.

    Among the k best means that *fewer than* k others are ahead.
    """
    return ahead <= k


@recalling.instead_of("found")
def first_place_only(ahead: Tensor, k: int) -> Tensor:
    """You ask for the first place, whatever k is.

    The right entry may be anywhere among the k best.
    """
    return ahead < 1


@recalling.instead_of("found")
def exactly_at_k(ahead: Tensor, k: int) -> Tensor:
    """You count the rows whose right entry is exactly at place k.

    Better places count as well: among the k best.
    """
    return ahead == k - 1


@recalling.instead_of("share")
def hits_counted(found: Tensor, k: int) -> Tensor:
    """You return how many were found; the share is asked for.

    Divide by the number of rows. Otherwise a larger table looks better.
    """
    return found.float().sum()


@recalling.instead_of("share")
def in_percent(found: Tensor, k: int) -> Tensor:
    """You return percent; a share is asked for, from 0 to 1.

    Papers print recall in percent. A function had better not.
    """
    return 100 * found.float().mean()


@recalling.instead_of("share")
def divided_by_k(found: Tensor, k: int) -> Tensor:
    """You divide by k as well: that is the precision.

    Of k answers at most one is right, so the precision is at most 1/k. Recall asks whether the right one is among them.
    """
    return found.float().mean() / k


@recalling.instead_of("share")
def share_of_the_missed(found: Tensor, k: int) -> Tensor:
    """You return the share of those that were *not* found.

    Recall is the share of those that were.
    """
    return (~found).float().mean()


@recalling.misconception
def reciprocal_places(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """You average 1/place of the right entry, up to place k.

    That is the mean reciprocal rank. For recall every place up to k counts 1.
    """

    def one_way(table: Tensor) -> Tensor:
        ahead = others_ahead(table)
        return ((ahead < k) / (ahead + 1.0)).mean().to(scores.dtype)

    return one_way(scores), one_way(scores.T)


@recalling.misconception
def directions_exchanged(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Your two results are exchanged: the columns come first.

    A row belongs to an image and holds its texts, so rows are image to text, and they come first.
    """
    to_text, to_image = retrieval_recall(scores, k)
    return to_image, to_text


@recalling.misconception
def rows_both_times(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Both of your results are image to text.

    For text to image the right entry is compared with its column.
    """
    to_text, _ = retrieval_recall(scores, k)
    return to_text, to_text


@recalling.misconception
def columns_both_times(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Both of your results are text to image.

    For image to text the right entry is compared with its row.
    """
    _, to_image = retrieval_recall(scores, k)
    return to_image, to_image


@recalling.misconception
def mean_of_both_ways(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """You return the mean of both directions, twice.

    The two directions often differ, and are reported one by one.
    """
    to_text, to_image = retrieval_recall(scores, k)
    mean = (to_text + to_image) / 2
    return mean, mean
