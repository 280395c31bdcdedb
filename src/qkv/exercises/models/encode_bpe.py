"""The exercise `encode_bpe`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from proctor import Exercise
from proctor.inside.inputs import distinct, integers
from proctor.inside.properties import keeps_inputs
from proctor.inside.situations import Seen
from qkv.exercises.models.shared import Pair, from_256, glued, letters
from qkv.exercises.models.train_bpe import first_place_only, from_the_right
from qkv.model.models import (
    encode_bpe,
)

exercise = Exercise(
    encode_bpe,
    section="Cutting a text",
    minutes=10,
    difficulty=2,
    why="It is the first thing that happens to any prompt, and the order of the merges decides the cut.",
    hints=[
        "At first the ids are the bytes of the text. What does the first merge change? Then the second?",
        "The merges are made in the order in which they were learned, each one everywhere before the next one's turn.",
        "Walk from the left and build a new list: if its last id and the next one are the pair, write the new id.",
    ],
)


def chained(a: int, b: int, c: int, d: int) -> list[Pair]:
    """Merges of four bytes that get into each other's way, and build on each other."""
    first = [(a, b), (b, c), (256, c), (d, d), (257, d), (a, 259), (258, 256), (260, a), (259, 259), (262, 258)]
    return [*first, (c, a), (c, 256)]  # such as training gives: no (b, 266), since bc is made before ca


def drawn_text(length: int, alphabet: str, seed: str) -> str:
    return "".join(alphabet[i] for i in integers(0, len(alphabet), length, seed=seed).tolist())


@exercise.probe
def four_letters(encode_bpe: Any) -> Seen:
    """a text of four different letters, and twelve merges"""
    alphabet = letters(4, "which four")
    a, b, c, d = list(alphabet)
    text = drawn_text(90, alphabet, "text") + d + b + c + a + d + c + a + b + c
    # at its end: c, abc by rank; cab, c by length; ca, bc from the left
    return {"ids": encode_bpe(text, chained(*alphabet.encode()))}


@exercise.probe
def one_letter_again_and_again(encode_bpe: Any) -> Seen:
    """runs of one letter"""
    letter, other = letters(2, "which one").encode()
    merges = [(letter, letter), (256, other), (256, 256), (258, letter)]
    lengths = distinct(5, 22, 4, seed="lengths")
    return {
        f"ids of run {i}": encode_bpe(chr(letter) * length + chr(other) * (i % 2), list(merges))
        for i, length in enumerate(lengths)
    }


@exercise.probe
def across_spaces(encode_bpe: Any) -> Seen:
    """a text with spaces, at its ends too, and merges that join a space with a letter"""
    alphabet = letters(2, "which beside spaces")
    x, y = alphabet.encode()
    merges = [(32, x), (y, 32), (256, y), (257, 256), (32, 32), (258, x)]
    text = " " + drawn_text(60, alphabet + "  ", "spaced") + alphabet + " "
    return {"ids": encode_bpe(text, merges)}


@exercise.probe
def many_bytes_for_a_letter(encode_bpe: Any) -> Seen:
    """letters of two, three and four bytes, some of them merged"""
    e, power, smile = "é".encode(), "力".encode(), "🙂".encode()
    merges = [(e[0], e[1]), (power[0], power[1]), (smile[2], smile[3]), (257, power[2]), (256, 259), (259, ord("a"))]
    return {"ids": encode_bpe(drawn_text(40, "aé力🙂", "far"), merges)}


@exercise.probe
def merges_that_are_not_there(encode_bpe: Any) -> Seen:
    """merges of which some, the first too, do not occur in the text"""
    absent, *there = letters(4, "which is absent").encode()
    a, b, c = there
    merges = [(absent, a), (a, b), (absent, absent), (257, c), (256, b), (259, 259)]
    return {"ids": encode_bpe(drawn_text(50, bytes(there).decode(), "without"), merges)}


@exercise.probe
def hardly_anything(encode_bpe: Any) -> Seen:
    """no merges, a text of one letter, a text that is one pair, and an empty text"""
    alphabet = letters(4, "which hardly")
    merges = chained(*alphabet.encode())
    return {
        "without merges": encode_bpe(drawn_text(8, alphabet + "é ", "bare"), []),
        "one letter": encode_bpe(alphabet[1], list(merges)),
        "one pair": encode_bpe(alphabet[:2], list(merges)),
        "empty": encode_bpe("", list(merges)),
    }


exercise.property(keeps_inputs(lambda: ("abcdabcabcdd", chained(*b"abcd"))))


