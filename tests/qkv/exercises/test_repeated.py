"""No exercise is passed by an answer that is right on its first call only, or that writes into its earlier results."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from torch import Generator, Tensor, nn

from proctor import Examiner
from proctor.examining.exercise import Exercise
from proctor.inside.inputs import Replay, drawing
from proctor.inside.observe import observe
from proctor.inside.properties import mapped
from qkv import exercises

OF_CODE = [name for name in exercises.names() if isinstance(exercises.get(name), Exercise)]
FUNCTIONS = [name for name in OF_CODE if not inspect.isclass(exercises.get(name).reference)]
CLASSES = [name for name in OF_CODE if inspect.isclass(exercises.get(name).reference)]
NUMBERS = {  # their results are numbers, or one of the answers that they were given: nobody can write into these
    "score_variance",
    "attention_parameters",
    "noam_rate",
    "receptive_field",
    "path_length",
    "layer_flops",
    "cache_bytes",
    "scaled_backward",
    "accumulate_gradients",
    "clip_gradients",
    "pass_at_k",
    "majority_vote",
}
BY_SHAPE = {"causal_mask", "alibi_bias"}  # what they give depends on its shape alone: to share it changes nothing


def damaged(value: Any) -> Any:
    """Another result of the same form."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, Tensor):
        return ~value if value.dtype.is_floating_point is False and str(value.dtype) == "torch.bool" else value + 1
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(damaged, value))
    if isinstance(value, list | tuple):
        return type(value)(map(damaged, value)) if value else type(value)([7])
    if isinstance(value, dict):
        return {key: damaged(item) for key, item in value.items()}
    return value


def right_on_its_first_calls(exercise: Exercise) -> Callable[..., Any]:
    """Wrong where the same arguments come again."""
    known: list[Any] = []

    def answer(*arguments: Any, **options: Any) -> Any:
        given = [type(a) if isinstance(a, Generator) else a for a in (*arguments, *options.values())]
        key = repr(mapped(given, lambda t: t.tolist() if not t.is_meta else t.shape))
        result = exercise.reference(*arguments, **options)
        if key in known:
            return damaged(result)
        known.append(key)
        return result

    return answer


def sharing_buffers(exercise: Exercise) -> Callable[..., Any]:
    """All results of one shape and dtype are one tensor, and all lists one list."""
    buffers: dict[Any, Tensor] = {}

    def shared(value: Any, place: str) -> Any:
        if isinstance(value, Tensor) and not value.is_meta:
            buffer = buffers.setdefault((place, value.shape, value.dtype), value.detach().clone())
            buffer.copy_(value.detach())
            if not value.requires_grad:
                return buffer
            value.data = buffer  # with a graph of its own
            return value
        if isinstance(value, list):
            buffer = buffers.setdefault((place, list), [])
            buffer[:] = value
            return buffer
        if isinstance(value, tuple):
            items = [shared(item, f"{place} {i}") for i, item in enumerate(value)]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return value

    return lambda *arguments, **options: shared(exercise.reference(*arguments, **options), "")


def missed(exercise: Exercise, make: Callable[[Exercise], Any]) -> bool:
    """Does an answer of this kind pass? It is made anew for each probe: only those that call it twice can tell."""
    examiner = Examiner(exercise)
    seen = {}
    with drawing(Replay(examiner.draws)):
        for name, probe in exercise.probes.items():
            answer = make(exercise)
            answer.__name__ = exercise.name
            seen[name] = observe(probe.function, answer)
    return examiner.verdict(seen, 0.0).state == "passed"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_right_on_the_first_call_is_not_passed(name: str) -> None:
    assert not missed(exercises.get(name), right_on_its_first_calls)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - NUMBERS - BY_SHAPE))
def test_results_that_share_a_buffer_are_not_passed(name: str) -> None:
    assert not missed(exercises.get(name), sharing_buffers)


def halving(exercise: Exercise) -> Any:
    """Its parameters are smaller after every call."""

    class Halving(exercise.reference):  # type: ignore[misc,name-defined]
        def forward(self, *arguments: Any, **options: Any) -> Any:
            result = super().forward(*arguments, **options)
            for parameter in self.parameters():
                parameter.data.mul_(0.5)
            return result

    return Halving


def right_once(exercise: Exercise) -> Any:
    class Once(exercise.reference):  # type: ignore[misc,name-defined]
        def forward(self, *arguments: Any, **options: Any) -> Any:
            result = super().forward(*arguments, **options)
            again = vars(self).get("called", False)
            vars(self)["called"] = True
            return damaged(result) if again else result

    return Once


def one_buffer_for_all(exercise: Exercise) -> Any:
    buffers: dict[Any, Tensor] = {}

    class Sharing(exercise.reference):  # type: ignore[misc,name-defined]
        def forward(self, *arguments: Any, **options: Any) -> Any:
            result = super().forward(*arguments, **options)
            values = result if isinstance(result, tuple) else (result,)
            for i, value in enumerate(values):
                if value.is_meta:
                    return result
                buffers.setdefault((i, value.shape, value.dtype), value.detach().clone()).copy_(value.detach())
                value.data = buffers[i, value.shape, value.dtype]
            return result

    return Sharing


@pytest.mark.parametrize("make", [halving, right_once, one_buffer_for_all], ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", [name for name in CLASSES if issubclass(exercises.get(name).reference, nn.Module)])
def test_a_module_gives_the_same_again(name: str, make: Callable[[Exercise], Any]) -> None:
    assert not missed(exercises.get(name), make)
