"""The exercise `negative_samples`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, number, permutation, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, settled
from qkv.exercises.meaning.shared import DTYPES_OF_FLOATS
from qkv.model.meaning import (
    negative_samples,
)

SCALE = "multinomial takes probabilities that need not sum to 1"


exercise = Exercise(
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


def word_counts(vocab: int, seed: str) -> Tensor:
    """Few words that occur often, and many that are rare, as in a text; every fifth never occurs."""
    ranks = permutation(vocab, seed=f"{seed}: ranks")
    counts = whole(300, 600, seed=f"{seed}: most") // (1 + ranks)
    return counts.masked_fill(ranks % 5 == 4, 0)


def noise(seed: str, *shape: int) -> tuple[Tensor, tuple[int, ...], torch.Generator]:
    return word_counts(whole(18, 30, seed=f"{seed}: vocab"), seed), shape, settled(seed)


def some_noise() -> tuple[Any, ...]:
    return *noise("some", *distinct(8, 16, 2, seed="sizes")), number(0.3, 0.6, seed="power")


@exercise.probe
def power_left_out(negative_samples: Any) -> Seen:
    """some negatives for each word of a batch, `power` left at its default"""
    return {"ids": negative_samples(*noise("default", *distinct(9, 16, 2, seed="sizes")))}


@exercise.probe
def other_powers(negative_samples: Any) -> Seen:
    """a power below one half, and one above 1"""
    large = number(1.3, 1.8, seed="large")
    return {
        "ids, small power": negative_samples(*some_noise()),
        "ids, large power": negative_samples(*noise("large", 10, 12), power=large),
    }


@exercise.probe
def words_that_never_occur(negative_samples: Any) -> Seen:
    """a vocabulary of which most words never occur, and one of which every word does"""
    vocab = whole(25, 35, seed="vocab")
    counts = integers(1, 9, vocab, seed="counts")
    there = permutation(vocab, seed="there") < 6
    return {
        "ids, six words occur": negative_samples(counts * there, (8, 7), settled("six")),
        "ids, all occur": negative_samples(counts, (8, 7), settled("all")),
    }


@exercise.probe
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


@exercise.probe
def few_of_many(negative_samples: Any) -> Seen:
    """fewer draws than there are words"""
    counts = integers(1, 4, whole(40, 60, seed="vocab"), seed="counts")
    return {"ids": negative_samples(counts, (6, 5), settled("few"), 0.5)}


@exercise.probe
def from_one_generator_twice(negative_samples: Any) -> Seen:
    """two calls with one generator, and what it draws next"""
    counts, shape, source = noise("twice", *distinct(6, 12, 2, seed="sizes"))
    found = {name: negative_samples(counts.clone(), shape, source) for name in ("first ids", "second ids")}
    return found | {"next draws of the generator": torch.rand(4, generator=source)}


# The generator lives on the CPU, and torch draws where the probabilities are.
usual(exercise, some_noise, without=("gradients", *DTYPES_OF_FLOATS, "other_device"))


def power_of_counts(counts: Tensor, power: float) -> Tensor:
    return counts.float() ** power


def by_multinomial(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=source).reshape(tuple(shape))


@exercise.assembled
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


@exercise.instead_of("weigh")
def counts_as_they_are(counts: Tensor, power: float) -> Tensor:
    """You do not use the power: words are drawn as often as they occur.

    Then nearly all negatives are the few most frequent words.
    """
    return counts.float()


@exercise.instead_of("weigh")
def always_three_quarters(counts: Tensor, power: float) -> Tensor:
    """You raise to the power 0.75, whatever `power` says.

    0.75 is the default; the caller may want another.
    """
    return counts.float() ** 0.75


@exercise.instead_of("weigh")
def all_words_alike(counts: Tensor, power: float) -> Tensor:
    """You draw every word of the vocabulary equally often.

    A word is drawn in proportion to count**power, and one that never occurs is never drawn.
    """
    return torch.ones(len(counts))


@exercise.instead_of("weigh")
def occurring_words_alike(counts: Tensor, power: float) -> Tensor:
    """You draw all words that occur equally often.

    A word is drawn in proportion to count**power: frequent ones more often.
    """
    return (counts > 0).float()


@exercise.instead_of("weigh")
def root_for_power(counts: Tensor, power: float) -> Tensor:
    """You raise to 1/power.

    A power below 1 makes the frequent words rarer among the negatives; its inverse makes them more frequent still.
    """
    return counts.float() ** (1 / power)


@exercise.instead_of("weigh")
def rare_words_first(counts: Tensor, power: float) -> Tensor:
    """You divide by count**power, so that rare words are drawn most, and one that never occurs has the weight inf.

    A power below 1 favours rare words, but only in comparison with their counts.
    """
    return counts.float() ** -power


@exercise.instead_of("weigh")
def times_the_power(counts: Tensor, power: float) -> Tensor:
    """You use the exponential of power·count, as a softmax does.

    Counts are no scores: the most frequent word would take everything. The weight is count**power.
    """
    return torch.softmax(counts.float() * power, -1)


@exercise.instead_of("weigh")
def cubes_by_precedence(counts: Tensor, power: float) -> Tensor:
    """You raise the counts to the power 3: in `counts ** 3 / 4` the power comes first.

    `**` binds more closely than `/`, so that the 4 divides afterwards and cancels. The weight is count**power.
    """
    return counts.double() ** 3


@exercise.instead_of("weigh")
def one_added_to_each(counts: Tensor, power: float) -> Tensor:
    """You add 1 to every count.

    A word that never occurs is then drawn as well, and its vector is pushed around by noise alone.
    """
    return (counts + 1).float() ** power


@exercise.instead_of("weigh")
def at_least_one(counts: Tensor, power: float) -> Tensor:
    """You raise counts of 0 to 1.

    A word that never occurs is never drawn.
    """
    return counts.clamp(min=1).float() ** power


@exercise.instead_of("weigh")
def logarithms_of_counts(counts: Tensor, power: float) -> Tensor:
    """You weigh words by the logarithm of their count.

    It flattens the counts too, but more than the power does.
    """
    return torch.log1p(counts.float()) * power


@exercise.instead_of("draw")
def never_the_same_twice(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You draw without replacement.

    A word that was drawn may be drawn again: a batch needs more negatives than there are words. See `replacement`.
    """
    return torch.multinomial(p, math.prod(shape), generator=source).reshape(tuple(shape))


