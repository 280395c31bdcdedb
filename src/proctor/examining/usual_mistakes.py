"""Mistakes that are made in many exercises, as misconceptions made from the reference.

`proctor.inside.properties.usual` asks every answer the same questions; these are the wrong answers to go with them.
Each maker adds one misconception to an exercise, of a function or of a class (whose `forward` it changes).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor

from proctor.examining.exercise import Exercise
from proctor.inside.properties import mapped

Call = Callable[..., Any]


def squeezes(exercise: Exercise) -> None:
    """Add the mistake that `squeeze()` makes: dimensions of size 1 are lost from the result."""

    def squeezed(call: Call) -> Call:
        return lambda *args, **options: mapped(call(*args, **options), Tensor.squeeze)

    _add(
        exercise,
        "squeezed",
        squeezed,
        "You drop the dimensions of size 1 from the result.",
        "`squeeze()` takes away every such dimension, those of the caller included. A batch of one, or a single row, "
        "is a size like any other.",
    )


def ignores(exercise: Exercise, argument: str, instead: str = "") -> None:
    """Add the mistake of never looking at an argument that has a default: the result is that of the default.

    Args:
        argument: a parameter of the function, or of the class's `forward`.
        instead: what the result is the same as, in words, where the default itself says little.
    """
    signature = _signature(exercise)
    default = signature.parameters[argument].default

    def without(call: Call) -> Call:
        def changed(*args: Any, **options: Any) -> Any:
            bound = signature.bind(*args, **options)
            if argument in bound.arguments:
                bound.arguments[argument] = default
            return call(*bound.args, **bound.kwargs)

        return changed

    _add(
        exercise,
        f"{argument}_ignored",
        without,
        f"You never look at `{argument}`.",
        f"Whatever is passed, the result is {instead or f'that of `{argument}={default!r}`'}.",
    )


def unpacks(exercise: Exercise, argument: str, *dimensions: str) -> None:
    """Add the mistake of taking a tensor with any leading dimensions apart as one with exactly these.

    Args:
        argument: a parameter of the function, or of the class's `forward`.
        dimensions: what its shape is unpacked into, such as `batch`, `seq`, `d`.
    """
    signature = _signature(exercise)

    def unpacked(call: Call) -> Call:
        def changed(*args: Any, **options: Any) -> Any:
            UNPACKING[len(dimensions)](signature.bind(*args, **options).arguments[argument].shape)
            return call(*args, **options)

        return changed

    _add(
        exercise,
        "one_batch_dimension_only",
        unpacked,
        "Your code works only with exactly one batch dimension.",
        f"`...` may be none, one or several. Taking a shape apart, as in `{', '.join(dimensions)} = {argument}.shape`, "
        "raises a ValueError for the others. Count from the last dimension (-1, -2), and leave those in front alone.",
    )


def _into_two(shape: Iterable[int]) -> None:
    _, _ = shape


def _into_three(shape: Iterable[int]) -> None:
    _, _, _ = shape


def _into_four(shape: Iterable[int]) -> None:
    _, _, _, _ = shape


UNPACKING = {2: _into_two, 3: _into_three, 4: _into_four}  # Python's own words: an error is known by what it says


def _signature(exercise: Exercise) -> inspect.Signature:
    """The parameters of the function; of a class, those of `forward` with `self`."""
    return inspect.signature(inspect.unwrap(getattr(exercise.reference, "forward", exercise.reference)))


def _add(exercise: Exercise, name: str, change: Callable[[Call], Call], sentence: str, reason: str) -> None:
    reference: Any = exercise.reference
    wrong: Any
    if inspect.isclass(reference):
        name = "".join(word.capitalize() for word in name.split("_"))
        forward: Call = vars(reference)["forward"]
        wrong = type(name, (reference,), {"forward": _method(change(forward))})
    else:
        wrong = change(reference)
    wrong.__name__ = wrong.__qualname__ = name
    wrong.__doc__ = f"{sentence}\n\n{reason}"
    exercise.misconception(wrong)


def _method(call: Call) -> Call:
    """A function in Python, so that it is bound to the instance like any method."""

    def forward(self: Any, *args: Any, **options: Any) -> Any:
        return call(self, *args, **options)

    return forward
