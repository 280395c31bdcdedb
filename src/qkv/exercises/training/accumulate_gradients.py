"""The exercise `accumulate_gradients`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from proctor import Exercise
from proctor.inside.inputs import normal, seeded
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.training import (
    accumulate_gradients,
)

exercise = Exercise(
    accumulate_gradients,
    section="One batch in several pieces",
    minutes=15,
    difficulty=2,
    why="Large batches on a small machine; the weights decide whether they are the same.",
    hints=[
        "`.backward()` adds to .grad. What must happen before the first batch, and what not between batches?",
        "The mean over all tokens is the sum of all losses over the sum of all counts. When do you know the second?",
        "Batches may come from a generator: it can be read once only.",
    ],
)


def batches(sizes: Sequence[int]) -> Iterator[tuple[Tensor, Tensor]]:
    for i, size in enumerate(sizes):
        yield normal(size, 3, seed=f"x{i}"), normal(size, 2, seed=f"y{i}")


def squared_error(model: nn.Module, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
    x, y = batch
    return (model(x) - y).square().sum(), len(x)


def accumulated(
    accumulate: Any, sizes: Sequence[int], before: float | None = None, model: nn.Module | None = None
) -> Seen:
    model = seeded(model or nn.Linear(3, 2))
    if before is not None:
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, before)
    mean = accumulate(model, squared_error, batches(sizes))
    if isinstance(mean, Tensor):
        mean = mean.detach()
    elif isinstance(mean, float):
        mean = torch.tensor(mean)  # it was added up in float32, in any order: no more digits than that
    # None and 0 say the same of a parameter that the loss does not depend on
    grads = {f"gradient of {n}": torch.zeros_like(p) if p.grad is None else p.grad for n, p in model.named_parameters()}
    return {"mean": mean, **grads}


@exercise.probe
def equal_batches(accumulate_gradients: Any) -> Seen:
    """three batches of four tokens"""
    return accumulated(accumulate_gradients, [4, 4, 4])


@exercise.probe
def uneven_batches(accumulate_gradients: Any) -> Seen:
    """batches of 1, 9, 3 and 2 tokens"""
    return accumulated(accumulate_gradients, [1, 9, 3, 2])


@exercise.probe
def one_batch(accumulate_gradients: Any) -> Seen:
    """a single batch of five tokens"""
    return accumulated(accumulate_gradients, [5])


@exercise.probe
def one_token(accumulate_gradients: Any) -> Seen:
    """a single batch of one token"""
    return accumulated(accumulate_gradients, [1])


@exercise.probe
def gradients_from_before(accumulate_gradients: Any) -> Seen:
    """a model that still carries gradients"""
    return accumulated(accumulate_gradients, [2, 6], before=7.0)


class WithAnIdlePart(nn.Module):
    """A model of which one part takes no part."""

    def __init__(self) -> None:
        super().__init__()
        self.busy = nn.Linear(3, 2)
        self.idle = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.busy(x)


@exercise.probe
def an_idle_part(accumulate_gradients: Any) -> Seen:
    """a model with a part that the loss does not depend on"""
    return accumulated(accumulate_gradients, [3, 2], model=WithAnIdlePart())


@exercise.probe
def an_idle_part_from_before(accumulate_gradients: Any) -> Seen:
    """the same, where every part still carries gradients"""
    return accumulated(accumulate_gradients, [4, 1], before=3.0, model=WithAnIdlePart())


exercise.property(repeats(equal_batches, uneven_batches))


@exercise.property
def keeps_the_parameters(accumulate_gradients: Any) -> Seen:
    """a model whose parameters the caller will update

    Your code changes the model's parameters. It should leave a gradient in .grad, and nothing else.
    """
    model = seeded(nn.Linear(3, 2))
    accumulate_gradients(model, squared_error, batches([2, 3]))
    return {f"{name} after the call": parameter.detach().clone() for name, parameter in model.named_parameters()}


@exercise.property
def in_float64(accumulate_gradients: Any) -> Seen:
    """a model in float64

    With a float64 model your gradients are not those of the mean loss in float64.
    """
    model = seeded(nn.Linear(3, 2), torch.float64)
    accumulate_gradients(model, squared_error, [(x.double(), y.double()) for x, y in batches([2, 5])])
    return {f"gradient of {n}": torch.zeros_like(p) if p.grad is None else p.grad for n, p in model.named_parameters()}


def walk(model: nn.Module, loss_sum: Any, found: Any, after: Any) -> tuple[float, int, int]:
    """Go through the batches, calling `after` on each loss and count to get what is differentiated."""
    total, tokens, number = 0.0, 0, 0
    for batch in found:
        loss, count = loss_sum(model, batch)
        after(loss, count).backward()
        total, tokens, number = total + loss.item(), tokens + int(count), number + 1
    return total, tokens, number


def divide(model: nn.Module, by: float) -> None:
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad /= by


@exercise.misconception
def never_divided(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You leave the gradient of the sum in .grad.

    It grows with the number of tokens; clipping and plain gradient descent would take too large a step.
    """
    model.zero_grad()
    total, tokens, _ = walk(model, loss_sum, batches, lambda loss, count: loss)
    return total / tokens


