"""The exercise `boolean_ffn`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, integers, normal, number, whole
from proctor.inside.properties import (
    usual,
)
from proctor.inside.situations import Seen
from qkv.exercises.theory.shared import outline
from qkv.model.theory import (
    boolean_ffn,
)

exercise = Exercise(
    boolean_ffn,
    section="A table by heart",
    minutes=15,
    difficulty=2,
    why="It shows that a feed-forward network can compute anything on bits, and what that costs: a unit for each case.",
    hints=[
        "Spend one hidden unit on each case. It should be 1 at its own input and 0 at every other. What is `down` "
        "then?",
        "Let a unit count: +1 for every 1 that its case has too, -1 for every 1 that its case has not. At which input "
        "is this sum the largest, how large is it, and what is it at most elsewhere?",
        "The bias moves that largest value to 1, and then all the others are at 0 or below, where relu silences them.",
        "Bit number j of `case`, with x[0] the highest of n: (case >> (n - 1 - j)) & 1.",
    ],
    equivalents={
        "bias = 1 - bits.sum(dim=-1)  ->  bias = 1 - bits.sum(dim=1)": "of two dimensions 1 is the last",
    },
)


def answers_of(results: Any, table: Tensor) -> Seen:
    """What three weights answer at all corners, and of themselves only shape and dtype: right ones have many forms."""
    up, bias, down = results
    given = {"up": up, "bias": bias, "down": down}
    cases, n = len(table), len(table).bit_length() - 1
    found: Seen = {name: outline(w) for name, w in given.items()}
    answers = torch.full((cases,), math.nan, dtype=table.dtype)
    if [tuple(w.shape) for w in given.values()] == [(cases, n), (cases,), (cases,)]:
        corners = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n).reshape(cases, n)
        answers = torch.relu(corners.to(up) @ up.T + bias) @ down
    return found | {"answers": answers}


def of_several(boolean_ffn: Any, tables: list[Tensor]) -> Seen:
    found: Seen = {}
    for i, table in enumerate(tables):
        found |= {f"{name} of table {i}": w for name, w in answers_of(boolean_ffn(table), table).items()}
    return found


def truths(n: int, *, seed: str) -> Tensor:
    """A table of zeros and ones that has both."""
    table = integers(0, 2, 2**n, seed=seed).float()
    one, other = distinct(0, 2**n, 2, seed=f"{seed}: both")
    table[one], table[other] = 0.0, 1.0
    return table


@exercise.probe
def truth_of_three_bits(boolean_ffn: Any) -> Seen:
    """tables of zeros and ones, of three inputs"""
    return of_several(boolean_ffn, [truths(3, seed=seed) for seed in ("table", "another")])


@exercise.probe
def truth_of_two_bits(boolean_ffn: Any) -> Seen:
    """tables of zeros and ones, of two inputs"""
    return of_several(boolean_ffn, [truths(2, seed=seed) for seed in ("table", "another", "a third", "a fourth")])


@exercise.probe
def any_numbers(boolean_ffn: Any) -> Seen:
    """a table of any numbers, negative ones too, of three inputs"""
    table = normal(8, seed="table")
    return answers_of(boolean_ffn(table), table)


@exercise.probe
def one_bit(boolean_ffn: Any) -> Seen:
    """a single input: a table of two numbers"""
    table = normal(2, seed="table")
    return answers_of(boolean_ffn(table), table)


@exercise.probe
def five_bits(boolean_ffn: Any) -> Seen:
    """a table of numbers of four inputs, and of five"""
    four, five = normal(16, seed="four"), normal(32, seed="five")
    found = answers_of(boolean_ffn(four), four)
    return found | {f"{name} of five": w for name, w in answers_of(boolean_ffn(five), five).items()}


@exercise.probe
def one_case_alone(boolean_ffn: Any) -> Seen:
    """tables that are 0 but for one case: the first, the last, any other"""
    found: Seen = {}
    size = number(1.5, 4.0, seed="size")
    for words, case in (("first", 0), ("last", 7), ("any other", whole(1, 7, seed="case"))):
        table = torch.zeros(8)
        table[case] = size
        found |= {f"{name}, {words} case": w for name, w in answers_of(boolean_ffn(table), table).items()}
    return found


def whole_table() -> tuple[Tensor]:
    """Whole numbers, of which sums and differences are exact in every dtype."""
    return (integers(-8, 9, 8, seed="table").float(),)


def of_its_answers(boolean_ffn: Any) -> Callable[[Tensor], Any]:
    return lambda table: tuple(answers_of(boolean_ffn(table), table).values())


usual(exercise, whole_table, of_its_answers)


def highest_bit_first(cases: int) -> Tensor:
    n = cases.bit_length() - 1
    return torch.cartesian_prod(*[torch.tensor([0, 1])] * n).reshape(cases, n)


def plus_and_minus(bits: Tensor) -> Tensor:
    return 2 * bits - 1


def one_at_its_own(bits: Tensor) -> Tensor:
    return 1 - bits.sum(-1)


def answers_down(table: Tensor) -> Tensor:
    return table.clone()


@exercise.assembled
def boolean_in_steps(
    table: Tensor,
    *,
    read: Any = highest_bit_first,
    weigh: Any = plus_and_minus,
    shift: Any = one_at_its_own,
    tell: Any = answers_down,
) -> Any:
    bits = read(len(table)).to(table.device)
    return weigh(bits).to(table.dtype), shift(bits).to(table.dtype), tell(table)


@exercise.instead_of("read")
def lowest_bit_first(cases: int) -> Tensor:
    """You read x[0] as the lowest bit.

    It is the highest: (1, 0, 0) is case 4 of 8, as binary numbers are written.
    """
    return highest_bit_first(cases).flip(-1)


@exercise.instead_of("read")
def zeros_read_as_ones(cases: int) -> Tensor:
    """You take 0 for 1 and 1 for 0: the table is read from its end.

    Case 0 is the input of zeros.
    """
    return 1 - highest_bit_first(cases)


@exercise.instead_of("weigh")
def zeros_not_asked_for(bits: Tensor) -> Tensor:
    """A unit asks only whether the ones of its case are there, and not whether its zeros are.

    So it fires at every input that has those ones and more. An input that should be 0 needs a negative weight.
    """
    return bits


@exercise.instead_of("weigh")
def only_zeros_asked_for(bits: Tensor) -> Tensor:
    """A unit has weights only for the zeros of its case; for its ones it has none.

    Then it never reaches its threshold. Each one of its case counts +1.
    """
    return bits - 1


@exercise.instead_of("weigh")
def up_transposed(bits: Tensor) -> Tensor:
    """`up` is transposed.

    It is (2**n, n), a row for each unit, as in `nn.Linear`: it stands in x @ up.T.
    """
    return plus_and_minus(bits).T


@exercise.instead_of("shift")
def no_threshold(bits: Tensor) -> Tensor:
    """Your biases are 0.

    Then a unit fires at every input that has more right ones than wrong ones. The bias sets how many are needed.
    """
    return torch.zeros_like(bits[:, 0])


@exercise.instead_of("shift")
def the_same_bias_for_all(bits: Tensor) -> Tensor:
    """All your units have the bias 1.

    Each case has another number of ones, and with it another threshold.
    """
    return torch.ones_like(bits[:, 0])


@exercise.instead_of("shift")
def nothing_is_left(bits: Tensor) -> Tensor:
    """At its own case a unit gives 0: your bias takes away all that it has counted.

    The largest sum is the number of ones of the case. After the bias 1 should be left of it.
    """
    return -bits.sum(-1)


@exercise.instead_of("shift")
def half_is_left(bits: Tensor) -> Tensor:
    """At its own case a unit gives 1/2, so your answers are half of what they should be.

    A threshold between two whole numbers would do for a step function. relu gives what is above it.
    """
    return 0.5 - bits.sum(-1)


@exercise.instead_of("shift")
def neighbours_fire_too(bits: Tensor) -> Tensor:
    """A unit gives 2 at its own case and 1 at its neighbours: the bias is one too large.

    A neighbour differs in one bit, and its sum is one smaller: it has to end at 0.
    """
    return 2 - bits.sum(-1)


@exercise.instead_of("shift")
def made_for_minus_one(bits: Tensor) -> Tensor:
    """Your bias is 1 - n, which is right for inputs of -1 and 1.

    Here an input that should be 0 adds nothing where it is 0. The sum to be reached is the number of ones of the case.
    """
    return torch.full_like(bits[:, 0], 1 - bits.shape[-1])


@exercise.instead_of("tell")
def answers_as_yes_and_no(table: Tensor) -> Tensor:
    """You make 1 of every answer that is not 0.

    The table may hold any numbers; `down` gives them as they are.
    """
    return (table != 0).to(table.dtype)


@exercise.instead_of("tell")
def first_case_left_out(table: Tensor) -> Tensor:
    """The answer to the input of zeros is missing: yours is 0.

    Case 0 has a unit, too. It has no ones to wait for, so its bias alone makes it fire.
    """
    return torch.cat([torch.zeros_like(table[:1]), table[1:]])


@exercise.instead_of("tell")
def negative_answers_lost(table: Tensor) -> Tensor:
    """Negative answers become 0.

    After `down` there is no relu any more: negative numbers may stand there.
    """
    return table.clamp(min=0)


@exercise.misconception
def answers_inside_the_relu(table: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You multiply the answers in before the relu.

    The relu lets no negative answer through, and of a case that is not asked about it makes a positive number where
    its sum and its answer are both negative. Put the answers after it, into `down`.
    """
    up, bias, down = boolean_ffn(table)
    return up * table.unsqueeze(-1), bias * table, torch.ones_like(down)


squeezes(exercise)
