"""Chapter 14: skip-gram and its negatives, their gradient by hand, analogies, linear probes, attention rollout."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.forbid import Family
from proctor.inside.inputs import distinct, generator, integers, normal, number, permutation, uniform, whole
from proctor.inside.properties import usual
from qkv.model.meaning import (
    analogy,
    attention_rollout,
    linear_probe,
    negative_samples,
    negative_sampling_gradient,
    negative_sampling_loss,
    skip_gram_pairs,
)

Seen = dict[str, Any]
DTYPES_OF_FLOATS = ("in_float64", "in_float16", "in_bfloat16")

# skip_gram_pairs ------------------------------------------------------------------------------------------------------

pairing_words = Exercise(
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


@pairing_words.probe
def a_window_of_several(skip_gram_pairs: Any) -> Seen:
    """a text in which no word occurs twice, and a window of 3 to 5"""
    return {"pairs": skip_gram_pairs(*a_text())}


@pairing_words.probe
def next_neighbours(skip_gram_pairs: Any) -> Seen:
    """a window of 1, and one of 2"""
    ids = words_once(6, 12, "text")
    return {"pairs, window 1": skip_gram_pairs(ids.clone(), 1), "pairs, window 2": skip_gram_pairs(ids.clone(), 2)}


@pairing_words.probe
def words_that_occur_again(skip_gram_pairs: Any) -> Seen:
    """a text of four words that occur again and again"""
    return {"pairs": skip_gram_pairs(few_words(14, 22, "again"), whole(3, 5, seed="window"))}


@pairing_words.probe
def a_window_longer_than_the_text(skip_gram_pairs: Any) -> Seen:
    """a window that is longer than the text, and one that just reaches its end"""
    ids = words_once(4, 8, "text")
    return {
        "pairs": skip_gram_pairs(ids.clone(), len(ids) + whole(2, 9, seed="more")),
        "pairs, window seq - 1": skip_gram_pairs(ids.clone(), len(ids) - 1),
    }


@pairing_words.probe
def no_pair_at_all(skip_gram_pairs: Any) -> Seen:
    """a window of 0, a text of one word, a text of none; and a text of two words"""
    ids, window = words_once(5, 9, "text"), whole(1, 6, seed="window")
    return {
        "pairs of two words": skip_gram_pairs(ids[:2].clone(), window),
        "pairs, window 0": skip_gram_pairs(ids.clone(), 0),
        "pairs of one word": skip_gram_pairs(ids[:1].clone(), window),
        "pairs of no word": skip_gram_pairs(ids[:0].clone(), window),
    }


usual(pairing_words, a_text, without=("gradients", *DTYPES_OF_FLOATS))


Pairs = list[list[int]]


def within_reach(i: int, seq: int, window: int) -> list[int]:
    return [j for j in range(i - window, i + window + 1) if j != i and 0 <= j < seq]


def centre_and_context(words: list[int], i: int, j: int) -> list[int]:
    return [words[i], words[j]]


def all_of_them(pairs: Pairs) -> Pairs:
    return pairs


def in_two_columns(pairs: Pairs, ids: Tensor) -> Tensor:
    return torch.tensor(pairs, dtype=ids.dtype, device=ids.device).reshape(-1, 2)


@pairing_words.assembled
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


@pairing_words.instead_of("near")
def paired_with_itself(i: int, seq: int, window: int) -> list[int]:
    """You pair every position with itself.

    That a word stands where it stands says nothing about its neighbours. Leave out distance 0.
    """
    return [j for j in range(i - window, i + window + 1) if 0 <= j < seq]


@pairing_words.instead_of("near")
def later_neighbours_only(i: int, seq: int, window: int) -> list[int]:
    """You pair a word with what follows it, and not with what comes before.

    The window reaches to both sides.
    """
    return [j for j in range(i + 1, i + window + 1) if j < seq]


@pairing_words.instead_of("near")
def earlier_neighbours_only(i: int, seq: int, window: int) -> list[int]:
    """You pair a word with what comes before it, and not with what follows.

    The window reaches to both sides.
    """
    return [j for j in range(i - window, i) if j >= 0]


@pairing_words.instead_of("near")
def last_neighbour_missing(i: int, seq: int, window: int) -> list[int]:
    """Your window ends one word too early on its right side.

    A `range` leaves out its end. The neighbour at distance `window` belongs to it, on the right as on the left.
    """
    return [j for j in range(i - window, i + window) if j != i and 0 <= j < seq]


@pairing_words.instead_of("near")
def nearer_than_the_window(i: int, seq: int, window: int) -> list[int]:
    """Your neighbours are nearer than `window`; those at exactly that distance are missing on both sides.

    A window of 1 has the next words in it.
    """
    return [j for j in range(i - window + 1, i + window) if j != i and 0 <= j < seq]


@pairing_words.instead_of("near")
def one_too_far(i: int, seq: int, window: int) -> list[int]:
    """Your window reaches one word too far on both sides.

    The last neighbours are at distance `window`.
    """
    return within_reach(i, seq, window + 1)


@pairing_words.instead_of("near")
def window_for_both_sides_together(i: int, seq: int, window: int) -> list[int]:
    """You divide the window between the two sides.

    `window` is how far it reaches on each side: up to 2·window neighbours.
    """
    return within_reach(i, seq, window // 2)


@pairing_words.instead_of("near")
def whole_text_as_window(i: int, seq: int, window: int) -> list[int]:
    """You do not use the window: every word is paired with every other.

    Words that stand far apart say little about each other. Neighbours are at most `window` away.
    """
    return within_reach(i, seq, seq)


@pairing_words.instead_of("near")
def full_windows_only(i: int, seq: int, window: int) -> list[int]:
    """You leave out the centres near the ends of the text, whose window is not full.

    They have fewer neighbours, but they have some.
    """
    return within_reach(i, seq, window) if window <= i < seq - window else []


@pairing_words.instead_of("near")
def around_the_beginning(i: int, seq: int, window: int) -> list[int]:
    """At the beginning of the text your window goes on at its end.

    A negative index counts from the end in Python, without a word. The text begins at 0.
    """
    return [j for j in range(i - window, i + window + 1) if j != i and j < seq]


@pairing_words.instead_of("near")
def around_both_ends(i: int, seq: int, window: int) -> list[int]:
    """You treat the text as a ring: past either end it goes on at the other.

    The first word and the last one are not neighbours. What lies outside of the text is no context.
    """
    return [j % seq for j in range(i - window, i + window + 1) if j != i]


@pairing_words.instead_of("near")
def later_ones_first(i: int, seq: int, window: int) -> list[int]:
    """You list what follows a word before what comes before it.

    The contexts of a centre stand in the order of the text.
    """
    return later_neighbours_only(i, seq, window) + earlier_neighbours_only(i, seq, window)


@pairing_words.instead_of("near")
def nearest_first(i: int, seq: int, window: int) -> list[int]:
    """You list the nearest contexts first.

    The contexts of a centre stand in the order of the text.
    """
    return sorted(within_reach(i, seq, window), key=lambda j: (abs(i - j), j))


@pairing_words.instead_of("pair")
def context_first(words: list[int], i: int, j: int) -> list[int]:
    """Your columns are exchanged: the context stands first.

    The first column is the centre, which repeats for all of its contexts.
    """
    return [words[j], words[i]]


@pairing_words.instead_of("pair")
def positions_for_ids(words: list[int], i: int, j: int) -> list[int]:
    """You list positions; it should be the ids of the words that stand there.

    What is learned belongs to a word, wherever it stands.
    """
    return [i, j]


@pairing_words.instead_of("keep")
def equal_words_left_out(pairs: Pairs) -> Pairs:
    """You leave out pairs of a word with another occurrence of itself.

    It is the position that is not paired with itself: compare positions, not ids.
    """
    return [pair for pair in pairs if pair[0] != pair[1]]


@pairing_words.instead_of("keep")
def each_pair_once(pairs: Pairs) -> Pairs:
    """You list each pair once, however often it occurs.

    How often two words meet is just what is to be learned. Remove no duplicates.
    """
    return [list(pair) for pair in dict.fromkeys(map(tuple, pairs))]


@pairing_words.instead_of("keep")
def sorted_pairs(pairs: Pairs) -> Pairs:
    """You sort the pairs.

    They stand in the order of the text, by their centres.
    """
    return sorted(pairs)


@pairing_words.instead_of("finish")
def two_rows(pairs: Pairs, ids: Tensor) -> Tensor:
    """Your result is (2, pair); it should be (pair, 2).

    A row is one pair, so that a batch of pairs is a batch of rows.
    """
    return in_two_columns(pairs, ids).T


@pairing_words.instead_of("finish")
def nothing_as_floats(pairs: Pairs, ids: Tensor) -> Tensor:
    """Where there is no pair, your result is `torch.tensor([])`: floating, and without the two columns.

    The caller takes columns of it, and looks up rows by it. No pair is (0, 2), of int64.
    """
    return torch.tensor(pairs)


@pairing_words.instead_of("finish")
def nothing_without_columns(pairs: Pairs, ids: Tensor) -> Tensor:
    """Where there is no pair, your result has shape (0,): the two columns are missing.

    The caller takes columns of it. No pair is (0, 2).
    """
    return torch.tensor(pairs, dtype=ids.dtype)


@pairing_words.misconception
def nothing_to_stack(ids: Tensor, window: int) -> Tensor:
    """Where there is no pair you call `torch.stack` on an empty list, which it refuses.

    A window of 0 or a text of one word is no error: no pair is (0, 2).
    """
    pairs = pairs_in_steps(ids, window)
    return torch.stack([*pairs])


@pairing_words.misconception
def distance_by_distance(ids: Tensor, window: int) -> Tensor:
    """You list all pairs at one distance, then all at the next.

    They are ordered by the centre: all contexts of the first word, then all of the second.
    """
    steps = [step for step in range(-min(window, len(ids)), min(window, len(ids)) + 1) if step]
    pairs = [[i, i + step] for step in steps for i in range(len(ids)) if 0 <= i + step < len(ids)]
    return ids[torch.tensor(pairs, dtype=ids.dtype).reshape(-1, 2)]


# negative_samples -----------------------------------------------------------------------------------------------------

SCALE = "multinomial takes probabilities that need not sum to 1"
drawing_noise = Exercise(
    negative_samples,
    section="Neighbours and strangers",
    minutes=5,
    difficulty=1,
    why="Without wrong answers to tell apart, the best that skip-gram could do is to make all vectors equal.",
    hints=[
        "First the probabilities: one for each word of the vocabulary, by how often it occurs.",
        "count**power, divided by its sum. What becomes of a word that never occurs?",
        "`torch.multinomial` draws many at once, in one dimension: how many do you need in all? Then `reshape`.",
        "Two of its arguments are easily forgotten: `replacement=True`, and the generator that you are given.",
    ],
    equivalents={
        "p = (counts.float() / counts.max()) ** power  ->  p = (counts.float() * counts.max()) ** power": SCALE,
        "p = (counts.float() / counts.max()) ** power  ->  p = counts.float() ** power": SCALE,
        "p = p / p.sum()  ->  p = p * p.sum()": SCALE,
        "p = p / p.sum()  ->  p = p": SCALE,
        "return torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(tuple(shape))"
        "  ->  return torch.multinomial(p, math.prod(shape), replacement=True, generator=generator).reshape(shape)": (
            "`reshape` takes lists, too"
        ),
    },
)


def settled(name: str) -> torch.Generator:
    """A generator to hand over. torch's own starts anew, so that who draws from that one always draws the same."""
    torch.manual_seed(whole(0, 2**31, seed=f"torch's own {name}"))
    return generator(name)


