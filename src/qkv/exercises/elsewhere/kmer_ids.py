"""The exercise `kmer_ids`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import FLOATING, usual
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
    kmer_ids,
)

exercise = Exercise(
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


@exercise.probe
def reads_in_words(kmer_ids: Any) -> Seen:
    """several reads, all bases known, `canonical` left at its default"""
    a, k = distinct(3, 7, 2, seed="sizes")
    return {"words": kmer_ids(bases(a, 3 * k + 1, seed="ids"), k)}


@exercise.probe
def unknown_bases(kmer_ids: Any) -> Seen:
    """reads with an N here and there"""
    ids, k, _ = some_reads()
    return {"words": kmer_ids(ids, k, False)}


@exercise.probe
def canonical_words(kmer_ids: Any) -> Seen:
    """canonical words, all bases known"""
    a, k = distinct(3, 7, 2, seed="sizes")
    return {"words": kmer_ids(bases(a, 5 * k, seed="ids"), k, canonical=True)}


@exercise.probe
def canonical_words_with_unknown_bases(kmer_ids: Any) -> Seen:
    """canonical words of reads with an N here and there"""
    return {"words": kmer_ids(*some_reads())}


@exercise.probe
def any_leading_dimensions_of_reads(kmer_ids: Any) -> Seen:
    """one read without a leading dimension; reads with two leading dimensions"""
    a, b, k = distinct(2, 6, 3, seed="sizes")
    found = {}
    for kind, canonical in (("words", False), ("canonical words", True)):
        found[f"{kind} of one read"] = kmer_ids(with_unknown(4 * k + 7, seed="one read"), k, canonical)
        found[f"{kind} of many"] = kmer_ids(with_unknown(a, b, 3 * k + 4, seed="many reads"), k, canonical)
    return found


@exercise.probe
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


@exercise.probe
def long_words(kmer_ids: Any) -> Seen:
    """words of more than 13 bases, and of nearly 31, whose numbers an int64 just holds"""
    found = {}
    for k in (whole(14, 25, seed="long"), whole(28, 32, seed="longest")):
        for kind, canonical in (("words", False), ("canonical words", True)):
            found[f"{kind} of {k} bases"] = kmer_ids(bases(3, k + 7, seed=f"ids of {k}"), k, canonical)
    return found


usual(exercise, some_reads, without=FLOATING)


def in_base_four(windows: Tensor) -> Tensor:
    size = windows.shape[-1]
    return (windows * 4 ** torch.arange(size - 1, -1, -1, device=windows.device)).sum(-1)


def unknown_marked(numbers: Tensor, windows: Tensor) -> Tensor:
    return numbers.masked_fill((windows == UNKNOWN).any(-1), 4 ** windows.shape[-1])


@exercise.assembled
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


@exercise.instead_of("encode")
def first_base_lowest(windows: Tensor) -> Tensor:
    """Your first base counts least; it should count most.

    A number is read from the left: in CAT the C stands for 1·16. Turn the powers of 4 round.
    """
    return in_base_four(windows.flip(-1))


@exercise.instead_of("encode")
def in_base_five(windows: Tensor) -> Tensor:
    """You count in base 5, as if N were a digit.

    There are four bases, so k of them make 4**k words. A word with an N in it is none of these.
    """
    size = windows.shape[-1]
    return (windows * 5 ** torch.arange(size - 1, -1, -1, device=windows.device)).sum(-1)


@exercise.instead_of("encode")
def through_float32(windows: Tensor) -> Tensor:
    """Your numbers pass through float32, which loses the last bases of a long word.

    float32 has 24 bits, which is twelve bases. Stay with int64: two bits for each base, up to 31 bases.
    """
    powers = 4.0 ** torch.arange(windows.shape[-1] - 1, -1, -1, dtype=torch.float32, device=windows.device)
    return (windows * powers).sum(-1).long()


@exercise.instead_of("cut")
def words_side_by_side(ids: Tensor, size: int) -> Tensor:
    """Your words stand side by side; one should begin at every position.

    There are no spaces in DNA. If the words did not overlap, one base lost at the front would change all of them.
    """
    return windows_in_steps(ids, size)


@exercise.instead_of("cut")
def last_word_lost(ids: Tensor, size: int) -> Tensor:
    """The last word is missing.

    A read of seq bases has seq - k + 1 words: the last begins at seq - k, and it counts.
    """
    return all_but_the_last(ids, size)


@exercise.instead_of("cut")
def words_past_the_end(ids: Tensor, size: int) -> Tensor:
    """You go on past the end: your last words have fewer than k bases.

    Only whole words count, so there are seq - k + 1 of them, and none in a read that is shorter than a word.
    """
    return windows_past_the_end(ids, size)


@exercise.instead_of("turn")
def word_not_reversed(windows: Tensor) -> Tensor:
    """For the other strand you take the complement, but do not reverse the word.

    The other strand runs the other way: what was the last base is read first there.
    """
    return complement(windows)


@exercise.instead_of("turn")
def word_not_complemented(windows: Tensor) -> Tensor:
    """For the other strand you reverse the word, but do not take the complement.

    Opposite A stands T, opposite C stands G: every base becomes 3 - b.
    """
    return windows.flip(-1)


@exercise.instead_of("turn")
def word_of_wrong_partners(windows: Tensor) -> Tensor:
    """Your complement pairs A with G and C with T.

    A goes with T, and C with G. With the ids 0 1 2 3 that is 3 - b.
    """
    return a_with_g(windows)


@exercise.instead_of("choose")
def larger_word(here: Tensor, there: Tensor) -> Tensor:
    """Of a word and its reverse complement you take the larger number; the smaller is asked for.

    Either would give both strands one number. That it is the smaller one is a convention that all have to share.
    """
    return torch.maximum(here, there)


@exercise.instead_of("choose")
def always_the_other_strand(here: Tensor, there: Tensor) -> Tensor:
    """`canonical=True` gives you the word of the other strand, always.

    Then the two strands still have different numbers. Canonical is the smaller of both.
    """
    return there


@exercise.instead_of("mark")
def n_as_a_digit(numbers: Tensor, windows: Tensor) -> Tensor:
    """You count an N as the digit 4.

    Base 4 has no such digit: AN would be the number of CA. A word with an N gets a number that no other word has, 4**k.
    """
    return numbers


@exercise.instead_of("mark")
def n_as_minus_one(numbers: Tensor, windows: Tensor) -> Tensor:
    """A word with an N is -1 in your result, expected 4**k.

    The words are rows of a table of embeddings, and the unknown word is its last row: number 4**k, after the others.
    """
    return numbers.masked_fill((windows == UNKNOWN).any(-1), -1)


@exercise.instead_of("mark")
def n_as_the_last_word(numbers: Tensor, windows: Tensor) -> Tensor:
    """A word with an N is 4**k - 1 in your result, which is TT…T.

    The known words have the numbers 0 to 4**k - 1. The first number that is free is 4**k.
    """
    return numbers.masked_fill((windows == UNKNOWN).any(-1), 4 ** windows.shape[-1] - 1)


@exercise.misconception
def n_as_an_a(ids: Tensor, k: int, canonical: bool = False) -> Tensor:
    """You read an N as an A.

    N means that nobody knows the base. A word with an N in it is 4**k.
    """
    return kmer_ids(ids.masked_fill(ids == UNKNOWN, 0), k, canonical)


@exercise.misconception
def n_as_a_t(ids: Tensor, k: int, canonical: bool = False) -> Tensor:
    """You read an N as a T: ids above 3 are cut down to 3.

    N means that nobody knows the base. A word with an N in it is 4**k.
    """
    return kmer_ids(ids.clamp(max=3), k, canonical)


@exercise.misconception
def strands_kept_apart(ids: Tensor, k: int, canonical: bool = False) -> Tensor:
    """You do not look at `canonical`.

    If it is True, a word and its reverse complement get one number: the smaller of both.
    """
    return kmer_ids(ids, k)


@exercise.misconception
def always_canonical(ids: Tensor, k: int, canonical: bool = False) -> Tensor:
    """Your words are always canonical.

    That is right where `canonical` is True. Otherwise the word is the number of its own strand.
    """
    return kmer_ids(ids, k, True)


@exercise.misconception
def whole_read_turned(ids: Tensor, k: int, canonical: bool = False) -> Tensor:
    """You turn the whole read, and compare a word with another place of the other strand.

    Turned as a whole, the first word comes last. The reverse complement of *this* word is what it is compared with.
    """
    here = kmer_ids(ids, k)
    return torch.minimum(here, kmer_ids(other_strand(ids), k)) if canonical else here


squeezes(exercise)
unpacks(exercise, "ids", "batch", "seq")
