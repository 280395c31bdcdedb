"""The exercise `skip_gram_pairs`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import integers, permutation, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.meaning.shared import DTYPES_OF_FLOATS
from qkv.model.meaning import (
    skip_gram_pairs,
)

exercise = Exercise(
    skip_gram_pairs,
    section="A word is known by its company",
    minutes=10,
    difficulty=1,
    why="A text without a single label becomes thousands of questions with known answers.",
    hints=[
        "Go through the positions of the text. Which other positions are at most `window` away from position i?",
        "Both directions count, and the text has two ends. Which of the positions i - window … i + window exist?",
        "It is the position that may not be paired with itself. Another occurrence of the same word may.",
        "If there is no pair, the result still has two columns: `reshape(-1, 2)`, or `torch.empty(0, 2, …)`.",
    ],
    equivalents={
        "window = min(window, seq)  ->  window = window": "it saves memory where the window is longer than the text",
        "contexts = torch.arange(seq, device=ids.device)[:, None] + steps"
        "  ->  contexts = torch.arange(seq)[:, None] + steps": "on the CPU",
    },
)


def few_words(low: int, high: int, seed: str) -> Tensor:
    """A text of few words, so that most of them occur again and again; no word has the id of its position."""
    return 20 + integers(0, 4, whole(low, high, seed=f"{seed}: length"), seed=seed)


def words_once(low: int, high: int, seed: str) -> Tensor:
    """A text in which no word occurs twice."""
    return 30 + permutation(whole(low, high, seed=f"{seed}: length"), seed=seed)


def a_text() -> tuple[Tensor, int]:
    return words_once(9, 15, "text"), whole(3, 6, seed="window")


@exercise.probe
def a_window_of_several(skip_gram_pairs: Any) -> Seen:
    """a text in which no word occurs twice, and a window of 3 to 5"""
    return {"pairs": skip_gram_pairs(*a_text())}


@exercise.probe
def next_neighbours(skip_gram_pairs: Any) -> Seen:
    """a window of 1, and one of 2"""
    ids = words_once(6, 12, "text")
    return {"pairs, window 1": skip_gram_pairs(ids.clone(), 1), "pairs, window 2": skip_gram_pairs(ids.clone(), 2)}


@exercise.probe
def words_that_occur_again(skip_gram_pairs: Any) -> Seen:
    """a text of four words that occur again and again"""
    return {"pairs": skip_gram_pairs(few_words(14, 22, "again"), whole(3, 5, seed="window"))}


@exercise.probe
def a_window_longer_than_the_text(skip_gram_pairs: Any) -> Seen:
    """a window that is longer than the text, and one that just reaches its end"""
    ids = words_once(4, 8, "text")
    return {
        "pairs": skip_gram_pairs(ids.clone(), len(ids) + whole(2, 9, seed="more")),
        "pairs, window seq - 1": skip_gram_pairs(ids.clone(), len(ids) - 1),
    }


@exercise.probe
def no_pair_at_all(skip_gram_pairs: Any) -> Seen:
    """a window of 0, a text of one word, a text of none; and a text of two words"""
    ids, window = words_once(5, 9, "text"), whole(1, 6, seed="window")
    return {
        "pairs of two words": skip_gram_pairs(ids[:2].clone(), window),
        "pairs, window 0": skip_gram_pairs(ids.clone(), 0),
        "pairs of one word": skip_gram_pairs(ids[:1].clone(), window),
        "pairs of no word": skip_gram_pairs(ids[:0].clone(), window),
    }


usual(exercise, a_text, without=("gradients", *DTYPES_OF_FLOATS))


Pairs = list[list[int]]


def within_reach(i: int, seq: int, window: int) -> list[int]:
    return [j for j in range(i - window, i + window + 1) if j != i and 0 <= j < seq]


def centre_and_context(words: list[int], i: int, j: int) -> list[int]:
    return [words[i], words[j]]


def all_of_them(pairs: Pairs) -> Pairs:
    return pairs


def in_two_columns(pairs: Pairs, ids: Tensor) -> Tensor:
    return torch.tensor(pairs, dtype=ids.dtype, device=ids.device).reshape(-1, 2)


@exercise.assembled
def pairs_in_steps(
    ids: Tensor,
    window: int,
    *,
    near: Any = within_reach,
    pair: Any = centre_and_context,
    keep: Any = all_of_them,
    finish: Any = in_two_columns,
) -> Tensor:
    words = ids.tolist()
    places = range(len(words))
    return finish(keep([pair(words, i, j) for i in places for j in near(i, len(words), window)]), ids)


@exercise.instead_of("near")
def paired_with_itself(i: int, seq: int, window: int) -> list[int]:
    """You pair every position with itself.

    That a word stands where it stands says nothing about its neighbours. Leave out distance 0.
    """
    return [j for j in range(i - window, i + window + 1) if 0 <= j < seq]


@exercise.instead_of("near")
def later_neighbours_only(i: int, seq: int, window: int) -> list[int]:
    """You pair a word with what follows it, and not with what comes before.

    The window reaches to both sides.
    """
    return [j for j in range(i + 1, i + window + 1) if j < seq]


@exercise.instead_of("near")
def earlier_neighbours_only(i: int, seq: int, window: int) -> list[int]:
    """You pair a word with what comes before it, and not with what follows.

    The window reaches to both sides.
    """
    return [j for j in range(i - window, i) if j >= 0]


@exercise.instead_of("near")
def last_neighbour_missing(i: int, seq: int, window: int) -> list[int]:
    """Your window ends one word too early on its right side.

    A `range` leaves out its end. The neighbour at distance `window` belongs to it, on the right as on the left.
    """
    return [j for j in range(i - window, i + window) if j != i and 0 <= j < seq]


@exercise.instead_of("near")
def nearer_than_the_window(i: int, seq: int, window: int) -> list[int]:
    """Your neighbours are nearer than `window`; those at exactly that distance are missing on both sides.

    A window of 1 reaches the next word on either side.
    """
    return [j for j in range(i - window + 1, i + window) if j != i and 0 <= j < seq]


@exercise.instead_of("near")
def one_too_far(i: int, seq: int, window: int) -> list[int]:
    """Your window reaches one word too far on both sides.

    The last neighbours are at distance `window`.
    """
    return within_reach(i, seq, window + 1)


@exercise.instead_of("near")
def window_for_both_sides_together(i: int, seq: int, window: int) -> list[int]:
    """You divide the window between the two sides.

    `window` is how far it reaches on each side: up to 2·window neighbours.
    """
    return within_reach(i, seq, window // 2)


@exercise.instead_of("near")
def whole_text_as_window(i: int, seq: int, window: int) -> list[int]:
    """You do not use the window: every word is paired with every other.

    Words that stand far apart say little about each other. Neighbours are at most `window` away.
    """
    return within_reach(i, seq, seq)


@exercise.instead_of("near")
def full_windows_only(i: int, seq: int, window: int) -> list[int]:
    """You leave out the centres near the ends of the text, whose window is not full.

    They have fewer neighbours, but they have some.
    """
    return within_reach(i, seq, window) if window <= i < seq - window else []


@exercise.instead_of("near")
def around_the_beginning(i: int, seq: int, window: int) -> list[int]:
    """At the beginning of the text your window goes on at its end.

    A negative index counts from the end in Python, without a word. The text begins at 0.
    """
    return [j for j in range(i - window, i + window + 1) if j != i and j < seq]


@exercise.instead_of("near")
def around_both_ends(i: int, seq: int, window: int) -> list[int]:
    """You treat the text as a ring: past either end it goes on at the other.

    The first word and the last one are not neighbours. What lies outside of the text is no context.
    """
    return [j % seq for j in range(i - window, i + window + 1) if j != i]


@exercise.instead_of("near")
def later_ones_first(i: int, seq: int, window: int) -> list[int]:
    """You list what follows a word before what comes before it.

    The contexts of a centre stand in the order of the text.
    """
    return later_neighbours_only(i, seq, window) + earlier_neighbours_only(i, seq, window)


@exercise.instead_of("near")
def nearest_first(i: int, seq: int, window: int) -> list[int]:
    """You list the nearest contexts first.

    The contexts of a centre stand in the order of the text.
    """
    return sorted(within_reach(i, seq, window), key=lambda j: (abs(i - j), j))


@exercise.instead_of("pair")
def context_first(words: list[int], i: int, j: int) -> list[int]:
    """Your columns are exchanged: the context stands first.

    The first column is the centre, which repeats for all of its contexts.
    """
    return [words[j], words[i]]


@exercise.instead_of("pair")
def positions_for_ids(words: list[int], i: int, j: int) -> list[int]:
    """You list positions; it should be the ids of the words that stand there.

    What is learned belongs to a word, wherever it stands.
    """
    return [i, j]


@exercise.instead_of("keep")
def equal_words_left_out(pairs: Pairs) -> Pairs:
    """You leave out pairs of a word with another occurrence of itself.

    It is the position that is not paired with itself: compare positions, not ids.
    """
    return [pair for pair in pairs if pair[0] != pair[1]]


@exercise.instead_of("keep")
def each_pair_once(pairs: Pairs) -> Pairs:
    """You list each pair once, however often it occurs.

    How often two words meet is just what is to be learned. Remove no duplicates.
    """
    return [list(pair) for pair in dict.fromkeys(map(tuple, pairs))]


@exercise.instead_of("keep")
def sorted_pairs(pairs: Pairs) -> Pairs:
    """You sort the pairs.

    They stand in the order of the text, by their centres.
    """
    return sorted(pairs)


@exercise.instead_of("finish")
def two_rows(pairs: Pairs, ids: Tensor) -> Tensor:
    """Your result is (2, pair); it should be (pair, 2).

    A row is one pair, so that a batch of pairs is a batch of rows.
    """
    return in_two_columns(pairs, ids).T


@exercise.instead_of("finish")
def nothing_as_floats(pairs: Pairs, ids: Tensor) -> Tensor:
    """Where there is no pair, your result is `torch.tensor([])`: floating, and without the two columns.

    The caller takes columns of it, and looks up rows by it. No pair is (0, 2), of int64.
    """
    return torch.tensor(pairs)


@exercise.instead_of("finish")
def nothing_without_columns(pairs: Pairs, ids: Tensor) -> Tensor:
    """Where there is no pair, your result has shape (0,): the two columns are missing.

    The caller takes columns of it. No pair is (0, 2).
    """
    return torch.tensor(pairs, dtype=ids.dtype)


@exercise.misconception
def nothing_to_stack(ids: Tensor, window: int) -> Tensor:
    """Where there is no pair you call `torch.stack` on an empty list, which it refuses.

    A window of 0 or a text of one word is no error: no pair is (0, 2).
    """
    pairs = pairs_in_steps(ids, window)
    return torch.stack([*pairs])


@exercise.misconception
def distance_by_distance(ids: Tensor, window: int) -> Tensor:
    """You list all pairs at one distance, then all at the next.

    They are ordered by the centre: all contexts of the first word, then all of the second.
    """
    steps = [step for step in range(-min(window, len(ids)), min(window, len(ids)) + 1) if step]
    pairs = [[i, i + step] for step in steps for i in range(len(ids)) if 0 <= i + step < len(ids)]
    return ids[torch.tensor(pairs, dtype=ids.dtype).reshape(-1, 2)]
