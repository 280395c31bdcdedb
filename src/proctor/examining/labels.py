"""From a probe's label of a tensor to a sentence about it.

A label is what an author calls a tensor: `weights`, `ids after 5`, `linear.weight is trained`. A name of one word
stands in the sentence, as in `weights[1, 0] is 0.8, expected 0.5`; before anything longer the sentence would not read,
so it comes first: `ids after 5: yours is 3 at [1], expected 4`. Arguments go by the names of the parameters.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from proctor.inside.properties import leaves

AFTER = " after the call"
PLACES = r"(?P<places>(?: \w+)*?)"  # in nested lists, tuples and dicts, as `proctor.inside.properties.leaves` has it
ARGUMENT = re.compile(rf"(?P<of>(?:length of |gradient of )*)argument (?P<position>\d+){PLACES}(?P<after>{AFTER})?")
RESULT = re.compile(r"output(?P<places>(?: \d+)*)")


def about_a_value(label: str, index: tuple[int, ...], yours: str, expected: str) -> str:
    """The sentence for a number that is not the expected one."""
    at = str(list(index)) if index else ""
    if label.endswith(AFTER):
        return f"{label.removesuffix(AFTER)}{at} was {expected} and is {yours} after your call."
    if is_a_name(label):
        return f"{label}{at} is {yours}, expected {expected}."
    if not at and expected in ("True", "False"):
        if expected == "True":
            return f"It should be true that {label}, and it is not."
        return f"It should not be true that {label}, and it is."
    return f"{label}: yours is {yours}{f' at {at}' if at else ''}, expected {expected}."


def about_a_shape(label: str, yours: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """The sentence for another shape than the expected one; of one dimension, as a list has it, for the length."""
    one, other = str(yours), str(expected)
    what = "shape"
    if len(yours) == len(expected) == 1:
        what, one, other = "length", str(yours[0]), str(expected[0])
    if label.endswith(AFTER):
        return f"{label.removesuffix(AFTER)} had {what} {other} and has {one} after your call."
    return f"{whose(label)} has {what} {one}, expected {other}."


def about_a_dtype(label: str, yours: str, expected: str) -> str:
    """The sentence for another dtype than the expected one."""
    if label.endswith(AFTER):
        return f"{label.removesuffix(AFTER)} was {expected} and is {yours} after your call."
    return f"{whose(label)} is {yours}, expected {expected}."


def about_a_lack(label: str) -> str:
    """The sentence for a tensor that is expected and not there."""
    return f"{label.removesuffix(AFTER)} is gone after your call." if label.endswith(AFTER) else f"{label} is missing."


def about_a_surplus(label: str) -> str:
    """The sentence for a tensor that is there and not expected."""
    if label.endswith(AFTER):
        return f"{label.removesuffix(AFTER)} was not there before your call."
    return f"{label} is not asked for." if is_a_name(label) else f"{label}: there is a tensor, and none is expected."


def whose(label: str) -> str:
    return label if is_a_name(label) else f"{label}: yours"


def is_a_name(label: str) -> bool:
    """Is the label one word, which can be followed by an index: `weights`, `linear.weight`, `output[1]`?"""
    return " " not in label


# ---- arguments and results by name


def spoken(label: str, parameters: Mapping[int, str]) -> str:
    """The label of a shared probe as a student knows the tensor: `x after the call`, `gradient of k`, `output[1]`.

    Args:
        parameters: position of an argument -> the name of its parameter.
    """
    if result := RESULT.fullmatch(label):
        return "output" + in_brackets(result["places"])
    found = ARGUMENT.fullmatch(label)
    if found is None:
        return label
    position = int(found["position"])
    name = parameters.get(position, f"input {position + 1}")
    return f"{found['of']}{name}{in_brackets(found['places'])}{found['after'] or ''}"


def in_brackets(places: str) -> str:
    """` 0 key` as `[0][key]`."""
    return "".join(f"[{place}]" for place in places.split())


def called_with(reference: Any, calls: list[dict[str, Any]], answer: Any = None) -> Any:
    """The reference, which notes by parameter what it is called with; of a class, what its module is called with.

    Args:
        answer: a function that is called in its place.
    """
    signature = inspect.signature(getattr(reference, "forward", reference))

    def note(*args: Any, **options: Any) -> None:
        arguments = signature.bind(*args, **options).arguments
        arguments.pop("self", None)
        calls.append(arguments)

    if isinstance(reference, type):

        def call(self: Any, *args: Any, **options: Any) -> Any:
            note(self, *args, **options)
            return super(watched, self).__call__(*args, **options)

        watched: Any = type(reference.__name__, (reference,), {"__call__": call})
        return watched

    def function(*args: Any, **options: Any) -> Any:
        note(*args, **options)
        return (answer or reference)(*args, **options)

    return function


def parameters_of(reference: Any, calls: Sequence[Mapping[str, Any]], seen: Mapping[str, Tensor]) -> dict[int, str]:
    """The names of the parameters that a probe's arguments went to, by position. A probe may hand its arguments over in
    an order of its own: one that has the shape at its own position goes first, then the only one that has it.

    Args:
        calls: what the reference was called with, by parameter.
        seen: what the probe saw, by label.
    """
    found: dict[int, str] = {}
    for position in {int(label["position"]) for label in map(ARGUMENT.fullmatch, seen) if label}:
        for given in (in_a_row(reference, call) for call in calls):
            fitting = [i for i, (_, value) in enumerate(given) if fits(value, position, seen)]
            if position in fitting or len(fitting) == 1:
                found.setdefault(position, given[position if position in fitting else fitting[0]][0])
    return found


def in_a_row(reference: Any, call: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The arguments of a call, those of `*masks` one by one, as `masks[0]`."""
    kinds = inspect.signature(getattr(reference, "forward", reference)).parameters
    given: list[tuple[str, Any]] = []
    for name, value in call.items():
        several = kinds[name].kind is inspect.Parameter.VAR_POSITIONAL
        given += [(f"{name}[{i}]", item) for i, item in enumerate(value)] if several else [(name, value)]
    return given


def fits(value: Any, position: int, seen: Mapping[str, Tensor]) -> bool:
    """Has this argument the shapes that a probe saw at a position?"""
    shapes = {place: tuple(v.shape) if isinstance(v, Tensor) else () for place, v in leaves(value, "")}
    labels = ((ARGUMENT.fullmatch(label), tuple(tensor.shape)) for label, tensor in seen.items())
    asked = (
        (label["places"], shape)
        for label, shape in labels
        if label and int(label["position"]) == position and "length" not in label["of"]
    )
    return all(shapes.get(place) == shape for place, shape in asked)
