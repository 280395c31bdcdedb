"""The exercise `dropout`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, generator, normal, number
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, settled
from qkv.exercises.forbidden import DROPOUT
from qkv.model.blocks import dropout

exercise = Exercise(
    dropout,
    section="Dropout",
    minutes=15,
    difficulty=2,
    why="Scaling by what is kept makes training and use agree on average.",
    hints=[
        "Draw one random number for each entry, with exactly the call that the docstring gives.",
        "A fraction 1 - p survives. By how much must the survivors grow so that the mean stays?",
        "p = 1 drops everything: take care not to divide by 0, nor to multiply 0 by inf.",
    ],
    forbid=[DROPOUT],
    equivalents={
        "kept = torch.rand(x.shape, generator=generator, device=generator.device) >= p"
        "  ->  kept = torch.rand(x.shape, generator=generator) >= p": "the probes' generators live on the CPU",
    },
)


@exercise.probe
def a_third(dropout: Any) -> Seen:
    """p about 0.3, on 6 × 7 numbers"""
    return {"output": dropout(normal(6, 7, seed="x"), number(0.25, 0.4, seed="p"), settled("a"))}


@exercise.probe
def most(dropout: Any) -> Seen:
    """p about 0.8, on 2 × 5 × 9 numbers"""
    return {"output": dropout(normal(2, 5, 9, seed="x"), number(0.7, 0.85, seed="p"), settled("b"))}


@exercise.probe
def none_at_all(dropout: Any) -> Seen:
    """p = 0"""
    return {"output": dropout(normal(9, seed="x"), 0.0, settled("c"))}


@exercise.probe
def everything(dropout: Any) -> Seen:
    """p = 1, values and gradient, and then a p below 1 with the same numbers"""
    x = normal(4, 3, seed="x").requires_grad_()
    source = settled("d")
    thinned = dropout(x, 1.0, source)
    gradient = torch.zeros_like(x)
    if thinned.requires_grad:  # zeros that were made anew have no graph, and that is right here
        (found,) = torch.autograd.grad(thinned.sum(), x, allow_unused=True)
        gradient = gradient if found is None else found
    later = dropout(normal(5, 7, seed="later"), 0.4, settled("later"))
    return {"output": thinned, "gradient": gradient, "output, p = 0.4": later}


@exercise.probe
def at_a_draw(dropout: Any) -> Seen:
    """p equal to one of the numbers drawn"""
    p = torch.rand(3, 8, generator=generator("g"))[1, 2].item()
    return {"output": dropout(normal(3, 8, seed="x"), p, settled("g"))}


@exercise.probe
def twice_from_one_generator(dropout: Any) -> Seen:
    """two calls with one generator"""
    source = settled("e")
    return {name: dropout(normal(5, 4, seed=name), 0.5, source) for name in ("first", "second")}


@exercise.probe
def of_every_shape(dropout: Any) -> Seen:
    """shapes with sizes of 1, and one number without dimensions"""
    n, m = distinct(5, 12, 2, seed="sizes")
    source = settled("shapes")
    shapes: list[tuple[int, ...]] = [(1, n), (m, 1), (2, 1, n), (1,), ()]
    return {f"output, shape {shape}": dropout(normal(*shape, seed="x"), 0.45, source) for shape in shapes}


def thinned_arguments() -> tuple[Tensor, float, torch.Generator]:
    return normal(4, 6, seed="x"), 0.4, settled("f")


# The docstring's call draws on the generator's device, and an answer may multiply by it as it is.
usual(exercise, thinned_arguments, without=("other_device",))


def draw(x: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(x.shape, generator=generator)


@exercise.misconception
def not_enlarged(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You drop, but do not enlarge what survives.

    The mean then shrinks by 1 - p in training, and not when dropout is off: the next layer meets another scale.
    """
    return x * (draw(x, generator) >= p)


@exercise.misconception
def shrunk(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You multiply the survivors by 1 - p instead of dividing.

    Fewer survive, so each must count for more, not for less.
    """
    return x * (draw(x, generator) >= p) * (1 - p)


@exercise.misconception
def enlarged_by_p(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You divide by p, the share that is dropped.

    The share that survives is 1 - p.
    """
    return x * (draw(x, generator) >= p) / p if p else x


@exercise.misconception
def wrong_ones_dropped(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You keep with probability p, and drop the others.

    p is the probability to be dropped: small p, little loss.
    """
    return x * (draw(x, generator) < p) / (1 - p) if p < 1 else x * 0


@exercise.misconception
def divided_by_zero(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """For p = 1 you divide by 0.

    0·inf is NaN, in the value or in the gradient. Nothing survives, so nothing needs to be enlarged.
    """
    return x * (draw(x, generator) >= p) / torch.tensor(1 - p, dtype=x.dtype)


@exercise.misconception
def whole_rows_dropped(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You draw one number for each row and drop whole rows.

    Dropout decides for every entry by itself.
    """
    kept = torch.rand((*x.shape[:-1], 1), generator=generator) >= p
    return x * kept / (1 - p) if p < 1 else x * 0


@exercise.misconception
def generator_ignored(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You do not use the generator that you are given: a new one with a fixed seed draws the same pattern every time.

    Then dropout always drops the same entries, and a run cannot be repeated by seeding its generator.
    """
    return dropout(x, p, torch.Generator().manual_seed(0))


@exercise.misconception
def drawn_from_torchs_own(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You do not use the generator that you are given: you draw from torch's global one.

    Whoever seeds the generator expects to meet the same pattern again; and anything else that draws from the global
    one changes yours.
    """
    kept = torch.rand(x.shape) >= p
    return x * kept / (1 - p) if p < 1 else x * 0


@exercise.misconception
def p_for_keeping(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You take p for the probability to be kept: you keep where the draw is below p, and divide by p.

    Some courses and old libraries mean that by p. Here, as in torch, p is the probability to be dropped.
    """
    return x * (draw(x, generator) < p) / p


@exercise.misconception
def all_kept_at_one(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """For p = 1 you return x as it is.

    p = 1 drops everything: the result is 0 everywhere, and so is the gradient.
    """
    return x if p == 1 else dropout(x, p, generator)


@exercise.misconception
def kept_above_p_only(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You drop a number whose draw equals p.

    It happens once in sixteen million draws, but for p = 0 it would drop a number now and then. Kept is where the draw
    is p or more: >=.
    """
    return x * (draw(x, generator) > p) / (1 - p) if p < 1 else x * 0


@exercise.misconception
def enlarged_by_what_survived(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You divide by the share that survived this time.

    That share scatters around 1 - p from call to call, and what you divide by with it. Divide by 1 - p.
    """
    kept = (draw(x, generator) >= p).to(x.dtype)
    return x * kept / kept.mean().clamp(min=1e-6)


squeezes(exercise)