def word_counts(vocab: int, seed: str) -> Tensor:
    """Few words that occur often, and many that are rare, as in a text; every fifth never occurs."""
    ranks = permutation(vocab, seed=f"{seed}: ranks")
    counts = whole(300, 600, seed=f"{seed}: most") // (1 + ranks)
    return counts.masked_fill(ranks % 5 == 4, 0)


def noise(seed: str, *shape: int) -> tuple[Tensor, tuple[int, ...], torch.Generator]:
    return word_counts(whole(18, 30, seed=f"{seed}: vocab"), seed), shape, settled(seed)


def some_noise() -> tuple[Any, ...]:
    return *noise("some", *distinct(8, 16, 2, seed="sizes")), number(0.3, 0.6, seed="power")


@drawing_noise.probe
def power_left_out(negative_samples: Any) -> Seen:
    """some negatives for each word of a batch, power not given"""
    return {"ids": negative_samples(*noise("default", *distinct(9, 16, 2, seed="sizes")))}


@drawing_noise.probe
def other_powers(negative_samples: Any) -> Seen:
    """a power below one half, and one above 1"""
    large = number(1.3, 1.8, seed="large")
    return {
        "ids, small power": negative_samples(*some_noise()),
        "ids, large power": negative_samples(*noise("large", 10, 12), power=large),
    }


@drawing_noise.probe
def words_that_never_occur(negative_samples: Any) -> Seen:
    """a vocabulary of which most words never occur, and one of which every word does"""
    vocab = whole(25, 35, seed="vocab")
    counts = integers(1, 9, vocab, seed="counts")
    there = permutation(vocab, seed="there") < 6
    return {
        "ids, six words occur": negative_samples(counts * there, (8, 7), settled("six")),
        "ids, all occur": negative_samples(counts, (8, 7), settled("all")),
    }


@drawing_noise.probe
def shapes_of_all_kinds(negative_samples: Any) -> Seen:
    """one dimension, three, and a list for the shape; a vocabulary of one word"""
    a, b, c = distinct(2, 7, 3, seed="sizes")
    found = {
        "ids, one dimension": negative_samples(*noise("one", 5 * a)),
        "ids, three dimensions": negative_samples(*noise("three", a, b, c)),
    }
    counts, _, source = noise("list", 2)
    found["ids, shape a list"] = negative_samples(counts, [b, 3 * c], source)
    return found | {"ids of one word": negative_samples(counts[:1].clone() + 1, (a, b), source)}


@drawing_noise.probe
def few_of_many(negative_samples: Any) -> Seen:
    """fewer draws than there are words"""
    counts = integers(1, 4, whole(40, 60, seed="vocab"), seed="counts")
    return {"ids": negative_samples(counts, (6, 5), settled("few"), 0.5)}


@drawing_noise.probe
def from_one_generator_twice(negative_samples: Any) -> Seen:
    """two calls with one generator, and what it draws next"""
    counts, shape, source = noise("twice", *distinct(6, 12, 2, seed="sizes"))
    found = {name: negative_samples(counts.clone(), shape, source) for name in ("first ids", "second ids")}
    return found | {"next draws of the generator": torch.rand(4, generator=source)}


# The generator lives on the CPU, and torch draws where the probabilities are.
usual(drawing_noise, some_noise, without=("gradients", *DTYPES_OF_FLOATS, "other_device"))


def power_of_counts(counts: Tensor, power: float) -> Tensor:
    return counts.float() ** power


def by_multinomial(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=source).reshape(tuple(shape))


@drawing_noise.assembled
def noise_in_steps(
    counts: Tensor,
    shape: Sequence[int],
    generator: torch.Generator,
    power: float = 0.75,
    *,
    weigh: Any = power_of_counts,
    draw: Any = by_multinomial,
) -> Tensor:
    return draw(weigh(counts, power), shape, generator)


@drawing_noise.instead_of("weigh")
def counts_as_they_are(counts: Tensor, power: float) -> Tensor:
    """You do not use the power: words are drawn as often as they occur.

    Then nearly all negatives are the few most frequent words.
    """
    return counts.float()


@drawing_noise.instead_of("weigh")
def always_three_quarters(counts: Tensor, power: float) -> Tensor:
    """You raise to the power 0.75, whatever `power` says.

    0.75 is the default; the caller may want another.
    """
    return counts.float() ** 0.75


@drawing_noise.instead_of("weigh")
def all_words_alike(counts: Tensor, power: float) -> Tensor:
    """You draw every word of the vocabulary equally often.

    A word is drawn in proportion to count**power, and one that never occurs is never drawn.
    """
    return torch.ones(len(counts))


@drawing_noise.instead_of("weigh")
def occurring_words_alike(counts: Tensor, power: float) -> Tensor:
    """You draw all words that occur equally often.

    A word is drawn in proportion to count**power: frequent ones more often.
    """
    return (counts > 0).float()


@drawing_noise.instead_of("weigh")
def root_for_power(counts: Tensor, power: float) -> Tensor:
    """You raise to 1/power.

    A power below 1 makes the frequent words rarer among the negatives; its inverse makes them more frequent still.
    """
    return counts.float() ** (1 / power)


@drawing_noise.instead_of("weigh")
def rare_words_first(counts: Tensor, power: float) -> Tensor:
    """You divide by count**power, so that rare words are drawn most, and one that never occurs has the weight inf.

    A power below 1 favours rare words, but only in comparison with their counts.
    """
    return counts.float() ** -power


@drawing_noise.instead_of("weigh")
def times_the_power(counts: Tensor, power: float) -> Tensor:
    """You use the exponential of power·count, as a softmax does.

    Counts are no scores: the most frequent word would take everything. The weight is count**power.
    """
    return torch.softmax(counts.float() * power, -1)


@drawing_noise.instead_of("weigh")
def one_added_to_each(counts: Tensor, power: float) -> Tensor:
    """You add 1 to every count.

    A word that never occurs is then drawn as well, and its vector is pushed around by noise alone.
    """
    return (counts + 1).float() ** power


@drawing_noise.instead_of("weigh")
def at_least_one(counts: Tensor, power: float) -> Tensor:
    """You raise counts of 0 to 1.

    A word that never occurs is never drawn.
    """
    return counts.clamp(min=1).float() ** power


@drawing_noise.instead_of("weigh")
def logarithms_of_counts(counts: Tensor, power: float) -> Tensor:
    """You weigh words by the logarithm of their count.

    It flattens the counts too, but more than the power does.
    """
    return torch.log1p(counts.float()) * power


