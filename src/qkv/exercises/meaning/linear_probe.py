"""The exercise `linear_probe`."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, integers, normal, number, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.meaning import (
    linear_probe,
)

EYE = "penalty = ridge * torch.eye(x.shape[1], {}device=x.device)"


SOLVED = "w = torch.linalg.solve(x.T @ x + penalty, x.T @ {})"


BALANCED = "the columns of x sum to 0, so that a constant added to y changes nothing"


exercise = Exercise(
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


@exercise.probe
def ridge_left_out(linear_probe: Any) -> Seen:
    """vectors of several classes, `ridge` left at its default"""
    return {"scores": linear_probe(*some_vectors()[:4])}


@exercise.probe
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


@exercise.probe
def classes_that_do_not_occur(linear_probe: Any) -> Seen:
    """the first and the last class do not occur"""
    train_x, train_y, test_x, n_classes = to_be_read(
        *distinct(9, 15, 1, seed="train"), *distinct(2, 7, 3, seed="sizes")
    )
    return {"scores": linear_probe(train_x, train_y + 1, test_x, n_classes + 2)}


@exercise.probe
def more_components_than_examples(linear_probe: Any) -> Seen:
    """more components than examples"""
    d, (train, test, n_classes) = whole(10, 14, seed="d"), distinct(3, 8, 3, seed="sizes")
    return {"scores": linear_probe(*to_be_read(train, d, test, n_classes), number(1.5, 3.0, seed="ridge"))}


@exercise.probe
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


@exercise.probe
def nearly_all_of_one_class(linear_probe: Any) -> Seen:
    """a class that most examples belong to, and a ridge around 1,000"""
    d, test, n_classes = distinct(3, 8, 3, seed="sizes")
    train_x, train_y, test_x, _ = to_be_read(16, d, test, n_classes, mean=3.0)
    train_y[4:] = n_classes - 1
    return {"scores": linear_probe(train_x, train_y, test_x, n_classes, number(500.0, 2000.0, seed="ridge"))}


def of_both_signs() -> tuple[Any, ...]:
    train_x, train_y, test_x, *others = some_vectors()
    return train_x, train_y, test_x - 1, *others


# There is no solver in half precision.
usual(exercise, of_both_signs, without=("in_float16", "in_bfloat16"))


def one_hot_rows(train_y: Tensor, n_classes: int) -> Tensor:
    return F.one_hot(train_y, n_classes).double()


def by_the_mean_of_train(train_x: Tensor, test_x: Tensor) -> tuple[Any, Any]:
    return train_x.mean(0), train_x.mean(0)


def cost_as_given(ridge: float, x: Tensor) -> Any:
    return ridge


def back_to_the_mean(scores: Tensor, mean_y: Tensor) -> Tensor:
    return scores + mean_y


@exercise.assembled
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


@exercise.instead_of("aim")
def plus_and_minus_one(train_y: Tensor, n_classes: int) -> Tensor:
    """Your targets are 1 and -1.

    The order of the scores is the same, but the scores are others: a one-hot row has 1 and 0.
    """
    return 2 * one_hot_rows(train_y, n_classes) - 1


@exercise.instead_of("aim")
def classes_that_occur(train_y: Tensor, n_classes: int) -> Tensor:
    """You make a column for each class up to the largest that occurs; there should be n_classes.

    A class need not occur among the examples. `F.one_hot` takes the number of classes.
    """
    return F.one_hot(train_y).double()


@exercise.instead_of("aim")
def classes_from_one(train_y: Tensor, n_classes: int) -> Tensor:
    """You count classes from 1: the score of each stands in the column before its own.

    Classes count from 0.
    """
    return one_hot_rows(train_y, n_classes).roll(-1, -1)


@exercise.instead_of("move")
def test_by_its_own_mean(train_x: Tensor, test_x: Tensor) -> tuple[Any, Any]:
    """You subtract from test_x its own mean.

    The map was fitted around the mean of train_x, and is the same for every vector: also where there is only one.
    """
    return train_x.mean(0), test_x.mean(0)


@exercise.instead_of("move")
def test_not_moved(train_x: Tensor, test_x: Tensor) -> tuple[Any, Any]:
    """You subtract the mean from train_x, but not from test_x.

    What was subtracted for fitting is subtracted for reading, or the intercept is wrong by (mean of x) w.
    """
    return train_x.mean(0), 0.0


@exercise.instead_of("move")
def mean_of_both(train_x: Tensor, test_x: Tensor) -> tuple[Any, Any]:
    """You take the mean of train_x and test_x together.

    What is to be read must not take part in the fitting. The mean is that of train_x.
    """
    mean = torch.cat([train_x, test_x]).mean(0)
    return mean, mean


@exercise.instead_of("move")
def shares_as_intercept(train_x: Tensor, test_x: Tensor) -> tuple[Any, Any]:
    """Your intercept is the mean of y, without the mean of x.

    That is the best intercept only where the mean of x is 0. It is the mean of y minus (mean of x) w.
    """
    return 0.0, 0.0


@exercise.instead_of("cost")
def ridge_for_each_example(ridge: float, x: Tensor) -> Any:
    """Your ridge counts as many times as there are examples: you take the mean over the examples.

    The squared errors are summed.
    """
    return ridge * len(x)


@exercise.instead_of("cost")
def ridge_divided(ridge: float, x: Tensor) -> Any:
    """You divide the ridge by the number of examples.

    The squared errors are summed, and the ridge stands beside them as it is.
    """
    return ridge / len(x)


@exercise.instead_of("cost")
def ridge_squared(ridge: float, x: Tensor) -> Any:
    """Your penalty is ridge²·‖w‖².

    ‖w‖² is multiplied by the ridge itself; as further examples, the penalty is √ridge times the identity.
    """
    return ridge**2


@exercise.instead_of("cost")
def ridge_twice(ridge: float, x: Tensor) -> Any:
    """The ridge counts twice.

    Both the squared errors and ‖w‖² give the gradient a factor of 2, which cancels.
    """
    return 2 * ridge


@exercise.instead_of("cost")
def ridge_halved(ridge: float, x: Tensor) -> Any:
    """The ridge counts half.

    Both the squared errors and ‖w‖² give the gradient a factor of 2, which cancels.
    """
    return ridge / 2


@exercise.instead_of("cost")
def ridge_always_one(ridge: float, x: Tensor) -> Any:
    """You use a ridge of 1, whatever `ridge` says.

    1 is the default; the caller may want another.
    """
    return 1.0


@exercise.instead_of("read")
def no_intercept_added(scores: Tensor, mean_y: Tensor) -> Tensor:
    """You do not add the mean of y again.

    It was subtracted for fitting. Without it a vector in the middle would have the score 0 for every class.
    """
    return scores


@exercise.instead_of("read")
def shares_by_a_softmax(scores: Tensor, mean_y: Tensor) -> Tensor:
    """You return a softmax of the scores.

    The scores of a regression are no logits: they sum to 1 already. Return them as they are.
    """
    return (scores + mean_y).softmax(-1)


@exercise.instead_of("read")
def classes_for_scores(scores: Tensor, mean_y: Tensor) -> Tensor:
    """You return the class with the largest score.

    The scores themselves are asked for, (test, n_classes): they say how near it was.
    """
    return (scores + mean_y).argmax(-1)


@exercise.instead_of("read")
def classes_before_vectors(scores: Tensor, mean_y: Tensor) -> Tensor:
    """Your scores are (n_classes, test); it should be (test, n_classes).

    A row belongs to a vector.
    """
    return (scores + mean_y).T


def with_a_column_of_ones(x: Tensor) -> Tensor:
    return torch.cat([x.double(), torch.ones(len(x), 1, dtype=torch.float64, device=x.device)], 1)


@exercise.misconception
def through_the_origin(train_x: Tensor, train_y: Tensor, test_x: Tensor, n_classes: int, ridge: float = 1.0) -> Tensor:
    """You fit no intercept.

    Then the score of a vector of zeros is 0 for every class, wherever the examples lie. The map is x @ w + b.
    """
    x = train_x.double()
    w = torch.linalg.solve(x.T @ x + penalties(ridge, x), x.T @ one_hot_rows(train_y, n_classes))
    return (test_x.double() @ w).to(test_x.dtype)


@exercise.misconception
def intercept_penalised(train_x: Tensor, train_y: Tensor, test_x: Tensor, n_classes: int, ridge: float = 1.0) -> Tensor:
    """You penalise the intercept as well: the column of ones has a ridge, too.

    Then the scores change when all vectors are moved. Leave the last entry of the diagonal 0, or subtract the means.
    """
    found = through_the_origin(with_a_column_of_ones(train_x), train_y, with_a_column_of_ones(test_x), n_classes, ridge)
    return found.to(test_x.dtype)


@exercise.misconception
def no_ridge(train_x: Tensor, train_y: Tensor, test_x: Tensor, n_classes: int, ridge: float = 1.0) -> Tensor:
    """You do not use the ridge.

    With more components than examples every labelling can be learned by heart. The ridge makes a large w cost.
    """
    w = torch.linalg.pinv(with_a_column_of_ones(train_x)) @ one_hot_rows(train_y, n_classes)
    return (with_a_column_of_ones(test_x) @ w).to(test_x.dtype)


@exercise.misconception
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


@exercise.misconception
def examples_read_again(train_x: Tensor, train_y: Tensor, test_x: Tensor, n_classes: int, ridge: float = 1.0) -> Tensor:
    """You read the examples that you fitted the map to.

    What can be read is asked of other vectors: test_x.
    """
    return linear_probe(train_x, train_y, train_x, n_classes, ridge)


squeezes(exercise)
