"""The exercise `analogy`."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, normal, permutation, uniform, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.meaning import (
    analogy,
)

ROWS_OF_A_MATRIX = "vectors has two dimensions, of which 1 is the last"


LENGTHS = "lengths = torch.linalg.vector_norm(vectors, dim={}, keepdim=True)"


SCORES = "scores = (unit * (unit[b] - unit[a] + unit[c])).sum(dim={})"


UNIT = "unit = vectors / lengths.masked_fill(lengths == 0, {})"


exercise = Exercise(
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


@exercise.probe
def best_answers(analogy: Any) -> Seen:
    """four questions about one vocabulary, `n` left at its default"""
    vocab = whole(15, 25, seed="vocab")
    vectors = vocabulary(vocab, whole(4, 8, seed="d"), "words")
    questions = [distinct(0, vocab, 3, seed=f"question {i}") for i in range(4)]
    return {f"answer {i}": analogy(vectors.clone(), *question) for i, question in enumerate(questions)}


@exercise.probe
def several_answers(analogy: Any) -> Seen:
    """the six best answers to two questions"""
    vocab = whole(15, 25, seed="vocab")
    vectors = vocabulary(vocab, whole(4, 8, seed="d"), "words")
    one, other = (distinct(0, vocab, 3, seed=f"question {i}") for i in range(2))
    return {"answers": analogy(vectors.clone(), *one, 6), "other answers": analogy(vectors.clone(), *other, n=6)}


@exercise.probe
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


@exercise.probe
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


@exercise.probe
def equally_good(analogy: Any) -> Seen:
    """words of which many are equally good; vectors of one component"""
    vocab = whole(40, 50, seed="vocab")
    question = distinct(0, vocab, 3, seed="question")
    return {
        "answers": analogy(words_on_axes(vocab, 3, "axes"), *question, vocab),
        "answers, one component": analogy(words_on_axes(vocab, 1, "axis"), *question, vocab),
    }


@exercise.probe
def rows_of_zeros(analogy: Any) -> Seen:
    """a vocabulary with rows of zeros, some questions, and one with such a row"""
    vocab = whole(22, 28, seed="vocab")
    vectors = vocabulary(vocab, 4, "words")
    zero, another, *places = distinct(0, vocab, 14, seed="places")
    vectors[[zero, another]] = 0.0
    questions = [places[i : i + 3] for i in range(0, 12, 3)]
    found = {f"answers {i}": analogy(vectors.clone(), *question, vocab) for i, question in enumerate(questions)}
    return found | {"answers, b is zeros": analogy(vectors.clone(), places[0], zero, places[1], vocab)}


usual(exercise, words_far_apart, without=["gradients"])


def rows_of_length_one(vectors: Tensor) -> Tensor:
    return F.normalize(vectors.double(), dim=-1)


def from_a_to_b_from_c(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    return unit[b] - unit[a] + unit[c]


def by_dot_products(unit: Tensor, goal: Tensor) -> Tensor:
    return (unit * goal).sum(-1)


def best_of_the_others(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    order = scores.argsort(descending=True, stable=True).tolist()
    return [word for word in order if word not in question][:n]


@exercise.assembled
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


@exercise.instead_of("scale")
def long_words_win(vectors: Tensor) -> Tensor:
    """You do not scale the vectors to length 1.

    A frequent word has a long vector, and would be an answer to everything.
    """
    return vectors.double()


@exercise.instead_of("scale")
def columns_scaled(vectors: Tensor) -> Tensor:
    """You scale columns to length 1; it should be the rows.

    Each row is the vector of one word.
    """
    return F.normalize(vectors.double(), dim=0)


@exercise.instead_of("scale")
def lengths_by_absolute_values(vectors: Tensor) -> Tensor:
    """You divide by the sum of the absolute values.

    The length of a vector is the root of the sum of squares.
    """
    return F.normalize(vectors.double(), p=1, dim=-1)


@exercise.instead_of("scale")
def lengths_squared(vectors: Tensor) -> Tensor:
    """You divide by the squared length.

    Then short vectors become long ones. The length is the root of the sum of squares.
    """
    squares = vectors.double().square().sum(-1, keepdim=True)
    return vectors.double() / squares.masked_fill(squares == 0, 1.0)


@exercise.instead_of("scale")
def zero_by_zero(vectors: Tensor) -> Tensor:
    """A row of zeros becomes NaN: you divide it by its length.

    0/0 is NaN, and NaN is larger than every score when sorted. Leave a row of zeros as it is.
    """
    return vectors.double() / vectors.double().norm(dim=-1, keepdim=True)


@exercise.instead_of("step")
def step_backwards(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    """Your step leads from b to a: a - b + c.

    "a is to b": from a one comes to b by b - a.
    """
    return unit[a] - unit[b] + unit[c]


@exercise.instead_of("step")
def c_subtracted(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    """You subtract c where you should subtract a.

    The step is b - a, and it is made from c, so that c is added.
    """
    return unit[a] + unit[b] - unit[c]


@exercise.instead_of("step")
def b_and_c_alone(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    """You do not subtract a.

    What b and c have in common is no step. The step is what has to be added to a to get b.
    """
    return unit[b] + unit[c]


@exercise.instead_of("step")
def step_without_a_start(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    """You make the step from nowhere: c is missing.

    b - a is a direction. Where it leads depends on where one starts.
    """
    return unit[b] - unit[a]


@exercise.instead_of("step")
def no_step_at_all(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    """You look for the words nearest to c.

    The step from a to b has to be added first.
    """
    return unit[c]


@exercise.instead_of("score")
def by_distance(unit: Tensor, goal: Tensor) -> Tensor:
    """You take the smallest distance; it should be the largest dot product.

    For rows of length 1 that is the same order. A row of zeros is nearer to everything than it should be.
    """
    return -(unit - goal).square().sum(-1)


@exercise.instead_of("choose")
def question_words_too(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """a, b and c may be answers in your code.

    The nearest word is nearly always b or c itself, since the step is short. They are never answers.
    """
    return scores.argsort(descending=True, stable=True).tolist()[:n]


@exercise.instead_of("choose")
def only_c_left_out(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You leave out c, but not a and b.

    None of the three is ever an answer.
    """
    return best_of_the_others(scores, question[2:], n)


