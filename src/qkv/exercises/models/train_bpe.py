"""The exercise `train_bpe`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, whole
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.exercises.models.shared import Pair, from_256, glued, letters
from qkv.model.models import (
    train_bpe,
)

exercise = Exercise(
    train_bpe,
    section="Learning the pieces",
    minutes=20,
    difficulty=2,
    why="Every language model reads pieces that were counted, not words: this is where they come from.",
    points=2.0,
    hints=[
        'Do it by hand for ["aab", "ab"]: which bytes stand side by side, how often, and what is left after one merge?',
        "Keep every word as a list of ids. A step counts all neighbours of all words, chooses, and rewrites the words.",
        "The most frequent pair, and of equals the smallest: compare (-count, pair), or take the smallest of the most "
        "frequent.",
        "To rewrite a word, walk from its left end; where the pair stands, write the new id and go on after it.",
    ],
    equivalents={
        "texts = [list(word.encode()) for word in words]  ->  texts = [word.encode() for word in words]": (
            "bytes are numbers already, and the first merge makes lists of them"
        ),
    },
)


def drawn_words(count: int, longest: int, alphabet: str, seed: str) -> list[str]:
    """Words of 0 … longest letters."""
    lengths = integers(0, longest + 1, count, seed=f"{seed}: lengths").tolist()
    letters = integers(0, len(alphabet), count, longest, seed=f"{seed}: letters").tolist()
    return ["".join(alphabet[i] for i in row[:length]) for row, length in zip(letters, lengths, strict=True)]


def listed(merges: Any) -> Tensor:
    """Merges as a tensor (merge, 2); a pair may be a tuple or a list."""
    if not isinstance(merges, list | tuple):
        raise TypeError("expected a list of pairs")
    if not all(isinstance(part, int) for pair in merges for part in pair):
        raise TypeError("expected pairs of ids, each a Python int")
    return torch.tensor([list(pair) for pair in merges], dtype=torch.int64).reshape(-1, 2)


@exercise.probe
def words_of_three_letters(train_bpe: Any) -> Seen:
    """thirty words of three different letters"""
    words = drawn_words(30, 6, letters(3, "which"), "words")
    return {"merges": listed(train_bpe(words, whole(6, 12, seed="n")))}


@exercise.probe
def runs_of_a_letter(train_bpe: Any) -> Seen:
    """words in which a letter is repeated, such as aaa"""
    a, b, c, d = list(letters(4, "which of the runs"))
    runs, often = distinct(3, 9, 3, seed="runs"), whole(3, 6, seed="often")
    one_by_one = often + 2 + sum(run // 2 for run in runs)  # how often aa is there if no two overlap
    words = [a * 3] * often + [a * run for run in runs] + [b + c] * (one_by_one + 1) + [d + a * 3 + b] * 2
    return {"merges": listed(train_bpe(words, whole(7, 10, seed="n of runs")))}


@exercise.probe
def twice_in_a_word(train_bpe: Any) -> Seen:
    """words in which a pair stands twice, apart from each other"""
    a, b, c, d, e = list(letters(5, "which twice"))
    often = whole(3, 8, seed="how often")
    words = [a + b + c + a + b] * often + [d + e] * (often + 1) + drawn_words(4, 4, d + c, "beside")
    return {"merges": listed(train_bpe(words, whole(4, 8, seed="n of twice")))}


@exercise.probe
def beyond_english(train_bpe: Any) -> Seen:
    """words with letters of two, three and four bytes"""
    return {"merges": listed(train_bpe(drawn_words(24, 5, "aAé力🙂", "far words"), whole(8, 14, seed="far n")))}


@exercise.probe
def frequent_words(train_bpe: Any) -> Seen:
    """a few words, some of which occur often"""
    some = drawn_words(6, 5, letters(4, "which of the frequent"), "frequent")
    order = integers(0, 6, 40, seed="order").tolist()
    words = [some[i * j // 5] for i, j in zip(order, order[::-1], strict=True)]
    return {"merges": listed(train_bpe(words, whole(4, 9, seed="n of frequent")))}


@exercise.probe
def until_nothing_is_left(train_bpe: Any) -> Seen:
    """more merges than there are pairs; words of one letter, empty ones, no words, no merges"""
    alphabet = letters(5, "which of the last")
    words = [alphabet[0], "", alphabet[1:4], alphabet[3:] + alphabet[0], "", alphabet[::-2]]
    return {
        "merges": listed(train_bpe(list(words), whole(40, 60, seed="too many"))),
        "of words without pairs": listed(train_bpe(["", alphabet[0], ""], 3)),
        "of no words": listed(train_bpe([], 2)),
        "none asked for": listed(train_bpe(list(words), 0)),
    }


exercise.property(repeats(words_of_three_letters, runs_of_a_letter))


@exercise.property
def words_after_the_call(train_bpe: Any) -> Seen:
    """a list of words that the caller goes on using

    Your code changes the list of words that it was given. The caller still needs it: make lists of your own.
    """
    words = drawn_words(8, 5, letters(3, "which"), "kept words")
    before = list(words)
    train_bpe(words, 4)
    return {"the words are the same": words == before}


def in_bytes(words: Sequence[str]) -> list[list[int]]:
    return [list(word.encode()) for word in words]


def all_pairs(texts: list[list[int]]) -> Counter[Pair]:
    return Counter(pair for ids in texts for pair in pairwise(ids))


def something_left(counts: Counter[Pair]) -> bool:
    return bool(counts)


def commonest(counts: Counter[Pair]) -> Pair:
    return min(counts, key=lambda pair: (-counts[pair], pair))


@exercise.assembled
def trained_in_steps(
    words: Sequence[str],
    n_merges: int,
    *,
    split: Any = in_bytes,
    count: Any = all_pairs,
    goes_on: Any = something_left,
    choose: Any = commonest,
    glue: Any = glued,
    new_id: Any = from_256,
) -> list[Pair]:
    texts, merges = split(words), []
    for i in range(n_merges):
        counts = count(texts)
        if not goes_on(counts):
            break
        best = choose(counts)
        texts = [glue(ids, best, new_id(i)) for ids in texts]
        merges.append(best)
    return merges


@exercise.instead_of("split")
def characters_for_bytes(words: Sequence[str]) -> list[list[int]]:
    """You begin with characters, not with bytes.

    There are over a million characters, and their numbers collide with your new ids. Of bytes there are 256, and every
    text is made of them.
    """
    return [list(map(ord, word)) for word in words]


@exercise.instead_of("split")
def each_word_once(words: Sequence[str]) -> list[list[int]]:
    """You count every different word once, however often it occurs.

    Frequent words are what the pieces should fit. A word that occurs a hundred times has a hundred votes.
    """
    return in_bytes(list(dict.fromkeys(words)))


@exercise.instead_of("split")
def one_long_text(words: Sequence[str]) -> list[list[int]]:
    """You put all words together into one text, so that pairs reach from one word into the next.

    The end of a word and the beginning of the next are neighbours by chance. Pairs are counted and merged inside words.
    """
    return in_bytes(["".join(words)])


@exercise.instead_of("split")
def space_before_each(words: Sequence[str]) -> list[list[int]]:
    """You put a space before every word.

    That is how GPT-2 cuts a text into words; here the words come as they are meant.
    """
    return in_bytes([" " + word for word in words])


@exercise.instead_of("split")
def other_letters_dropped(words: Sequence[str]) -> list[list[int]]:
    """You drop every letter that is not ASCII.

    Then most of the world's texts are empty. UTF-8 has bytes for every letter.
    """
    return [list(word.encode("ascii", errors="ignore")) for word in words]


@exercise.instead_of("count")
def overlaps_counted_once(texts: list[list[int]]) -> Counter[Pair]:
    """You leave out pairs that overlap: in "aaa" you count "aa" once.

    As a text's `count` does. Here every place counts at which the two stand side by side: there are two in "aaa".
    """
    counts: Counter[Pair] = Counter()
    for ids in texts:
        counted_at: dict[Pair, int] = {}
        for at, pair in enumerate(pairwise(ids)):
            if counted_at.get(pair) != at - 1:
                counts[pair] += 1
                counted_at[pair] = at
    return counts


@exercise.instead_of("count")
def once_a_word(texts: list[list[int]]) -> Counter[Pair]:
    """You count a pair at most once in each word.

    A pair that stands twice in a word saves two ids there when it is merged.
    """
    return Counter(pair for ids in texts for pair in set(pairwise(ids)))


@exercise.instead_of("goes_on")
def stops_at_pairs_that_occur_once(counts: Counter[Pair]) -> bool:
    """You stop as soon as every pair occurs once only.

    Many implementations do. Here the pairs end when none is left, or when n_merges are learned.
    """
    return max(counts.values(), default=0) > 1


@exercise.instead_of("choose")
def first_seen(counts: Counter[Pair]) -> Pair:
    """Of equally frequent pairs you take the one that was seen first.

    `most_common` and `max` do so, and minbpe and other public code with them. Then the merges depend on the order of
    the words; the smallest pair does not.
    """
    return counts.most_common(1)[0][0]


@exercise.instead_of("choose")
def largest_of_equals(counts: Counter[Pair]) -> Pair:
    """Of equally frequent pairs you take the largest.

    `max` of (count, pair) does so: it wants both as large as possible. Ties go to the smallest pair.
    """
    return max(counts, key=lambda pair: (counts[pair], pair))


@exercise.instead_of("choose")
def rarest(counts: Counter[Pair]) -> Pair:
    """You merge the rarest pair.

    A merge shortens the text by one id wherever the pair stands, so the most frequent one shortens it most.
    """
    return min(counts, key=lambda pair: (counts[pair], pair))


@exercise.instead_of("glue")
def first_place_only(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You merge the first place in each word only.

    A merge is made wherever the pair stands; "banana" has "an" twice.
    """
    for at in range(len(ids) - 1):
        if ids[at : at + 2] == list(pair):
            return [*ids[:at], new, *ids[at + 2 :]]
    return ids