@drawing_noise.instead_of("draw")
def never_the_same_twice(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You draw without replacement.

    A word that was drawn may be drawn again: a batch needs more negatives than there are words. See `replacement`.
    """
    return torch.multinomial(p, math.prod(shape), generator=source).reshape(tuple(shape))


@drawing_noise.instead_of("draw")
def from_torchs_own_generator(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You do not use the generator that you are given: you draw from torch's global one.

    Whoever seeds the generator expects to meet the same numbers again.
    """
    return torch.multinomial(p, math.prod(shape), replacement=True).reshape(tuple(shape))


@drawing_noise.instead_of("draw")
def from_a_new_generator(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You do not use the generator that you are given: a new one with the seed 0 draws the same words every time.

    Then each batch has the same negatives, and all other words are never pushed away.
    """
    return by_multinomial(p, shape, torch.Generator().manual_seed(0))


@drawing_noise.instead_of("draw")
def one_row_for_every_word(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You draw one row of negatives and use it for the whole batch.

    Every word gets negatives of its own: draw as many as the shape has entries.
    """
    return torch.multinomial(p, shape[-1], replacement=True, generator=source).expand(tuple(shape))


@drawing_noise.instead_of("draw")
def not_reshaped(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """Your ids stand in one long row; they should have the given shape.

    As many as there are, but a batch needs to know which of them belong to which word.
    """
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=source)


@drawing_noise.instead_of("draw")
def column_by_column(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You fill the shape column by column.

    `reshape` fills row by row: the first numbers drawn are the first row.
    """
    ids = by_multinomial(p, [*reversed(shape)], source)
    return ids.permute(*reversed(range(len(shape))))


@drawing_noise.instead_of("draw")
def one_at_a_time(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You call `torch.multinomial` once for every number.

    These are negatives too, but others: for a single number torch draws in another way. Ask for all of them at once.
    """
    single = [torch.multinomial(p, 1, generator=source) for _ in range(math.prod(shape))]
    return torch.cat(single).reshape(tuple(shape))


@drawing_noise.instead_of("draw")
def by_another_call(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You draw with `torch.rand` and look the numbers up in the cumulative sum.

    That gives words of the same frequencies, but not the same words. The docstring fixes the call, so that the same
    generator gives the same negatives.
    """
    draws = torch.rand(tuple(shape), generator=source)
    return torch.searchsorted(p.cumsum(0) / p.sum(), draws).clamp(max=len(p) - 1)


@drawing_noise.misconception
def ids_from_one(counts: Tensor, shape: Sequence[int], generator: torch.Generator, power: float = 0.75) -> Tensor:
    """You add 1 to the ids.

    They count from 0, as the rows of an embedding do.
    """
    return negative_samples(counts, shape, generator, power) + 1


# negative_sampling_loss -----------------------------------------------------------------------------------------------

telling_apart = Exercise(
    negative_sampling_loss,
    section="Neighbours and strangers",
    minutes=10,
    difficulty=2,
    why="A choice among all words of a language becomes a handful of yes-or-no questions.",
    hints=[
        "Two dot products for each centre: one with its context, and n with its negatives. What are their shapes?",
        "For the context the right answer is yes, for a negative it is no. What is the probability of no, 1 - σ(x), as "
        "a σ of something else?",
        "σ(-200) is 0 in float32, and its logarithm -inf. `F.logsigmoid` never makes the σ itself.",
        "Sum over the negatives first, then take the mean over everything that is left.",
    ],
)


def words_with_noise(*leading: int, n: int, d: int) -> tuple[Tensor, Tensor, Tensor]:
    return (
        normal(*leading, d, seed="centre"),
        normal(*leading, d, seed="context"),
        normal(*leading, n, d, seed="negatives"),
    )


def some_words() -> tuple[Tensor, Tensor, Tensor]:
    batch, n, d = distinct(2, 8, 3, seed="sizes")
    return words_with_noise(batch, n=n, d=d)


def sure_words(scale: int) -> tuple[Tensor, Tensor, Tensor]:
    """Dot products between ±8·scale and ±24·scale in all combinations: of whole numbers, so that they are exact in
    float32, whatever the order of the sum."""
    signs = torch.tensor([[1, -1], [-1, 1], [1, 1], [-1, -1]])
    centre = scale * integers(1, 3, 4, 4, seed="centre")
    context = signs[:, :1] * integers(2, 4, 4, 4, seed="context")
    negatives = signs[:, 1:, None] * integers(2, 4, 4, 3, 4, seed="negatives")
    return centre.float(), context.float(), negatives.float()


@telling_apart.probe
def a_batch_of_words(negative_sampling_loss: Any) -> Seen:
    """a batch of centres, every size another one"""
    return {"loss": negative_sampling_loss(*some_words())}


@telling_apart.probe
def one_centre_alone(negative_sampling_loss: Any) -> Seen:
    """one centre, no leading dimension"""
    n, d = distinct(3, 8, 2, seed="sizes")
    return {"loss": negative_sampling_loss(*words_with_noise(n=n, d=d))}


@telling_apart.probe
def two_leading_dimensions(negative_sampling_loss: Any) -> Seen:
    """two leading dimensions; all sizes alike"""
    a, b, n, d = distinct(2, 8, 4, seed="sizes")
    same = whole(3, 6, seed="same")
    return {
        "loss": negative_sampling_loss(*words_with_noise(a, b, n=n, d=d)),
        "loss, all sizes alike": negative_sampling_loss(*words_with_noise(same, n=same, d=same)),
    }


@telling_apart.probe
def sizes_of_one(negative_sampling_loss: Any) -> Seen:
    """one negative, one component, a batch of one"""
    a, b = distinct(3, 8, 2, seed="sizes")
    return {
        "loss, one negative": negative_sampling_loss(*words_with_noise(a, n=1, d=b)),
        "loss, one component": negative_sampling_loss(*words_with_noise(a, n=b, d=1)),
        "loss, batch of one": negative_sampling_loss(*words_with_noise(1, n=a, d=b)),
    }


@telling_apart.probe
def no_negatives(negative_sampling_loss: Any) -> Seen:
    """no negatives"""
    batch, d = distinct(3, 8, 2, seed="sizes")
    return {"loss": negative_sampling_loss(*words_with_noise(batch, n=0, d=d))}


def loss_and_gradients(loss: Any, *arguments: Tensor) -> Seen:
    """The loss, and its gradient in each argument; 0 where there is no graph."""
    names = [f"gradient of {name}" for name in ("centre", "context", "negatives")]
    result = loss(*(argument.requires_grad_() for argument in arguments))
    found: Sequence[Tensor | None] = [None] * 3
    if isinstance(result, Tensor) and result.requires_grad:
        found = torch.autograd.grad(result.sum(), arguments, allow_unused=True)
    grads = [torch.zeros_like(a) if g is None else g for a, g in zip(arguments, found, strict=True)]
    return {"loss": result, **dict(zip(names, grads, strict=True))}


@telling_apart.probe
def answers_that_are_sure(negative_sampling_loss: Any) -> Seen:
    """dot products from ±24 to ±72, right and wrong ones, with the gradients"""
    return loss_and_gradients(negative_sampling_loss, *sure_words(3))


@telling_apart.probe
def huge_dot_products(negative_sampling_loss: Any) -> Seen:
    """dot products around ±10,000, right and wrong ones, with the gradients"""
    return loss_and_gradients(negative_sampling_loss, *sure_words(512))


@telling_apart.probe
def all_answers_right(negative_sampling_loss: Any) -> Seen:
    """dot products around 10,000 with the contexts and around -10,000 with the negatives; then a batch as usual"""
    centre, context, negatives = sure_words(512)
    found = loss_and_gradients(negative_sampling_loss, centre[:1], context[:1], negatives[:1])
    return found | {"loss as usual": negative_sampling_loss(*some_words())}


usual(telling_apart, some_words)


def dot_products(centre: Tensor, context: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    return (centre * context).sum(-1), (negatives @ centre.unsqueeze(-1)).squeeze(-1)


def log_of_yes(near: Tensor) -> Tensor:
    return F.logsigmoid(near)


def log_of_no(far: Tensor) -> Tensor:
    return F.logsigmoid(-far)


def sum_of_negatives(noes: Tensor) -> Tensor:
    return noes.sum(-1)


def negative_mean(yes: Tensor, no: Tensor) -> Tensor:
    return -(yes + no).mean()


@telling_apart.assembled
def loss_in_steps(
    centre: Tensor,
    context: Tensor,
    negatives: Tensor,
    *,
    compare: Any = dot_products,
    say_yes: Any = log_of_yes,
    say_no: Any = log_of_no,
    collect: Any = sum_of_negatives,
    join: Any = negative_mean,
) -> Tensor:
    near, far = compare(centre, context, negatives)
    return join(say_yes(near), collect(say_no(far)))


@telling_apart.instead_of("collect")
def negatives_averaged(noes: Tensor) -> Tensor:
    """You take the mean over the negatives; it should be their sum.

    With more negatives, more questions are asked, and all of them count. The mean of none at all would be NaN.
    """
    return noes.mean(-1)


@telling_apart.instead_of("collect")
def first_negative_alone(noes: Tensor) -> Tensor:
    """Only the first of the negatives counts.

    There are n of them, and the loss has a term for each.
    """
    return noes[..., :1].sum(-1)


@telling_apart.instead_of("say_no")
def negatives_as_neighbours(far: Tensor) -> Tensor:
    """You ask for "yes" for the negatives, too.

    Then all vectors would become alike. The right answer for a negative is no: σ of *minus* the dot product.
    """
    return F.logsigmoid(far)


@telling_apart.instead_of("say_no")
def one_minus_what_is_lost(far: Tensor) -> Tensor:
    """You compute 1 - σ(x) for the negatives, which is 0 for a dot product of 20, and its logarithm -inf.

    In float32 σ(20) is 1. 1 - σ(x) is σ(-x), and `F.logsigmoid` takes its logarithm without loss.
    """
    return torch.log(1 - torch.sigmoid(far))


@telling_apart.instead_of("say_no")
def logarithm_of_zero_for_negatives(far: Tensor) -> Tensor:
    """For the negatives you take the σ first and its logarithm after: where σ underflows to 0, the loss is infinite.

    `F.logsigmoid` never makes the σ itself.
    """
    return torch.log(torch.sigmoid(-far))


@telling_apart.instead_of("say_yes")
def logarithm_of_zero_for_contexts(near: Tensor) -> Tensor:
    """For the contexts you take the σ first and its logarithm after: where σ underflows to 0, the loss is infinite.

    `F.logsigmoid` never makes the σ itself.
    """
    return torch.log(torch.sigmoid(near))


@telling_apart.instead_of("say_yes")
def contexts_as_strangers(near: Tensor) -> Tensor:
    """You ask for "no" for the context.

    It is a true neighbour: the right answer is yes, with the probability σ(centre·context).
    """
    return F.logsigmoid(-near)


@telling_apart.misconception
def logarithm_of_zero(centre: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """You take the σ first and its logarithm after: where σ underflows to 0, the loss is infinite.

    A dot product of -200 is enough for that in float32. `F.logsigmoid` never makes the σ itself.
    """
    wrong = {"say_yes": logarithm_of_zero_for_contexts, "say_no": logarithm_of_zero_for_negatives}
    return loss_in_steps(centre, context, negatives, **wrong)


@telling_apart.misconception
def logarithm_of_zero_and_of_what_is_lost(centre: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """You compute log σ(x) and log(1 - σ(x)) as they stand, and both become -inf where a σ is 0 or 1 in float32.

    That begins at a dot product of 20. 1 - σ(x) is σ(-x), and `F.logsigmoid` takes its logarithm without loss.
    """
    wrong = {"say_yes": logarithm_of_zero_for_contexts, "say_no": one_minus_what_is_lost}
    return loss_in_steps(centre, context, negatives, **wrong)


@telling_apart.instead_of("compare")
def cosines_for_dot_products(centre: Tensor, context: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    """You compare by cosines; it should be dot products.

    A σ of a cosine lies between 0.27 and 0.73: the model could never become sure.
    """
    return F.cosine_similarity(centre, context, -1), F.cosine_similarity(centre.unsqueeze(-2), negatives, -1)


@telling_apart.instead_of("compare")
def negatives_beside_the_context(centre: Tensor, context: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    """You compare the negatives with the context.

    All questions are about the centre: is this its neighbour?
    """
    return (centre * context).sum(-1), (negatives @ context.unsqueeze(-1)).squeeze(-1)


@telling_apart.instead_of("compare")
def scaled_by_the_width(centre: Tensor, context: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    """You divide the dot products by the root of d, as attention does.

    Here nothing is drawn at random and then left: the vectors learn their own scale. Use the dot products as they are.
    """
    near, far = dot_products(centre, context, negatives)
    return near / math.sqrt(centre.shape[-1]), far / math.sqrt(centre.shape[-1])


@telling_apart.instead_of("compare")
def negatives_added_first(centre: Tensor, context: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    """You add the negatives up and ask one question about their sum.

    Each negative is a word of its own: n dot products, n logarithms.
    """
    near, far = dot_products(centre, context, negatives)
    return near, far.sum(-1, keepdim=True)


@telling_apart.instead_of("join")
def log_likelihood(yes: Tensor, no: Tensor) -> Tensor:
    """The sign is reversed: you return the log-likelihood, which should grow.

    A loss is to be made small: minus the logarithms.
    """
    return (yes + no).mean()


@telling_apart.instead_of("join")
def negatives_subtracted(yes: Tensor, no: Tensor) -> Tensor:
    """The negatives' part has the wrong sign: you add their logarithms to the loss.

    Right answers about the negatives should make the loss smaller, as right answers about the context do.
    """
    return -(yes - no).mean()


@telling_apart.instead_of("join")
def summed_over_centres(yes: Tensor, no: Tensor) -> Tensor:
    """You sum over the centres; it should be the mean.

    Otherwise the loss grows with the batch, and the learning rate would have to shrink with it.
    """
    return -(yes + no).sum()


@telling_apart.instead_of("join")
def one_loss_for_each_centre(yes: Tensor, no: Tensor) -> Tensor:
    """You return one loss for each centre.

    The mean over all of them is one number.
    """
    return -(yes + no)


@telling_apart.instead_of("join")
def negatives_left_out(yes: Tensor, no: Tensor) -> Tensor:
    """Only the contexts count; the negatives are missing.

    With yes as the only right answer, long equal vectors for all words would be best.
    """
    return -yes.mean()


@telling_apart.instead_of("join")
def context_left_out(yes: Tensor, no: Tensor) -> Tensor:
    """Only the negatives count; the contexts are missing.

    The first term is -log σ(centre·context).
    """
    return -no.mean()


@telling_apart.instead_of("join")
def surprise_in_bits(yes: Tensor, no: Tensor) -> Tensor:
    """Your logarithms are to the base 2.

    The loss is in nats: natural logarithms.
    """
    return -(yes + no).mean() / math.log(2)


@telling_apart.misconception
def averaged_over_all_questions(centre: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """You take the mean over all questions, of contexts and negatives together.

    That divides by n + 1 as well. The n + 1 terms of a centre are summed; the mean is over centres.
    """
    return negative_sampling_loss(centre, context, negatives) / (negatives.shape[-2] + 1)


@telling_apart.misconception
def one_choice_among_all(centre: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """You take a softmax over the context and the negatives.

    That is a choice among n + 1 words, InfoNCE. Here each word is asked about alone, by a σ.
    """
    near, far = dot_products(centre, context, negatives)
    return -torch.cat([near.unsqueeze(-1), far], -1).log_softmax(-1)[..., 0].mean()


# negative_sampling_gradient -------------------------------------------------------------------------------------------

# backward mode keeps what it needs for the way back, and is refused there: see pull_and_push
FORWARD_MODE = Family.of("forward-mode autograd", "make_dual")

pulling_and_pushing = Exercise(
    negative_sampling_gradient,
    section="Pull and push, by hand",
    minutes=15,
    difficulty=2,
    why="You see what the loss does to a word: its context pulls, each negative pushes, by how surprised it was.",
    hints=[
        "Begin with one dot product x. What is the derivative of -log σ(x), and that of -log σ(-x)?",
        "-σ(-x) for the context, σ(x) for a negative: how wrong each answer was. The dot product x depends on two "
        "vectors; the derivative in one of them is the other.",
        "The centre takes part in n + 1 dot products, so its gradient has n + 1 terms.",
        "The loss is a mean over all centres: each has a share of 1 divided by how many there are.",
    ],
    forbid=[FORWARD_MODE],
)


def no_graph_here(tensor: Tensor) -> Tensor:
    raise RuntimeError("negative_sampling_gradient is asked for by hand: autograd and torch.func are not at work here")


def pull_and_push(gradient: Any, *arguments: Tensor, about: str = "") -> Seen:
    by_hand = torch.autograd.graph.saved_tensors_hooks(no_graph_here, no_graph_here)  # for who turns autograd on again
    with torch.inference_mode(), by_hand:
        d_centre, d_context, d_negatives = gradient(*arguments)
    return {f"d_centre{about}": d_centre, f"d_context{about}": d_context, f"d_negatives{about}": d_negatives}


@pulling_and_pushing.probe
def gradients_of_a_batch(negative_sampling_gradient: Any) -> Seen:
    """a batch of centres, every size another one"""
    return pull_and_push(negative_sampling_gradient, *some_words())


@pulling_and_pushing.probe
def gradients_of_one_centre(negative_sampling_gradient: Any) -> Seen:
    """one centre, no leading dimension"""
    n, d = distinct(3, 8, 2, seed="sizes")
    return pull_and_push(negative_sampling_gradient, *words_with_noise(n=n, d=d))


@pulling_and_pushing.probe
def gradients_in_more_dimensions(negative_sampling_gradient: Any) -> Seen:
    """two leading dimensions; all sizes alike"""
    a, b, n, d = distinct(2, 8, 4, seed="sizes")
    same = whole(3, 6, seed="same")
    alike = pull_and_push(negative_sampling_gradient, *words_with_noise(same, n=same, d=same), about=", sizes alike")
    return pull_and_push(negative_sampling_gradient, *words_with_noise(a, b, n=n, d=d)) | alike


@pulling_and_pushing.probe
def gradients_in_sizes_of_one(negative_sampling_gradient: Any) -> Seen:
    """one negative, one component, a batch of one"""
    a, b = distinct(3, 8, 2, seed="sizes")
    found: Seen = {}
    for about, (batch, n, d) in {"one negative": (a, 1, b), "one component": (a, b, 1), "one": (1, a, b)}.items():
        words = words_with_noise(batch, n=n, d=d)
        found |= pull_and_push(negative_sampling_gradient, *words, about=f", {about}")
    return found


@pulling_and_pushing.probe
def gradients_without_negatives(negative_sampling_gradient: Any) -> Seen:
    """no negatives"""
    batch, d = distinct(3, 8, 2, seed="sizes")
    return pull_and_push(negative_sampling_gradient, *words_with_noise(batch, n=0, d=d))


@pulling_and_pushing.probe
def gradients_of_huge_dot_products(negative_sampling_gradient: Any) -> Seen:
    """dot products around ±10,000, of answers that are right and wrong"""
    return pull_and_push(negative_sampling_gradient, *sure_words(512))


# By hand, so its own gradient is not looked at.
usual(pulling_and_pushing, some_words, without=["gradients"])

Three = tuple[Tensor, Tensor, Tensor]


def surprised_by_yes(near: Tensor) -> Tensor:
    return -torch.sigmoid(-near)


def surprised_by_no(far: Tensor) -> Tensor:
    return torch.sigmoid(far)


def number_of_centres(centre: Tensor, negatives: Tensor) -> int:
    return centre[..., 0].numel()


def pulls_and_pushes(pull: Tensor, push: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    return pull * context + (push * negatives).sum(-2)


def along_the_centre(weight: Tensor, centre: Tensor, other: Tensor) -> Tensor:
    return weight * centre


@pulling_and_pushing.assembled
def gradient_in_steps(
    centre: Tensor,
    context: Tensor,
    negatives: Tensor,
    *,
    pulled: Any = surprised_by_yes,
    pushed: Any = surprised_by_no,
    count: Any = number_of_centres,
    of_centre: Any = pulls_and_pushes,
    of_context: Any = along_the_centre,
    of_negatives: Any = along_the_centre,
) -> Three:
    near, far = dot_products(centre, context, negatives)
    centres = count(centre, negatives)
    pull, push = pulled(near).unsqueeze(-1) / centres, pushed(far).unsqueeze(-1) / centres
    d_centre = of_centre(pull, push, context, negatives)
    return d_centre, of_context(pull, centre, context), of_negatives(push, centre.unsqueeze(-2), negatives)


@pulling_and_pushing.instead_of("pulled")
def surest_pulled_most(near: Tensor) -> Tensor:
    """The context pulls by σ(x), the more the surer the answer was already.

    It should pull by how wrong the answer was: 1 - σ(x), which is σ(-x).
    """
    return -torch.sigmoid(near)


@pulling_and_pushing.instead_of("pulled")
def contexts_pushed(near: Tensor) -> Tensor:
    """The context pushes; it should pull.

    A larger dot product with the context makes the loss smaller, so its derivative is negative.
    """
    return torch.sigmoid(-near)


@pulling_and_pushing.instead_of("pulled")
def contexts_treated_as_negatives(near: Tensor) -> Tensor:
    """You treat the context as a negative: its factor is σ(x) where σ(x) - 1 belongs.

    The right answer for it is 1, and the factor is the answer minus the right answer.
    """
    return torch.sigmoid(near)


@pulling_and_pushing.instead_of("pushed")
def surest_pushed_most(far: Tensor) -> Tensor:
    """A negative pushes by σ(-x), the more the surer the answer no was already.

    It should push by how wrong the answer was: σ(x).
    """
    return torch.sigmoid(-far)


@pulling_and_pushing.instead_of("pushed")
def negatives_pulled(far: Tensor) -> Tensor:
    """The negatives pull; they should push.

    A larger dot product with a negative makes the loss larger, so its derivative is positive.
    """
    return -torch.sigmoid(far)


@pulling_and_pushing.instead_of("pushed")
def negatives_treated_as_contexts(far: Tensor) -> Tensor:
    """You treat the negatives as contexts: their factor is σ(x) - 1 where σ(x) belongs.

    The right answer for a negative is 0, and the factor is the answer minus the right answer.
    """
    return -torch.sigmoid(-far)


@pulling_and_pushing.instead_of("pushed")
def overflowing_sigmoid(far: Tensor) -> Tensor:
    """You compute σ as exp(x)/(1 + exp(x)), which is inf/inf for a large dot product: NaN.

    `torch.sigmoid` takes care of both ends.
    """
    return far.exp() / (1 + far.exp())


@pulling_and_pushing.instead_of("count")
def gradient_of_a_sum(centre: Tensor, negatives: Tensor) -> int:
    """You do not divide by the number of centres: this is the gradient of the sum.

    The loss is the mean over all centres.
    """
    return 1


@pulling_and_pushing.instead_of("count")
def rows_of_the_first_dimension(centre: Tensor, negatives: Tensor) -> int:
    """You divide by the size of the first dimension.

    That is the number of centres only where there is one leading dimension. Count all of them together.
    """
    return len(centre)


@pulling_and_pushing.instead_of("count")
def every_component_counted(centre: Tensor, negatives: Tensor) -> int:
    """You divide by the number of all components of the centres.

    The mean is over centres; within a vector nothing is averaged.
    """
    return centre.numel()


@pulling_and_pushing.instead_of("count")
def every_question_counted(centre: Tensor, negatives: Tensor) -> int:
    """You divide by n + 1 as well, as if the loss were a mean over all questions.

    The terms of a centre are summed; the mean is over centres alone.
    """
    return number_of_centres(centre, negatives) * (negatives.shape[-2] + 1)


@pulling_and_pushing.instead_of("of_centre")
def centre_not_pushed(pull: Tensor, push: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """In the gradient of the centre the negatives are missing.

    The centre takes part in all n + 1 dot products.
    """
    return pull * context


@pulling_and_pushing.instead_of("of_centre")
def centre_not_pulled(pull: Tensor, push: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """In the gradient of the centre the context is missing.

    The centre takes part in all n + 1 dot products.
    """
    return (push * negatives).sum(-2)


@pulling_and_pushing.instead_of("of_centre")
def pushes_averaged(pull: Tensor, push: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """In the gradient of the centre you take the mean over the negatives; it should be their sum.

    The loss sums over the negatives, and so does its gradient.
    """
    return pull * context + (push * negatives).mean(-2)


@pulling_and_pushing.instead_of("of_context")
def along_the_context(weight: Tensor, centre: Tensor, context: Tensor) -> Tensor:
    """The gradient of the context lies along the context; it should lie along the centre.

    The derivative of a dot product in one of its vectors is the other one.
    """
    return weight * context


@pulling_and_pushing.instead_of("of_negatives")
def along_the_negatives(weight: Tensor, centre: Tensor, negatives: Tensor) -> Tensor:
    """The gradients of the negatives lie along the negatives; they should lie along the centre.

    The derivative of a dot product in one of its vectors is the other one.
    """
    return weight * negatives


@pulling_and_pushing.instead_of("of_negatives")
def negatives_summed_up(weight: Tensor, centre: Tensor, negatives: Tensor) -> Tensor:
    """You sum the gradient over the negatives.

    Each negative is a vector of its own, with its own gradient: (..., n, d).
    """
    return (weight * centre).sum(-2)


@pulling_and_pushing.misconception
def direction_to_step(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """All signs are reversed.

    That is the direction in which to step. The gradient points to where the loss grows.
    """
    return tuple(-found for found in negative_sampling_gradient(centre, context, negatives))


@pulling_and_pushing.misconception
def centre_and_context_exchanged(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """You return the gradient of the context before that of the centre.

    They come in the order of the arguments: centre, context, negatives.
    """
    d_centre, d_context, d_negatives = negative_sampling_gradient(centre, context, negatives)
    return d_context, d_centre, d_negatives


@pulling_and_pushing.misconception
def without_a_sigmoid(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """You use the dot products themselves as answers, without σ.

    The factor is σ(x) minus the right answer, which lies between -1 and 1. A dot product may be anything.
    """
    return gradient_in_steps(centre, context, negatives, pulled=lambda near: near - 1, pushed=lambda far: far)


@pulling_and_pushing.misconception
def as_of_squared_errors(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """Your factors have σ(x)·(1 - σ(x)) in them.

    In the derivative of log σ(x) the σ(x) cancels. What is left is the answer minus the right answer.
    """

    def slope(x: Tensor) -> Tensor:
        return torch.sigmoid(x) * torch.sigmoid(-x)

    wrong: dict[str, Any] = {
        "pulled": lambda near: surprised_by_yes(near) * slope(near),
        "pushed": lambda far: surprised_by_no(far) * slope(far),
    }
    return gradient_in_steps(centre, context, negatives, **wrong)


@pulling_and_pushing.misconception
def left_to_autograd(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """You let autograd do it, and the probes run without autograd.

    The exercise is the formula: one σ for each dot product, times the other vector.
    """
    inputs = [t.detach().clone().requires_grad_() for t in (centre, context, negatives)]
    return torch.autograd.grad(negative_sampling_loss(*inputs), inputs)


@pulling_and_pushing.misconception
def left_to_torch_func(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """You let `torch.func` do it, and the probes run without it.

    The exercise is the formula: one σ for each dot product, times the other vector.
    """
    grad: Any = torch.func.grad
    return grad(negative_sampling_loss, argnums=(0, 1, 2))(centre, context, negatives)


# analogy --------------------------------------------------------------------------------------------------------------

ROWS_OF_A_MATRIX = "vectors has two dimensions, of which 1 is the last"
LENGTHS = "lengths = torch.linalg.vector_norm(vectors, dim={}, keepdim=True)"
SCORES = "scores = (unit * (unit[b] - unit[a] + unit[c])).sum(dim={})"
UNIT = "unit = vectors / lengths.masked_fill(lengths == 0, {})"

stepping = Exercise(
    analogy,
    section="Steps between words",
    minutes=10,
    difficulty=2,
    why="It is the most famous thing that word vectors do; you will see how much of it the rules of the game do.",
    hints=[
        "First the lengths: with rows of length 1, a dot product is a cosine. What would 0 divided by 0 be?",
        "a + step = b, so the step is b - a. Make the same step from c.",
        "All scores are one product. Then order *all* words, leave out a, b and c, and only then take n.",
        "A stable sort keeps equal ones in the order of their ids.",
    ],
    equivalents={
        "vectors = vectors.double().contiguous()  ->  vectors = vectors.double()": "the probes' rows are contiguous",
        f"{LENGTHS.format(-1)}  ->  {LENGTHS.format(1)}": ROWS_OF_A_MATRIX,
        f"{SCORES.format(-1)}  ->  {SCORES.format(1)}": ROWS_OF_A_MATRIX,
        f"{UNIT.format(1.0)}  ->  {UNIT.format(2.0)}": "0 divided by any number is 0",
    },
)


def vocabulary(vocab: int, d: int, seed: str) -> Tensor:
    """Words of all lengths, so that a dot product is no cosine."""
    lengths = 10 ** uniform(vocab, 1, seed=f"{seed}: lengths", low=-1.0, high=1.0)
    return lengths * normal(vocab, d, seed=seed)


def words_on_axes(vocab: int, d: int, seed: str) -> Tensor:
    """Words along the axes, of whole lengths: their scores are whole numbers, exact whatever the order of the sum, and
    many of them are equal."""
    lengths = integers(1, 9, vocab, 1, seed=f"{seed}: lengths") * (1 - 2 * integers(0, 2, vocab, 1, seed="signs"))
    return (F.one_hot(integers(0, d, vocab, seed=seed), d) * lengths).float()


def words_far_apart() -> tuple[Any, ...]:
    """A question whose answers have scores so far apart that half precision keeps their order."""
    others, d = whole(6, 9, seed="others"), 7
    axes = torch.linalg.qr(normal(d, d, seed="axes"))[0]
    direction = (axes[1] - axes[0] + axes[2]) / math.sqrt(3)
    aside = normal(others, d, seed="aside")
    aside = F.normalize(aside - (aside @ direction)[:, None] * direction, dim=-1)
    cosines = torch.linspace(-0.9, 0.9, others)[permutation(others, seed="cosines")][:, None]
    vectors = torch.cat([axes[:3], cosines * direction + (1 - cosines**2).sqrt() * aside])
    vectors = vectors * uniform(len(vectors), 1, seed="lengths", low=0.5, high=2.0)
    places = permutation(len(vectors), seed="places")  # the word i moves to places[i]
    return vectors[places.argsort()].clone(), *places[:3].tolist(), 4


@stepping.probe
def best_answers(analogy: Any) -> Seen:
    """four questions about one vocabulary, n not given"""
    vocab = whole(15, 25, seed="vocab")
    vectors = vocabulary(vocab, whole(4, 8, seed="d"), "words")
    questions = [distinct(0, vocab, 3, seed=f"question {i}") for i in range(4)]
    return {f"answer {i}": analogy(vectors.clone(), *question) for i, question in enumerate(questions)}


@stepping.probe
def several_answers(analogy: Any) -> Seen:
    """the six best answers to two questions"""
    vocab = whole(15, 25, seed="vocab")
    vectors = vocabulary(vocab, whole(4, 8, seed="d"), "words")
    one, other = (distinct(0, vocab, 3, seed=f"question {i}") for i in range(2))
    return {"answers": analogy(vectors.clone(), *one, 6), "other answers": analogy(vectors.clone(), *other, n=6)}


@stepping.probe
def all_that_are_left(analogy: Any) -> Seen:
    """more answers asked for than there are words; none asked for; a vocabulary without other words"""
    vocab = whole(8, 13, seed="vocab")
    vectors, question = vocabulary(vocab, 5, "words"), distinct(0, vocab, 3, seed="question")
    return {
        "answers": analogy(vectors.clone(), *question, vocab + 2),
        "answers, as many as words": analogy(vectors.clone(), *question, vocab),
        "answers, none asked for": analogy(vectors.clone(), *question, 0),
        "answers, no word left": analogy(vectors[:3].clone(), 2, 0, 1, 2),
    }


@stepping.probe
def a_word_twice(analogy: Any) -> Seen:
    """questions in which a word occurs twice or thrice"""
    vocab = whole(9, 14, seed="vocab")
    vectors, (one, other) = vocabulary(vocab, 5, "words"), distinct(0, vocab, 2, seed="question")
    return {
        "answers, b is a": analogy(vectors.clone(), one, one, other, 5),
        "answers, c is a": analogy(vectors.clone(), one, other, one, 5),
        "answers, c is b": analogy(vectors.clone(), one, other, other, 5),
        "answers, all one": analogy(vectors.clone(), one, one, one, vocab),
    }


@stepping.probe
def equally_good(analogy: Any) -> Seen:
    """words of which many are equally good; vectors of one component"""
    vocab = whole(40, 50, seed="vocab")
    question = distinct(0, vocab, 3, seed="question")
    return {
        "answers": analogy(words_on_axes(vocab, 3, "axes"), *question, vocab),
        "answers, one component": analogy(words_on_axes(vocab, 1, "axis"), *question, vocab),
    }


@stepping.probe
def rows_of_zeros(analogy: Any) -> Seen:
    """a vocabulary with rows of zeros, and a question with one"""
    vocab = whole(12, 18, seed="vocab")
    vectors = vocabulary(vocab, 4, "words")
    zero, another, *question = distinct(0, vocab, 5, seed="places")
    vectors[[zero, another]] = 0.0
    return {
        "answers": analogy(vectors.clone(), *question, vocab),
        "answers, b is zeros": analogy(vectors.clone(), question[0], zero, question[1], vocab),
    }


usual(stepping, words_far_apart, without=["gradients"])


def rows_of_length_one(vectors: Tensor) -> Tensor:
    return F.normalize(vectors.double(), dim=-1)


def from_a_to_b_from_c(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    return unit[b] - unit[a] + unit[c]


def by_dot_products(unit: Tensor, goal: Tensor) -> Tensor:
    return (unit * goal).sum(-1)


def best_of_the_others(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    order = scores.argsort(descending=True, stable=True).tolist()
    return [word for word in order if word not in question][:n]


@stepping.assembled
def analogy_in_steps(
    vectors: Tensor,
    a: int,
    b: int,
    c: int,
    n: int = 1,
    *,
    scale: Any = rows_of_length_one,
    step: Any = from_a_to_b_from_c,
    score: Any = by_dot_products,
    choose: Any = best_of_the_others,
) -> Any:
    unit = scale(vectors)
    return choose(score(unit, step(unit, a, b, c)), (a, b, c), n)


@stepping.instead_of("scale")
def long_words_win(vectors: Tensor) -> Tensor:
    """You do not scale the vectors to length 1.

    A frequent word has a long vector, and would be an answer to everything.
    """
    return vectors.double()


@stepping.instead_of("scale")
def columns_scaled(vectors: Tensor) -> Tensor:
    """You scale columns to length 1; it should be the rows.

    Each row is the vector of one word.
    """
    return F.normalize(vectors.double(), dim=0)


@stepping.instead_of("scale")
def lengths_by_absolute_values(vectors: Tensor) -> Tensor:
    """You divide by the sum of the absolute values.

    The length of a vector is the root of the sum of squares.
    """
    return F.normalize(vectors.double(), p=1, dim=-1)


@stepping.instead_of("scale")
def lengths_squared(vectors: Tensor) -> Tensor:
    """You divide by the squared length.

    Then short vectors become long ones. The length is the root of the sum of squares.
    """
    squares = vectors.double().square().sum(-1, keepdim=True)
    return vectors.double() / squares.masked_fill(squares == 0, 1.0)


@stepping.instead_of("scale")
def zero_by_zero(vectors: Tensor) -> Tensor:
    """A row of zeros becomes NaN: you divide it by its length.

    0/0 is NaN, and NaN is larger than every score when sorted. Leave a row of zeros as it is.
    """
    return vectors.double() / vectors.double().norm(dim=-1, keepdim=True)


@stepping.instead_of("step")
def step_backwards(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    """Your step leads from b to a: a - b + c.

    "a is to b": from a one comes to b by b - a.
    """
    return unit[a] - unit[b] + unit[c]


@stepping.instead_of("step")
def c_subtracted(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    """You subtract c where you should subtract a.

    The step is b - a, and it is made from c, so that c is added.
    """
    return unit[a] + unit[b] - unit[c]


@stepping.instead_of("step")
def b_and_c_alone(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    """You do not subtract a.

    What b and c have in common is no step. The step is what has to be added to a to get b.
    """
    return unit[b] + unit[c]


@stepping.instead_of("step")
def step_without_a_start(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    """You make the step from nowhere: c is missing.

    b - a is a direction. Where it leads depends on where one starts.
    """
    return unit[b] - unit[a]


@stepping.instead_of("step")
def no_step_at_all(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    """You look for the words nearest to c.

    The step from a to b has to be added first.
    """
    return unit[c]


@stepping.instead_of("score")
def by_distance(unit: Tensor, goal: Tensor) -> Tensor:
    """You take the smallest distance; it should be the largest dot product.

    For rows of length 1 that is the same order. A row of zeros is nearer to everything than it should be.
    """
    return -(unit - goal).square().sum(-1)


@stepping.instead_of("choose")
def question_words_too(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """a, b and c may be answers in your code.

    The nearest word is nearly always b or c itself, since the step is short. They are never answers.
    """
    return scores.argsort(descending=True, stable=True).tolist()[:n]


@stepping.instead_of("choose")
def only_c_left_out(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You leave out c, but not a and b.

    None of the three is ever an answer.
    """
    return best_of_the_others(scores, question[2:], n)


@stepping.instead_of("choose")
def a_may_be_an_answer(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You leave out b and c, but not a.

    None of the three is ever an answer.
    """
    return best_of_the_others(scores, question[1:], n)


@stepping.instead_of("choose")
def cut_before_left_out(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You take the n best first and leave out a, b and c afterwards, so that there are fewer than n.

    Leave them out first.
    """
    return [word for word in question_words_too(scores, question, n) if word not in question]


@stepping.instead_of("choose")
def question_words_last(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You give a, b and c the score -inf, and they are answers still where there are too few others.

    If fewer than n words are left, the list is shorter.
    """
    scores = scores.clone()
    scores[list(question)] = -math.inf
    return question_words_too(scores, question, n)


@stepping.instead_of("choose")
def question_words_at_zero(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You give a, b and c the score 0, which is better than a negative one.

    Then they are answers after all. Leave them out of the list.
    """
    scores = scores.clone()
    scores[list(question)] = 0.0
    return question_words_too(scores, question, n)


@stepping.instead_of("choose")
def numbered_anew(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You remove a, b and c before sorting, so that all later words have other numbers than their ids.

    An answer is the id of a word in the whole vocabulary.
    """
    left = torch.tensor([word not in question for word in range(len(scores))])
    return scores[left].argsort(descending=True, stable=True).tolist()[:n]


@stepping.instead_of("choose")
def worst_first(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """Your answers begin with the worst.

    `argsort` sorts upwards unless `descending=True`.
    """
    return best_of_the_others(-scores, question, n)


@stepping.instead_of("choose")
def larger_id_first(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """Of equally good words you list the larger id first.

    To reverse a list that was sorted upwards turns the equal ones around, too.
    """
    order = scores.argsort(stable=True).flip(0).tolist()
    return [word for word in order if word not in question][:n]


@stepping.instead_of("choose")
def sort_not_stable(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """Of equally good words your list has some in another order than that of their ids.

    torch may sort equal ones as it likes, and does so where there are many, unless it is asked for a stable sort.
    """
    order = scores.argsort(descending=True).tolist()
    return [word for word in order if word not in question][:n]


@stepping.instead_of("choose")
def always_one_answer(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You give one answer, whatever n says.

    1 is the default; the caller may want more.
    """
    return best_of_the_others(scores, question, 1)


@stepping.instead_of("choose")
def all_answers(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You list all words that are left, whatever n says.

    Only the n best are asked for.
    """
    return best_of_the_others(scores, question, len(scores))


@stepping.misconception
def an_id_without_a_list(vectors: Tensor, a: int, b: int, c: int, n: int = 1) -> Any:
    """Where n is 1 you return the id itself.

    The result is always a list, of one id, of many, or of none.
    """
    found = analogy(vectors, a, b, c, n)
    return found[0] if n == 1 else found


@stepping.misconception
def step_made_before_scaling(vectors: Tensor, a: int, b: int, c: int, n: int = 1) -> Any:
    """You make the step with the vectors as they are, and scale afterwards.

    A long vector then decides where the step leads. Scale every row first.
    """
    unit = rows_of_length_one(vectors)
    goal = from_a_to_b_from_c(vectors.double(), a, b, c)
    return best_of_the_others(by_dot_products(unit, goal), (a, b, c), n)


@stepping.misconception
def candidates_not_scaled(vectors: Tensor, a: int, b: int, c: int, n: int = 1) -> Any:
    """You scale a, b and c to length 1, but not the words that you compare with.

    Then a long vector wins by its length. Scale every row.
    """
    goal = from_a_to_b_from_c(rows_of_length_one(vectors), a, b, c)
    return best_of_the_others(by_dot_products(vectors.double(), goal), (a, b, c), n)


@stepping.misconception
def nearest_as_they_are(vectors: Tensor, a: int, b: int, c: int, n: int = 1) -> Any:
    """You take the vectors as they are, and the smallest distance.

    Scale every row to length 1 first, and take the largest dot product.
    """
    return analogy_in_steps(vectors, a, b, c, n, scale=long_words_win, score=by_distance)


@stepping.misconception
def cosines_multiplied(vectors: Tensor, a: int, b: int, c: int, n: int = 1) -> Any:
    """You multiply and divide the three cosines instead of adding and subtracting them.

    That is another paper's rule, 3CosMul. Here the score is the dot product with b - a + c.
    """
    unit = rows_of_length_one(vectors)
    near_a, near_b, near_c = ((1 + by_dot_products(unit, unit[word])) / 2 for word in (a, b, c))
    return best_of_the_others(near_b * near_c / (near_a + 1e-3), (a, b, c), n)


# linear_probe ---------------------------------------------------------------------------------------------------------

EYE = "penalty = ridge * torch.eye(x.shape[1], {}device=x.device)"
SOLVED = "w = torch.linalg.solve(x.T @ x + penalty, x.T @ {})"
BALANCED = "the columns of x sum to 0, so that a constant added to y changes nothing"

reading_off = Exercise(
    linear_probe,
    section="What a straight line can read",
    minutes=15,
    difficulty=3,
    why="With it you can ask any layer of any model what it knows, and what it has forgotten.",
    hints=[
        "Write the classes as one-hot rows. Then it is n_classes regressions at once, with the same x.",
        "First without an intercept: where is the gradient of ‖x w - y‖² + ridge·‖w‖² zero? `torch.linalg.solve` does "
        "the rest.",
        "The best intercept b = mean of y - (mean of x) w. What is left to be fitted if both means are subtracted?",
        "What was subtracted from train_x is subtracted from test_x, too: the *same* mean.",
    ],
    equivalents={
        f"{EYE.format('dtype=x.dtype, ')}  ->  {EYE.format('')}": "a sum with float64 is float64",
        f"{SOLVED.format('(y - mean_y)')}  ->  {SOLVED.format('(y + mean_y)')}": BALANCED,
        f"{SOLVED.format('(y - mean_y)')}  ->  {SOLVED.format('y')}": BALANCED,
    },
)


def to_be_read(train: int, d: int, test: int, n_classes: int, mean: float = 1.5) -> tuple[Any, ...]:
    """Vectors that are not centred, whose class shows in one of their components."""
    train_y = integers(0, n_classes, train, seed="train_y")
    train_x = normal(train, d, seed="train_x", mean=mean)
    train_x[:, 0] += train_y
    return train_x, train_y, normal(test, d, seed="test_x", mean=mean / 2), n_classes


def some_vectors() -> tuple[Any, ...]:
    train, (d, test, n_classes) = whole(14, 20, seed="train"), distinct(3, 8, 3, seed="sizes")
    return *to_be_read(train, d, test, n_classes), number(0.3, 0.8, seed="ridge")


@reading_off.probe
def ridge_left_out(linear_probe: Any) -> Seen:
    """vectors of several classes, ridge not given"""
    return {"scores": linear_probe(*some_vectors()[:4])}


@reading_off.probe
def other_ridges(linear_probe: Any) -> Seen:
    """a ridge below 1, and one above 10"""
    *arguments, small = some_vectors()
    large = number(15.0, 40.0, seed="large")
    return {
        "scores, small ridge": linear_probe(*(clone(a) for a in arguments), small),
        "scores, large ridge": linear_probe(*(clone(a) for a in arguments), ridge=large),
    }


def clone(argument: Any) -> Any:
    return argument.clone() if isinstance(argument, Tensor) else argument


@reading_off.probe
def classes_that_do_not_occur(linear_probe: Any) -> Seen:
    """the first and the last class do not occur"""
    train_x, train_y, test_x, n_classes = to_be_read(
        *distinct(9, 15, 1, seed="train"), *distinct(2, 7, 3, seed="sizes")
    )
    return {"scores": linear_probe(train_x, train_y + 1, test_x, n_classes + 2)}


@reading_off.probe
def more_components_than_examples(linear_probe: Any) -> Seen:
    """more components than examples"""
    d, (train, test, n_classes) = whole(10, 14, seed="d"), distinct(3, 8, 3, seed="sizes")
    return {"scores": linear_probe(*to_be_read(train, d, test, n_classes), number(1.5, 3.0, seed="ridge"))}


@reading_off.probe
def one_of_each(linear_probe: Any) -> Seen:
    """one example, one component, one vector to be read, one class"""
    a, b, c = distinct(3, 8, 3, seed="sizes")
    ridge = number(0.5, 2.0, seed="ridge")
    return {
        "scores, one example": linear_probe(*to_be_read(1, a, b, c), ridge),
        "scores, one component": linear_probe(*to_be_read(8, 1, a, c), ridge),
        "scores, one to be read": linear_probe(*to_be_read(9, a, 1, b), ridge),
        "scores, one class": linear_probe(*to_be_read(9, c, b, 1), ridge),
    }


@reading_off.probe
def nearly_all_of_one_class(linear_probe: Any) -> Seen:
    """a class that most examples belong to, and a ridge around 1,000"""
    d, test, n_classes = distinct(3, 8, 3, seed="sizes")
    train_x, train_y, test_x, _ = to_be_read(16, d, test, n_classes, mean=3.0)
    train_y[4:] = n_classes - 1
    return {"scores": linear_probe(train_x, train_y, test_x, n_classes, number(500.0, 2000.0, seed="ridge"))}


# There is no solver in half precision.
usual(reading_off, some_vectors, without=("in_float16", "in_bfloat16"))


def one_hot_rows(train_y: Tensor, n_classes: int) -> Tensor:
    return F.one_hot(train_y, n_classes).double()


def by_the_mean_of_train(train_x: Tensor, test_x: Tensor) -> tuple[Any, Any]:
    return train_x.mean(0), train_x.mean(0)


def cost_as_given(ridge: float, x: Tensor) -> Any:
    return ridge


def back_to_the_mean(scores: Tensor, mean_y: Tensor) -> Tensor:
    return scores + mean_y


@reading_off.assembled
def probe_in_steps(
    train_x: Tensor,
    train_y: Tensor,
    test_x: Tensor,
    n_classes: int,
    ridge: float = 1.0,
    *,
    aim: Any = one_hot_rows,
    move: Any = by_the_mean_of_train,
    cost: Any = cost_as_given,
    read: Any = back_to_the_mean,
) -> Tensor:
    y = aim(train_y, n_classes)
    of_train, of_test = move(train_x.double(), test_x.double())
    x = train_x.double() - of_train
    w = torch.linalg.solve(x.T @ x + penalties(cost(ridge, x), x), x.T @ (y - y.mean(0)))
    found = read((test_x.double() - of_test) @ w, y.mean(0))
    return found.to(test_x.dtype) if found.is_floating_point() else found


def penalties(ridge: Any, x: Tensor) -> Tensor:
    return ridge * torch.eye(x.shape[1], dtype=x.dtype, device=x.device)


@reading_off.instead_of("aim")
def plus_and_minus_one(train_y: Tensor, n_classes: int) -> Tensor:
    """Your targets are 1 and -1.

    The order of the scores is the same, but the scores are others: a one-hot row has 1 and 0.
    """
    return 2 * one_hot_rows(train_y, n_classes) - 1


@reading_off.instead_of("aim")
def classes_that_occur(train_y: Tensor, n_classes: int) -> Tensor:
    """You make a column for each class up to the largest that occurs; there should be n_classes.

    A class need not occur among the examples. `F.one_hot` takes the number of classes.
    """
    return F.one_hot(train_y).double()


@reading_off.instead_of("aim")
def classes_from_one(train_y: Tensor, n_classes: int) -> Tensor:
    """You count classes from 1: the score of each stands in the column before its own.

    Classes count from 0.
    """
    return one_hot_rows(train_y, n_classes).roll(-1, -1)


@reading_off.instead_of("move")
def test_by_its_own_mean(train_x: Tensor, test_x: Tensor) -> tuple[Any, Any]:
    """You subtract from test_x its own mean.

    The map was fitted around the mean of train_x, and is the same for every vector: also where there is only one.
    """
    return train_x.mean(0), test_x.mean(0)


@reading_off.instead_of("move")
def test_not_moved(train_x: Tensor, test_x: Tensor) -> tuple[Any, Any]:
    """You subtract the mean from train_x, but not from test_x.

    What was subtracted for fitting is subtracted for reading, or the intercept is wrong by (mean of x) w.
    """
    return train_x.mean(0), 0.0


@reading_off.instead_of("move")
def mean_of_both(train_x: Tensor, test_x: Tensor) -> tuple[Any, Any]:
    """You take the mean of train_x and test_x together.

    What is to be read must not take part in the fitting. The mean is that of train_x.
    """
    mean = torch.cat([train_x, test_x]).mean(0)
    return mean, mean


@reading_off.instead_of("move")
def shares_as_intercept(train_x: Tensor, test_x: Tensor) -> tuple[Any, Any]:
    """Your intercept is the mean of y, without the mean of x.

    That is the best intercept only where the mean of x is 0. It is the mean of y minus (mean of x) w.
    """
    return 0.0, 0.0


@reading_off.instead_of("cost")
def ridge_for_each_example(ridge: float, x: Tensor) -> Any:
    """Your ridge counts as many times as there are examples: you take the mean over the examples.

    The squared errors are summed.
    """
    return ridge * len(x)


@reading_off.instead_of("cost")
def ridge_divided(ridge: float, x: Tensor) -> Any:
    """You divide the ridge by the number of examples.

    The squared errors are summed, and the ridge stands beside them as it is.
    """
    return ridge / len(x)


@reading_off.instead_of("cost")
def ridge_squared(ridge: float, x: Tensor) -> Any:
    """Your penalty is ridge²·‖w‖².

    ‖w‖² is multiplied by the ridge itself; as further examples, the penalty is √ridge times the identity.
    """
    return ridge**2


@reading_off.instead_of("cost")
def ridge_twice(ridge: float, x: Tensor) -> Any:
    """The ridge counts twice.

    The gradient of both parts has a 2, of the squared errors as of ‖w‖²: it cancels.
    """
    return 2 * ridge


@reading_off.instead_of("cost")
def ridge_halved(ridge: float, x: Tensor) -> Any:
    """The ridge counts half.

    The gradient of both parts has a 2, of the squared errors as of ‖w‖²: it cancels.
    """
    return ridge / 2


@reading_off.instead_of("cost")
def ridge_always_one(ridge: float, x: Tensor) -> Any:
    """You use a ridge of 1, whatever `ridge` says.

    1 is the default; the caller may want another.
    """
    return 1.0


@reading_off.instead_of("read")
def no_intercept_added(scores: Tensor, mean_y: Tensor) -> Tensor:
    """You do not add the mean of y again.

    It was subtracted for fitting. Without it a vector in the middle would have the score 0 for every class.
    """
    return scores


@reading_off.instead_of("read")
def shares_by_a_softmax(scores: Tensor, mean_y: Tensor) -> Tensor:
    """You return a softmax of the scores.

    The scores of a regression are no logits: they sum to 1 already. Return them as they are.
    """
    return (scores + mean_y).softmax(-1)


@reading_off.instead_of("read")
def classes_for_scores(scores: Tensor, mean_y: Tensor) -> Tensor:
    """You return the class with the largest score.

    The scores themselves are asked for, (test, n_classes): they say how near it was.
    """
    return (scores + mean_y).argmax(-1)


@reading_off.instead_of("read")
def classes_before_vectors(scores: Tensor, mean_y: Tensor) -> Tensor:
    """Your scores are (n_classes, test); it should be (test, n_classes).

    A row belongs to a vector.
    """
    return (scores + mean_y).T


def with_a_column_of_ones(x: Tensor) -> Tensor:
    return torch.cat([x.double(), torch.ones(len(x), 1, dtype=torch.float64, device=x.device)], 1)


@reading_off.misconception
def through_the_origin(train_x: Tensor, train_y: Tensor, test_x: Tensor, n_classes: int, ridge: float = 1.0) -> Tensor:
    """You fit no intercept.

    Then the score of a vector of zeros is 0 for every class, wherever the examples lie. The map is x @ w + b.
    """
    x = train_x.double()
    w = torch.linalg.solve(x.T @ x + penalties(ridge, x), x.T @ one_hot_rows(train_y, n_classes))
    return (test_x.double() @ w).to(test_x.dtype)


@reading_off.misconception
def intercept_penalised(train_x: Tensor, train_y: Tensor, test_x: Tensor, n_classes: int, ridge: float = 1.0) -> Tensor:
    """You penalise the intercept as well: the column of ones has a ridge, too.

    Then the scores change when all vectors are moved. Leave the last entry of the diagonal 0, or subtract the means.
    """
    found = through_the_origin(with_a_column_of_ones(train_x), train_y, with_a_column_of_ones(test_x), n_classes, ridge)
    return found.to(test_x.dtype)


@reading_off.misconception
def no_ridge(train_x: Tensor, train_y: Tensor, test_x: Tensor, n_classes: int, ridge: float = 1.0) -> Tensor:
    """You do not use the ridge.

    With more components than examples every labelling can be learned by heart. The ridge makes a large w cost.
    """
    w = torch.linalg.pinv(with_a_column_of_ones(train_x)) @ one_hot_rows(train_y, n_classes)
    return (with_a_column_of_ones(test_x) @ w).to(test_x.dtype)


@reading_off.misconception
def components_standardised(
    train_x: Tensor, train_y: Tensor, test_x: Tensor, n_classes: int, ridge: float = 1.0
) -> Tensor:
    """You divide the components by their deviation first.

    Then the ridge weighs them differently: another w is best. The map is fitted to the vectors as they are.
    """
    deviation = train_x.double().std(0, unbiased=False)
    deviation = deviation.masked_fill(deviation == 0, 1.0)
    found = linear_probe(train_x.double() / deviation, train_y, test_x.double() / deviation, n_classes, ridge)
    return found.to(test_x.dtype)


@reading_off.misconception
def examples_read_again(train_x: Tensor, train_y: Tensor, test_x: Tensor, n_classes: int, ridge: float = 1.0) -> Tensor:
    """You read the examples that you fitted the map to.

    What can be read is asked of other vectors: test_x.
    """
    return linear_probe(train_x, train_y, train_x, n_classes, ridge)


# attention_rollout ----------------------------------------------------------------------------------------------------

IDENTITY = "identity = torch.eye(weights.shape[{}], dtype=weights.dtype, device=weights.device)"

following = Exercise(
    attention_rollout,
    section="What a weight tells",
    minutes=10,
    difficulty=2,
    why="The weights of a late layer point at positions that are mixtures already; this looks through them.",
    hints=[
        "First one layer: average the heads, add the identity, halve. Do the rows still sum to 1?",
        "Position i after layer 2 is a mixture of positions after layer 1, which are mixtures of words. "
        "A mixture of mixtures is a product of matrices.",
        "Which layer stands on the left? Write entry (i, j) of the product as a sum, and read it from the left.",
    ],
    equivalents={f"{IDENTITY.format(-1)}  ->  {IDENTITY.format(-2)}": "the weights are square"},
)


def weights_of(layers: int, *leading: int, heads: int, seq: int) -> Tensor:
    """Sharp weights, so that the order of the layers matters."""
    return (2 * normal(layers, *leading, heads, seq, seq, seed="weights")).softmax(-1)


def some_layers() -> tuple[Tensor]:
    layers, batch, heads, seq = distinct(2, 7, 4, seed="sizes")
    return (weights_of(layers, batch, heads=heads, seq=seq),)


@following.probe
def a_few_layers(attention_rollout: Any) -> Seen:
    """several layers of several heads, every size another one"""
    return {"shares": attention_rollout(*some_layers())}


@following.probe
def without_a_batch(attention_rollout: Any) -> Seen:
    """no leading dimension"""
    layers, heads, seq = distinct(2, 7, 3, seed="sizes")
    return {"shares": attention_rollout(weights_of(layers, heads=heads, seq=seq))}


@following.probe
def more_leading_dimensions(attention_rollout: Any) -> Seen:
    """two leading dimensions; all sizes alike"""
    a, b, heads, seq = distinct(2, 6, 4, seed="sizes")
    same = whole(3, 5, seed="same")
    return {
        "shares": attention_rollout(weights_of(3, a, b, heads=heads, seq=seq)),
        "shares, all sizes alike": attention_rollout(weights_of(same, same, heads=same, seq=same)),
    }


@following.probe
def under_a_causal_mask(attention_rollout: Any) -> Seen:
    """weights under a causal mask"""
    layers, heads, seq = distinct(3, 8, 3, seed="sizes")
    weights = weights_of(layers, 2, heads=heads, seq=seq).tril()
    return {"shares": attention_rollout(weights / weights.sum(-1, keepdim=True))}


@following.probe
def one_layer_one_head(attention_rollout: Any) -> Seen:
    """one layer; one head; one of both; a single position"""
    a, seq = distinct(3, 7, 2, seed="sizes")
    return {
        "shares, one layer": attention_rollout(weights_of(1, 2, heads=a, seq=seq)),
        "shares, one head": attention_rollout(weights_of(a, 2, heads=1, seq=seq)),
        "shares, one of both": attention_rollout(weights_of(1, heads=1, seq=seq)),
        "shares, one position": attention_rollout(weights_of(a, 2, heads=seq, seq=1)),
    }


@following.probe
def many_layers(attention_rollout: Any) -> Seen:
    """eight layers that look at one or two positions"""
    heads, seq = distinct(2, 7, 2, seed="sizes")
    return {"shares": attention_rollout((3 * normal(8, heads, seq + 2, seq + 2, seed="weights")).softmax(-1))}


# (A + I)/2 and A + I with its rows rescaled have equal values and unequal gradients: both are right.
usual(following, some_layers, without=["gradients"])


def mean_head(weights: Tensor) -> Tensor:
    return weights.mean(-3)


def half_residual(attention: Tensor) -> Tensor:
    return (attention + identity_like(attention)) / 2


def identity_like(attention: Tensor) -> Tensor:
    return torch.eye(attention.shape[-1], dtype=attention.dtype, device=attention.device)


def last_on_the_left(layers: Tensor) -> Tensor:
    found = layers[0]
    for layer in layers[1:]:
        found = layer @ found
    return found


@following.assembled
def rollout_in_steps(
    weights: Tensor, *, fuse: Any = mean_head, carry: Any = half_residual, join: Any = last_on_the_left
) -> Tensor:
    return join(carry(fuse(weights)))


@following.instead_of("fuse")
def largest_head(weights: Tensor) -> Tensor:
    """You take the largest weight of all heads; it should be their mean.

    Then the rows sum to more than 1.
    """
    return weights.amax(-3)


@following.instead_of("fuse")
def smallest_head(weights: Tensor) -> Tensor:
    """You take the smallest weight of all heads; it should be their mean.

    Then the rows sum to less than 1.
    """
    return weights.amin(-3)


@following.instead_of("fuse")
def heads_added_up(weights: Tensor) -> Tensor:
    """You add the heads up; it should be their mean.

    Then attention counts as many times as there are heads, and the residual connection once.
    """
    return weights.sum(-3)


@following.instead_of("fuse")
def first_head_alone(weights: Tensor) -> Tensor:
    """Only the first head counts.

    All heads of a layer are averaged.
    """
    return weights[..., 0, :, :]


@following.instead_of("fuse")
def second_dimension_averaged(weights: Tensor) -> Tensor:
    """You average over the second dimension, which is the heads only where there is no batch.

    Between the layers and the heads there may be leading dimensions. Counted from the end, the heads are -3.
    """
    return weights.mean(1)


@following.instead_of("fuse")
def largest_head_rescaled(weights: Tensor) -> Tensor:
    """You take the largest weight of all heads and rescale the rows.

    The rows sum to 1 again, but it is another average. Here it is the mean of the heads.
    """
    largest = weights.amax(-3)
    return largest / largest.sum(-1, keepdim=True)


@following.instead_of("carry")
def residual_forgotten(attention: Tensor) -> Tensor:
    """You forget the residual connection.

    Half of what a position is after a layer, it was before: add the identity, and halve.
    """
    return attention


@following.instead_of("carry")
def identity_not_halved(attention: Tensor) -> Tensor:
    """You add the identity and do not halve, so that the rows sum to 2, and after more layers to 4, 8, …

    A layer is half attention and half residual connection.
    """
    return attention + identity_like(attention)


@following.instead_of("carry")
def halved_before_the_identity(attention: Tensor) -> Tensor:
    """You halve the attention but not the identity.

    Each is a half: their rows sum to 1 together.
    """
    return attention / 2 + identity_like(attention)


@following.instead_of("carry")
def columns_rescaled(attention: Tensor) -> Tensor:
    """You rescale columns to sum 1; it should be the rows.

    A row says where one position comes from: these shares sum to 1.
    """
    both = attention + identity_like(attention)
    return both / both.sum(-2, keepdim=True)


@following.instead_of("carry")
def ones_for_the_identity(attention: Tensor) -> Tensor:
    """You add 1 to every entry; it should be the identity.

    The residual connection passes a position on to itself, and to no other.
    """
    return (attention + 1) / 2


@following.instead_of("join")
def first_on_the_left(layers: Tensor) -> Tensor:
    """You multiply in the reversed order: the first layer stands on the left.

    The last layer asks first: row i of it says which positions after the layer before it is made of.
    """
    return last_on_the_left(layers.flip(0))


@following.instead_of("join")
def last_layer_alone(layers: Tensor) -> Tensor:
    """Only the last layer counts.

    It says which positions of the layer below are read, and these are mixtures already. Multiply all layers.
    """
    return layers[-1]


@following.instead_of("join")
def first_layer_left_out(layers: Tensor) -> Tensor:
    """The first layer is missing from your product.

    `range(1, n)` or `weights[1:]` leaves it out unless the product starts with it.
    """
    return last_on_the_left(torch.cat([identity_like(layers).expand_as(layers[:1]), layers[1:]]))


@following.instead_of("join")
def layers_averaged(layers: Tensor) -> Tensor:
    """You average the layers.

    They work one after the other, not side by side: multiply their matrices.
    """
    return layers.mean(0)


@following.instead_of("join")
def entry_by_entry(layers: Tensor) -> Tensor:
    """You multiply the layers entry by entry.

    A way from i to j leads over any position in between: the matrix product sums over these.
    """
    return layers.prod(0)


@following.instead_of("join")
def rows_and_columns_exchanged(layers: Tensor) -> Tensor:
    """Your result is transposed.

    Entry (i, j) is how much of position i comes from position j: rows sum to 1.
    """
    return last_on_the_left(layers).mT


@following.instead_of("join")
def after_every_layer(layers: Tensor) -> Tensor:
    """You return the rollout after every layer.

    What is asked for is how it stands after the last.
    """
    return torch.stack(list(itertools.accumulate(layers, lambda found, layer: layer @ found)))


@following.misconception
def residual_once(weights: Tensor) -> Tensor:
    """You add the residual connection once, after all layers.

    Each layer has one of its own: add the identity before you multiply.
    """
    return half_residual(rollout_in_steps(weights, carry=residual_forgotten))


@following.misconception
def heads_followed_apart(weights: Tensor) -> Tensor:
    """You follow each head alone through all layers, and average in the end.

    A head reads what all heads of the layer below have written. Average the heads of each layer before you multiply.
    """
    return last_on_the_left(half_residual(weights)).mean(-3)