@exercise.instead_of("draw")
def from_torchs_own_generator(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You do not use the generator that you are given: you draw from torch's global one.

    Whoever seeds the generator expects to meet the same numbers again.
    """
    return torch.multinomial(p, math.prod(shape), replacement=True).reshape(tuple(shape))


@exercise.instead_of("draw")
def from_a_new_generator(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You do not use the generator that you are given: a new one with the seed 0 draws the same words every time.

    Then each batch has the same negatives, and all other words are never pushed away.
    """
    return by_multinomial(p, shape, torch.Generator().manual_seed(0))


@exercise.instead_of("draw")
def one_row_for_every_word(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You draw one row of negatives and use it for the whole batch.

    Every word gets negatives of its own: draw as many as the shape has entries.
    """
    return torch.multinomial(p, shape[-1], replacement=True, generator=source).expand(tuple(shape))


@exercise.instead_of("draw")
def not_reshaped(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """Your ids stand in one long row; they should have the given shape.

    As many as there are, but a batch needs to know which of them belong to which word.
    """
    return torch.multinomial(p, math.prod(shape), replacement=True, generator=source)


@exercise.instead_of("draw")
def column_by_column(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You fill the shape column by column.

    `reshape` fills row by row: the first numbers drawn are the first row.
    """
    ids = by_multinomial(p, [*reversed(shape)], source)
    return ids.permute(*reversed(range(len(shape))))


@exercise.instead_of("draw")
def one_at_a_time(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You call `torch.multinomial` once for every number.

    These are negatives too, but others: for a single number torch draws in another way. Ask for all of them at once.
    """
    single = [torch.multinomial(p, 1, generator=source) for _ in range(math.prod(shape))]
    return torch.cat(single).reshape(tuple(shape))


@exercise.instead_of("draw")
def by_another_call(p: Tensor, shape: Sequence[int], source: torch.Generator) -> Tensor:
    """You draw with `torch.rand` and look the numbers up in the cumulative sum.

    That gives words of the same frequencies, but not the same words. The docstring fixes the call, so that the same
    generator gives the same negatives.
    """
    draws = torch.rand(tuple(shape), generator=source)
    return torch.searchsorted(p.cumsum(0) / p.sum(), draws).clamp(max=len(p) - 1)


@exercise.misconception
def ids_from_one(counts: Tensor, shape: Sequence[int], generator: torch.Generator, power: float = 0.75) -> Tensor:
    """You add 1 to the ids.

    They count from 0, as the rows of an embedding do.
    """
    return negative_samples(counts, shape, generator, power) + 1