@exercise.instead_of("glue")
def from_the_right(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You merge from the right: "aaa" becomes "a" and "aa".

    Either would do, but training and encoding must agree, so one is fixed: from the left.
    """
    return glued(ids[::-1], list(pair)[::-1], new)[::-1]


@exercise.instead_of("glue")
def nothing_replaced(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You never put the new id into the words, so the same pair wins again and again.

    After each merge the words are shorter, and the new id has neighbours of its own.
    """
    return ids


@exercise.instead_of("new_id")
def one_too_high(i: int) -> int:
    """Your new ids begin at 257.

    Bytes are 0 … 255, so merge number 0 makes 256.
    """
    return 257 + i


@exercise.misconception
def ties_by_spelling(words: Sequence[str], n_merges: int) -> list[Pair]:
    """Of equally frequent pairs you take the one that is first in the alphabet, by what its pieces spell.

    The ids decide: a piece that was made later has a larger id, however it is spelled.
    """
    spelled = [bytes([b]) for b in range(256)]

    def choose(counts: Counter[Pair]) -> Pair:
        best = min(counts, key=lambda pair: (-counts[pair], spelled[pair[0]] + spelled[pair[1]], pair))
        spelled.append(spelled[best[0]] + spelled[best[1]])
        return best

    return trained_in_steps(words, n_merges, choose=choose)


@exercise.misconception
def commonest_pairs_of_bytes(words: Sequence[str], n_merges: int) -> list[Pair]:
    """You count once and take the most frequent pairs of bytes.

    After each merge the counts are others: pairs with the new id appear, and pairs that shared a byte with it vanish.
    """
    counts = all_pairs(in_bytes(words))
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:n_merges]


@exercise.misconception
def one_merge_too_many(words: Sequence[str], n_merges: int) -> list[Pair]:
    """You learn one merge more than was asked for.

    Look at the number of merges before you learn another one.
    """
    return train_bpe(words, n_merges + 1)