@exercise.instead_of("choose")
def a_may_be_an_answer(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You leave out b and c, but not a.

    None of the three is ever an answer.
    """
    return best_of_the_others(scores, question[1:], n)


@exercise.instead_of("choose")
def cut_before_left_out(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You take the n best first and leave out a, b and c afterwards, so that there are fewer than n.

    Leave them out first.
    """
    return [word for word in question_words_too(scores, question, n) if word not in question]


@exercise.instead_of("choose")
def question_words_last(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You give a, b and c the score -inf, and they are answers still where there are too few others.

    If fewer than n words are left, the list is shorter.
    """
    scores = scores.clone()
    scores[list(question)] = -math.inf
    return question_words_too(scores, question, n)


@exercise.instead_of("choose")
def question_words_at_zero(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You give a, b and c the score 0, which is better than a negative one.

    Then they are answers after all. Leave them out of the list.
    """
    scores = scores.clone()
    scores[list(question)] = 0.0
    return question_words_too(scores, question, n)


@exercise.instead_of("choose")
def numbered_anew(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You remove a, b and c before sorting, so that all later words have other numbers than their ids.

    An answer is the id of a word in the whole vocabulary.
    """
    left = torch.tensor([word not in question for word in range(len(scores))])
    return scores[left].argsort(descending=True, stable=True).tolist()[:n]


@exercise.instead_of("choose")
def worst_first(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """Your answers begin with the worst.

    `argsort` sorts upwards unless `descending=True`.
    """
    return best_of_the_others(-scores, question, n)


@exercise.instead_of("choose")
def larger_id_first(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """Of equally good words you list the larger id first.

    To reverse a list that was sorted upwards turns the equal ones around, too.
    """
    order = scores.argsort(stable=True).flip(0).tolist()
    return [word for word in order if word not in question][:n]


@exercise.instead_of("choose")
def sort_not_stable(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """Of equally good words your list has some in another order than that of their ids.

    torch may sort equal ones as it likes, and does so where there are many, unless it is asked for a stable sort.
    """
    order = scores.argsort(descending=True).tolist()
    return [word for word in order if word not in question][:n]


@exercise.instead_of("choose")
def always_one_answer(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You give one answer, whatever n says.

    1 is the default; the caller may want more.
    """
    return best_of_the_others(scores, question, 1)


@exercise.instead_of("choose")
def all_answers(scores: Tensor, question: tuple[int, ...], n: int) -> Any:
    """You list all words that are left, whatever n says.

    Only the n best are asked for.
    """
    return best_of_the_others(scores, question, len(scores))


@exercise.misconception
def an_id_without_a_list(vectors: Tensor, a: int, b: int, c: int, n: int = 1) -> Any:
    """Where n is 1 you return the id itself.

    The result is always a list, of one id, of many, or of none.
    """
    found = analogy(vectors, a, b, c, n)
    return found[0] if n == 1 else found


@exercise.misconception
def step_made_before_scaling(vectors: Tensor, a: int, b: int, c: int, n: int = 1) -> Any:
    """You make the step with the vectors as they are, and scale afterwards.

    A long vector then decides where the step leads. Scale every row first.
    """
    unit = rows_of_length_one(vectors)
    goal = from_a_to_b_from_c(vectors.double(), a, b, c)
    return best_of_the_others(by_dot_products(unit, goal), (a, b, c), n)


@exercise.misconception
def candidates_not_scaled(vectors: Tensor, a: int, b: int, c: int, n: int = 1) -> Any:
    """You scale a, b and c to length 1, but not the words that you compare with.

    Then a long vector wins by its length. Scale every row.
    """
    goal = from_a_to_b_from_c(rows_of_length_one(vectors), a, b, c)
    return best_of_the_others(by_dot_products(vectors.double(), goal), (a, b, c), n)


@exercise.misconception
def nearest_as_they_are(vectors: Tensor, a: int, b: int, c: int, n: int = 1) -> Any:
    """You take the vectors as they are, and the smallest distance.

    Scale every row to length 1 first, and take the largest dot product.
    """
    return analogy_in_steps(vectors, a, b, c, n, scale=long_words_win, score=by_distance)


@exercise.misconception
def cosines_multiplied(vectors: Tensor, a: int, b: int, c: int, n: int = 1) -> Any:
    """You multiply and divide the three cosines instead of adding and subtracting them.

    That is another paper's rule, 3CosMul. Here the score is the dot product with b - a + c.
    """
    unit = rows_of_length_one(vectors)
    near_a, near_b, near_c = ((1 + by_dot_products(unit, unit[word])) / 2 for word in (a, b, c))
    return best_of_the_others(near_b * near_c / (near_a + 1e-3), (a, b, c), n)