def merge_everywhere(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    return glued(ids, pair, new)


def bytes_of(text: str) -> list[int]:
    return list(text.encode())


def in_their_order(merges: Sequence[Pair]) -> list[tuple[int, Pair]]:
    return list(enumerate(merges))


@exercise.assembled
def encoded_in_steps(
    text: str,
    merges: Sequence[Pair],
    *,
    begin: Any = bytes_of,
    order: Any = in_their_order,
    glue: Any = merge_everywhere,
    new_id: Any = from_256,
) -> list[int]:
    ids = begin(text)
    for i, pair in order(merges):
        ids = glue(ids, pair, new_id(i))
    return ids


@exercise.instead_of("begin")
def begins_with_characters(text: str) -> list[int]:
    """You begin with characters, not with bytes.

    The number of "力" is 21147, which may be some merge's id. The merges were learned on bytes.
    """
    return list(map(ord, text))


@exercise.instead_of("begin")
def spaces_at_the_ends_dropped(text: str) -> list[int]:
    """You drop the spaces at the ends of the text.

    Decoding should give the very text back.
    """
    return list(text.strip().encode())


@exercise.instead_of("begin")
def begins_with_ascii(text: str) -> list[int]:
    """You drop every letter that is not ASCII.

    Decoding should give the very text back. UTF-8 has bytes for every letter.
    """
    return list(text.encode("ascii", errors="ignore"))


@exercise.instead_of("order")
def last_merge_first(merges: Sequence[Pair]) -> list[tuple[int, Pair]]:
    """You make the merges in the reverse of their order.

    Later merges build on what earlier ones have made; the other way round there is little for them to find.
    """
    return list(enumerate(merges))[::-1]


@exercise.instead_of("glue")
def one_place_for_each_merge(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You make each merge in one place only.

    A merge is made wherever the pair stands, before the next merge has its turn.
    """
    return first_place_only(ids, pair, new)


@exercise.instead_of("glue")
def merged_from_the_right(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You merge from the right: "aaa" becomes "a" and "aa".

    Training merged from the left, so other pieces come out than were learned.
    """
    return from_the_right(ids, pair, new)


@exercise.instead_of("glue")
def merged_with_overlap(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You use an id for two pairs: in "aaa" both the first two and the last two become a new id.

    Then the text gets longer when it is decoded. After a merge go on after it.
    """
    hits = {at for at in range(len(ids) - 1) if ids[at : at + 2] == list(pair)}
    return [new if at in hits else part for at, part in enumerate(ids) if at in hits or at - 1 not in hits]


@exercise.instead_of("glue")
def last_two_overlooked(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You never merge the last two ids of a text: your loop ends one place early.

    With n ids there are n - 1 pairs; the last begins at n - 2.
    """
    if len(ids) < 2:
        return ids
    body, last = glued(ids[:-1], pair, new), ids[-1]
    return [*body, last]


@exercise.instead_of("new_id")
def ids_from_257(i: int) -> int:
    """Your new ids begin at 257.

    Bytes are 0 … 255, so merge number 0 makes 256.
    """
    return 257 + i


@exercise.instead_of("new_id")
def ids_from_255(i: int) -> int:
    """Your new ids begin at 255, which is a byte already.

    Bytes are 0 … 255, so merge number 0 makes 256.
    """
    return 255 + i


@exercise.misconception
def highest_rank_first(text: str, merges: Sequence[Pair]) -> list[int]:
    """Of the pairs that are there you always merge the one that was learned last.

    The one that was learned first is the most frequent, and what comes later builds on it.
    """
    rank = {tuple(pair): i for i, pair in enumerate(merges)}
    ids = list(text.encode())
    while there := [pair for pair in pairwise(ids) if pair in rank]:
        best = max(there, key=lambda pair: rank[pair])
        ids = glued(ids, best, 256 + rank[best])
    return ids


@exercise.misconception
def longest_piece_first(text: str, merges: Sequence[Pair]) -> list[int]:
    """You take the longest known piece that the rest of the text begins with.

    That is another tokenizer (WordPiece's). Byte pairs are merged in the order in which they were learned, and that may
    cut elsewhere.
    """
    spelled = [bytes([b]) for b in range(256)]
    for a, b in merges:
        spelled.append(spelled[a] + spelled[b])
    number_of = {piece: i for i, piece in reversed(list(enumerate(spelled)))}
    rest, ids = text.encode(), []
    while rest:
        piece = next(rest[:end] for end in range(len(rest), 0, -1) if rest[:end] in number_of)
        ids.append(number_of[piece])
        rest = rest[len(piece) :]
    return ids


@exercise.misconception
def whichever_fits_from_the_left(text: str, merges: Sequence[Pair]) -> list[int]:
    """You walk from the left and make any merge that fits, whatever its rank.

    A pair further right may have been learned earlier, and it takes precedence.
    """
    rank = {tuple(pair): i for i, pair in enumerate(merges)}
    ids, at = list(text.encode()), 0
    while at + 1 < len(ids):
        if (ids[at], ids[at + 1]) in rank:
            ids[at : at + 2] = [256 + rank[ids[at], ids[at + 1]]]
            at = max(at - 1, 0)
        else:
            at += 1
    return ids


@exercise.misconception
def spaces_lost(text: str, merges: Sequence[Pair]) -> list[int]:
    """You split the text at its spaces, and lose them.

    Decoding should give the very text back. A space is a byte like any other here.
    """
    return [i for word in text.split() for i in encode_bpe(word, merges)]


@exercise.misconception
def spaces_between_words(text: str, merges: Sequence[Pair]) -> list[int]:
    """You never merge a space with what stands beside it.

    Nothing is split here: if a pair with a space was learned, it is merged.
    """
    first, *others = text.split(" ")
    ids = encode_bpe(first, merges)
    for word in others:
        ids += [32, *encode_bpe(word, merges)]
    return ids


@exercise.misconception
def stops_at_the_first_that_is_missing(text: str, merges: Sequence[Pair]) -> list[int]:
    """You stop at the first merge that the text has no place for.

    The merges after it may still find their pairs; most texts use few of all merges.
    """
    ids = list(text.encode())
    for i, pair in enumerate(merges):
        shorter = glued(ids, pair, 256 + i)
        if shorter == ids:
            break
        ids = shorter
    return ids
