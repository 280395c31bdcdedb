"""The exercise `piece_kinds`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, integers, permutation
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.positions import (
    piece_kinds,
)

exercise = Exercise(
    piece_kinds,
    section="Pieces of words",
    minutes=10,
    difficulty=2,
    why="Models read pieces, people read words: this says where a word begins and where it only goes on.",
    hints=[
        "Which kind can you tell from a piece alone, without its neighbours?",
        'Whether "trans" is a whole word depends on a neighbour. On which one?',
        "The last piece has no neighbour there. And for an empty list: which dtype does torch.tensor([]) have?",
    ],
)


WORDS = ["the", "trans", "former", "un", "happy", "ness", "cat", "s"]


def text_of(continues: Tensor, seed: str) -> list[str]:
    """A piece for every entry, marked where the entry is 1."""
    words = integers(0, 8, len(continues), seed=seed).tolist()
    return ["##" * int(c) + WORDS[w] for c, w in zip(continues.tolist(), words, strict=True)]


def drawn_text(count: int, seed: str, first: str = "", last: str = "") -> list[str]:
    """That many pieces, marked or not by chance, between a beginning and an end: "m" is a marked piece, "." is not."""
    fixed = [torch.tensor([int(letter == "m") for letter in text], dtype=torch.int64) for text in (first, last)]
    return text_of(torch.cat([fixed[0], integers(0, 2, count, seed=f"marks {seed}"), fixed[1]]), seed)


@exercise.probe
def a_drawn_text(piece_kinds: Any) -> Seen:
    """twenty pieces, about half of them marked; the first and the last are not"""
    return {"kinds": piece_kinds(drawn_text(14, "text", "..mm", "m."))}


@exercise.probe
def whole_words(piece_kinds: Any) -> Seen:
    """whole words alone, in texts of three lengths"""
    texts = [
        text_of(torch.zeros(n, dtype=torch.int64), f"whole {i}") for i, n in enumerate(distinct(1, 9, 3, seed="n"))
    ]
    return {f"kinds {i}": piece_kinds(text) for i, text in enumerate(texts)}


@exercise.probe
def begins_with_a_later_piece(piece_kinds: Any) -> Seen:
    """a text that was cut: its first piece carries the mark"""
    return {"kinds": piece_kinds(drawn_text(12, "cut", "mm..", "m."))}


@exercise.probe
def ends_inside_a_word(piece_kinds: Any) -> Seen:
    """a text that ends with a split word"""
    return {"kinds": piece_kinds(drawn_text(12, "end", "..", ".mm"))}


@exercise.probe
def later_pieces_alone(piece_kinds: Any) -> Seen:
    """marked pieces and nothing else: one of them, and some"""
    marked = [["##ing"], *(text_of(torch.ones(n, dtype=torch.int64), "ones") for n in distinct(2, 12, 2, seed="ones"))]
    return {f"kinds {i}": piece_kinds(text) for i, text in enumerate(marked)}


@exercise.probe
def number_signs_elsewhere(piece_kinds: Any) -> Seen:
    """pieces with number signs that are no marks, such as "#1", "c##" and "a##b", in random order"""
    pieces = ["#1", "a", "c##", "a##b", "x", "##y", "#", "# #z", "##", "##a##", "###"]
    return {"kinds": piece_kinds([pieces[i] for i in permutation(len(pieces), seed="order").tolist()])}


@exercise.probe
def no_pieces(piece_kinds: Any) -> Seen:
    """an empty list, and a text"""
    return {"kinds of nothing": piece_kinds([]), "kinds": piece_kinds(drawn_text(12, "something", last="m."))}


exercise.property(repeats(lambda kinds: [kinds(["un", "##do"]), kinds(["re", "do"])]))


@exercise.property
def as_a_tensor(piece_kinds: Any) -> Seen:
    """what is returned for three pieces

    Your kinds are right, but not in a tensor of int64. An embedding takes nothing else.
    """
    kinds = piece_kinds(["un", "##happy", "cat"])
    return {"the result is an int64 tensor": getattr(kinds, "dtype", None) == torch.int64}


@exercise.property
def keeps_the_pieces(piece_kinds: Any) -> Seen:
    """a list that the caller goes on using

    Your code changes the list that it was given. The caller still needs it.
    """
    pieces = ["un", "##happy", "cat"]
    piece_kinds(pieces)
    return {"the list is unchanged": pieces == ["un", "##happy", "cat"]}


def leading_mark(pieces: list[str]) -> list[bool]:
    return [piece.startswith("##") for piece in pieces]


def next_one_continues(continues: list[bool]) -> list[bool]:
    return [*continues, False][1:]


def three_kinds(continues: bool, is_split: bool) -> int:
    return 2 if continues else int(is_split)


@exercise.assembled
def kinds_in_steps(
    pieces: list[str], *, marked: Any = leading_mark, split: Any = next_one_continues, name: Any = three_kinds
) -> Tensor:
    continues = marked(pieces)
    return torch.tensor([name(c, s) for c, s in zip(continues, split(continues), strict=True)], dtype=torch.int64)


@exercise.instead_of("marked")
def a_mark_anywhere(pieces: list[str]) -> list[bool]:
    """You look for ## anywhere in a piece.

    Only a leading ## is the mark; in "a##b" it is part of the text.
    """
    return ["##" in piece for piece in pieces]


@exercise.instead_of("marked")
def a_mark_at_the_end(pieces: list[str]) -> list[bool]:
    """You look for ## at the end of a piece.

    Some tokenisers mark pieces there, by other signs. Here a later piece begins with ##.
    """
    return [piece.endswith("##") for piece in pieces]


@exercise.instead_of("marked")
def one_sign_is_enough(pieces: list[str]) -> list[bool]:
    """You take a single leading # for the mark.

    "#1" is a word that begins with a number sign. The mark is two of them.
    """
    return [piece.startswith("#") for piece in pieces]


@exercise.instead_of("marked")
def never_in_first_place(pieces: list[str]) -> list[bool]:
    """You take the first piece of the list for the beginning of a word, even if it carries the mark.

    Texts are cut anywhere. A marked piece is a later piece, also in first place.
    """
    return [i > 0 and piece.startswith("##") for i, piece in enumerate(pieces)]


@exercise.instead_of("split")
def looks_back(continues: list[bool]) -> list[bool]:
    """You look at the piece before to see whether a word is split.

    A word is split if something continues it, and that comes after it.
    """
    return [False, *continues][: len(continues)]


@exercise.instead_of("split")
def around_the_corner(continues: list[bool]) -> list[bool]:
    """Your last piece looks at the first one: as if the list were a ring.

    After the last piece nothing follows, so nothing continues it.
    """
    return continues[1:] + continues[:1]


@exercise.instead_of("name")
def begin_or_later(continues: bool, is_split: bool) -> int:
    """Whole words and first pieces of split words are the same to you.

    "trans" alone and "trans" before "##former" are different things: kind 0 and kind 1.
    """
    return 2 if continues else 0


@exercise.instead_of("name")
def every_beginning_is_a_first_piece(continues: bool, is_split: bool) -> int:
    """You call every beginning of a word a first piece, also where the word is whole.

    A word of a single piece is kind 0.
    """
    return 2 if continues else 1


@exercise.instead_of("name")
def whole_and_first_exchanged(continues: bool, is_split: bool) -> int:
    """You have exchanged 0 and 1.

    0 is a whole word, 1 the first piece of a split one.
    """
    return 2 if continues else int(not is_split)


@exercise.misconception
def a_python_list(pieces: list[str]) -> list[int]:
    """You return a Python list.

    The kinds will be looked up in an embedding, which takes a tensor of int64.
    """
    kinds: list[int] = piece_kinds(pieces).tolist()
    return kinds


@exercise.misconception
def nothing_is_a_float(pieces: list[str]) -> Tensor:
    """For an empty list you return a tensor of floats.

    `torch.tensor([])` has nothing to guess a dtype from and takes the default. Say int64.
    """
    return piece_kinds(pieces) if pieces else torch.tensor([])


@exercise.misconception
def kinds_as_floats(pieces: list[str]) -> Tensor:
    """Your kinds are floating numbers.

    They will be looked up in an embedding, which takes a tensor of int64.
    """
    return piece_kinds(pieces).float()


squeezes(exercise)