@exercise.misconception
def mean_of_the_means(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You average each batch by itself, and then the batches.

    A token in a short batch then counts for more than one in a long batch. Right only if all are of one size.
    """
    model.zero_grad()
    means: list[float] = []

    def mean(loss: Tensor, count: int) -> Tensor:
        means.append(loss.item() / count)
        return loss / count

    _, _, number = walk(model, loss_sum, batches, mean)
    divide(model, number)
    return sum(means) / number


@exercise.misconception
def sum_of_the_means(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You average each batch and add the gradients up, without dividing by the number of batches.

    With four batches the gradient is four times too large: the classic slip of accumulation loops.
    """
    model.zero_grad()
    total, tokens, _ = walk(model, loss_sum, batches, lambda loss, count: loss / count)
    return total / tokens


@exercise.misconception
def divided_by_the_batches(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You divide the summed loss by the number of batches, not of tokens.

    The batches are only how the tokens happened to be packed.
    """
    model.zero_grad()
    total, _, number = walk(model, loss_sum, batches, lambda loss, count: loss)
    divide(model, number)
    return total / number


@exercise.misconception
def cleared_every_time(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You clear the gradients for each batch, so only the last one is left.

    Clear once, before the first; then let them add up.
    """

    def clear(loss: Tensor, count: int) -> Tensor:
        model.zero_grad()
        return loss

    total, tokens, _ = walk(model, loss_sum, batches, clear)
    divide(model, tokens)
    return total / tokens


@exercise.misconception
def never_cleared(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You do not clear what was in .grad before.

    The last update's gradient would be added to this one's.
    """
    total, tokens, _ = walk(model, loss_sum, batches, lambda loss, count: loss)
    divide(model, tokens)
    return total / tokens


@exercise.misconception
def sum_returned(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """Your gradients are right, but you return the summed loss.

    Return the mean over all tokens, which can be compared from batch to batch.
    """
    model.zero_grad()
    total, tokens, _ = walk(model, loss_sum, batches, lambda loss, count: loss)
    divide(model, tokens)
    return total


@exercise.misconception
def divided_by_the_last_count(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You divide by the tokens of the last batch.

    The count has to add up over the batches, as the losses do.
    """
    model.zero_grad()
    counts: list[int] = []

    def note(loss: Tensor, count: int) -> Tensor:
        counts.append(count)
        return loss

    total, _, _ = walk(model, loss_sum, batches, note)
    divide(model, counts[-1])
    return total / counts[-1]


@exercise.misconception
def every_batch_like_the_first(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You take every batch to be as large as the first.

    Batches differ in how many tokens they hold. Add the counts up as you add the losses, and divide by that sum.
    """
    model.zero_grad()
    counts: list[int] = []

    def share(loss: Tensor, count: int) -> Tensor:
        counts.append(count)
        return loss / counts[0]

    total, _, number = walk(model, loss_sum, batches, share)
    divide(model, number)
    return total / (counts[0] * number)


@exercise.misconception
def divided_twice(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You divide each batch's loss by its tokens, and the gradient by all tokens once more.

    One division is enough: by the number of all tokens.
    """
    model.zero_grad()
    total, tokens, _ = walk(model, loss_sum, batches, lambda loss, count: loss / count)
    divide(model, tokens)
    return total / tokens


@exercise.misconception
def last_batch_left_out(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You leave the last batch out, if there are several.

    Every token counts; what does not fill a group is no less part of the update.
    """
    found = list(batches)
    return accumulate_gradients(model, loss_sum, found[:-1] or found)


@exercise.misconception
def never_differentiated(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You add the losses up and never call `backward`, so .grad stays empty.

    The mean that you return is right; what is asked for besides is the gradient, left in .grad.
    """
    model.zero_grad()
    losses, counts = zip(*[loss_sum(model, batch) for batch in batches], strict=True)
    return float(sum(losses)) / sum(counts)


@exercise.misconception
def batches_read_twice(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You go through the batches a second time, and find none: they can be read once only.

    Nothing is differentiated then. Add the gradients of the sums up first, and divide by the tokens when they are
    counted.
    """
    model.zero_grad()
    tokens = sum(int(loss_sum(model, batch)[1]) for batch in batches)
    total, _, _ = walk(model, loss_sum, batches, lambda loss, count: loss / tokens)
    return total / tokens


@exercise.misconception
def means_added_and_averaged(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You average each batch by itself and add these gradients up; what you return is the mean of the means.

    With four equal batches the gradient is four times too large; with uneven ones a token in a short batch counts for
    more than one in a long batch. Let the sums add up, and divide once: by the number of all tokens.
    """
    model.zero_grad()
    means: list[float] = []

    def mean(loss: Tensor, count: int) -> Tensor:
        means.append(loss.item() / count)
        return loss / count

    _, _, number = walk(model, loss_sum, batches, mean)
    return sum(means) / number


def divided_as_they_come(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """Each loss over the tokens that were counted until then."""
    counts: list[int] = []

    def share(loss: Tensor, count: int) -> Tensor:
        counts.append(count)
        return loss / sum(counts)

    total, tokens, _ = walk(model, loss_sum, batches, share)
    return total / tokens


@exercise.misconception
def divided_by_the_tokens_so_far(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You divide each batch's loss by the number of tokens so far.

    The early batches then count for more. How many tokens there are is known after the last batch: divide then.
    """
    model.zero_grad()
    return divided_as_they_come(model, loss_sum, batches)


@exercise.misconception
def divided_so_far_and_not_cleared(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You divide each batch's loss by the number of tokens so far, and do not clear what was in .grad before.

    How many tokens there are is known after the last batch: divide then. And clear once, before the first, or the last
    update's gradient is added to this one's.
    """
    return divided_as_they_come(model, loss_sum, batches)
