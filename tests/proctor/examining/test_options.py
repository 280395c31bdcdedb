"""Code that is right until an option is given is told so, if that is what parts the checks."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from proctor.examining.options import noting_options, told_by_an_option


def scaled(x: Tensor, by: float = 1.0, mask: Tensor | None = None) -> Tensor:
    return x * by if mask is None else x * by * mask


class Layer(nn.Module):
    def __init__(self, d: int, norm: bool = False) -> None:
        super().__init__()
        self.norm = norm

    def forward(self, x: Tensor, cache: Tensor | None = None) -> Tensor:
        return x


def test_options_are_noted_where_they_are_no_defaults() -> None:
    found: set[str] = set()
    watched = noting_options(scaled, found)
    watched(torch.ones(2), 1.0, None)
    assert found == set()
    watched(torch.ones(2), mask=torch.ones(2))
    watched(torch.ones(2), by=2)
    assert found == {"mask", "by"}


def test_options_of_a_module_and_of_its_call() -> None:
    found: set[str] = set()
    watched = noting_options(Layer, found)
    assert isinstance(watched(3), Layer)
    watched(3)(torch.ones(2))
    assert found == set()
    watched(3, norm=True)(torch.ones(2), torch.ones(2))
    assert found == {"norm", "cache"}


GIVEN = {"a": set(), "b": {"cache"}, "c": {"norm"}, "d": {"norm", "cache"}}


def test_what_parts_the_checks_is_said() -> None:
    assert told_by_an_option(GIVEN, {"a": True, "b": True, "c": False, "d": False}) == (
        "Your code passes the 2 checks of values that leave `norm` at its default, and fails the 2 that do not."
    )
    assert told_by_an_option(GIVEN, {"a": False, "b": False, "c": True, "d": True}).startswith(
        "Your code passes the 2 checks of values that give `norm` something else than its default"
    )


def test_nothing_is_said_of_one_check_or_of_two_options() -> None:
    assert not told_by_an_option(GIVEN, {"a": True, "b": True, "c": True, "d": False})
    assert not told_by_an_option(GIVEN, {"a": True, "b": False, "c": False, "d": True})
    both: dict[str, set[str]] = {"a": set(), "b": set(), "c": {"norm", "cache"}, "d": {"norm", "cache"}}
    assert not told_by_an_option(both, {"a": True, "b": True, "c": False, "d": False})
